"""Grid, block and arguments of the kernels of the adaptive modes (docs/spec.md 16, 17); see `launch`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumaflow.adaptive import CELLS, STEPS, Dehaze, HazeMap
from lumaflow.cuda.frame_plan import FramePlan, crop, rect_size
from lumaflow.cuda.launch import NULL, Kernels, LaunchPlan, launch, plane_arguments
from lumaflow.formats import Chroma, Family

THREADS = 256
CELL_PIXELS = 8192
"""Most pixels of a cell that one thread block counts."""
NOISE_BLOCKS = 32
"""Noise blocks per thread block."""
APPLY_BLOCKS = 1056
CHROMA_BLOCKS = 528
LUT_BLOCKS = 64
HAZE_SIDE = 32
FILTER_WIDTH, FILTER_ROWS = 64, {1: 64, 3: 32}
"""Pixels of a filter tile; its rows by the working samples of a pixel."""

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AdaptivePlans:
    """The launches of one frame in an adaptive mode.

    haze_means, haze : None in LOWLIGHT
    filter : None without denoise
    chroma : None for frames without chroma
    """

    statistics: LaunchPlan
    haze_means: LaunchPlan | None
    haze: LaunchPlan | None
    curve: LaunchPlan
    decide: LaunchPlan
    mapping: LaunchPlan
    filter: LaunchPlan | None
    apply: LaunchPlan
    chroma: LaunchPlan | None
    lut: LaunchPlan


def plan_adaptive(plan: FramePlan) -> AdaptivePlans:
    """The launches of all kernels for frames of this plan."""
    parameters, parts = plan.adaptive, cell_parts(plan)
    width, height = rect_size(plan.histogram_rect)
    haze = HazeMap.of(width, height)
    tiles = (haze.tile_rows, haze.tile_columns)
    has_haze = parameters.dehaze is not Dehaze.NONE
    native = plan.oriented.layout.bits == plan.output.layout.bits == 16 and not plan.oriented.limited
    noise_blocks = max((height - 13) // 16 + 1, 0) * max((width - 13) // 16 + 1, 0)
    return AdaptivePlans(
        _plan("adaptive_statistics", CELLS * CELLS * parts + -(-noise_blocks // NOISE_BLOCKS), parts),
        _plan_haze_means(plan, haze) if has_haze else None,
        _plan_haze(haze) if has_haze else None,
        LaunchPlan(
            "adaptive_curve",
            (STEPS, 1, 1),
            (THREADS, 1, 1),
            (np.float32(parameters.low), np.float32(parameters.high), np.int32(parameters.dark_half)),
        ),
        LaunchPlan(
            "adaptive_decide",
            (1, 1, 1),
            (THREADS, 1, 1),
            (
                np.int32(parameters.lift),
                np.float32(parameters.strength),
                np.int32(parameters.denoise),
                np.int32(native),
                *(np.int32(value) for value in (haze.rows, haze.columns, *tiles)),
            ),
        ),
        _plan("adaptive_mapping", CELLS * CELLS),
        _plan_filter(plan) if parameters.denoise else None,
        _plan("adaptive_apply", min(rect_size(plan.mapped_rect)[1], APPLY_BLOCKS), tiles[1]),
        _plan_chroma(plan),
        _plan("adaptive_lut", min(-(-plan.levels // THREADS), LUT_BLOCKS), tiles[0] * tiles[1]),
    )


def cell_parts(plan: FramePlan) -> int:
    """Thread blocks that count one cell."""
    width, height = rect_size(plan.histogram_rect)
    return max(1, -(-(-(-width // CELLS) * -(-height // CELLS)) // CELL_PIXELS))


def launch_statistics(stream: Any, kernels: Kernels, plan: LaunchPlan, pixels: Any, scratch: Arrays) -> None:
    """Count the cells and the noise blocks of the counted pixels."""
    arrays = (scratch[name] for name in ("cells", "lumas", "cell_totals", "energies"))
    launch(stream, kernels, plan, *plane_arguments(pixels), *plan.scalars, *arrays)


def launch_haze(
    stream: Any, kernels: Kernels, plans: AdaptivePlans, planes: tuple[Any, ...], scratch: Arrays
) -> None:
    """Compute the haze map of a frame and its sums; nothing in a mode without haze removal.

    planes : of the raw frame
    """
    if plans.haze_means is None or plans.haze is None:
        return
    blue, red, pitch = chroma_arguments(planes)
    pixels, maps = planes[0], scratch["haze_maps"]
    means = plans.haze_means
    launch(
        *(stream, kernels, means, pixels, np.int64(pixels.strides[0]), *means.scalars, blue, red, pitch, maps)
    )
    launch(stream, kernels, plans.haze, maps, *plans.haze.scalars, scratch["haze_sums"])


def launch_mapping(
    stream: Any,
    kernels: Kernels,
    plans: AdaptivePlans,
    size: tuple[int, int],
    tables: Arrays,
    scratch: Arrays,
    corrupt: bool,
    out_of_range: Any,
    report: Any,
) -> None:
    """Choose the mapping of the frame whose statistics are in `scratch`, and write its report.

    size : (width, height) of the counted pixels
    corrupt : the frame changes no state
    out_of_range : as in `result_arrays`; a frame with such samples changes no state. NULL: not checked
    """
    parts = plans.statistics.scalars[0]
    held = np.int32(corrupt), out_of_range
    steps, state, measures = tables["gain_steps"], scratch["state"], scratch["measures"]
    counts = (scratch[name] for name in ("cells", "lumas", "cell_totals", "energies"))
    terms = scratch["means"], scratch["cut_terms"]
    launch(
        *(stream, kernels, plans.curve, *counts, *map(np.int32, size), parts, steps, *plans.curve.scalars),
        *(*held, state, scratch["cut_blocks"], scratch["whole"], measures, *terms),
    )
    lift, strength, denoise, native, *haze_map = plans.decide.scalars
    launch(
        *(stream, kernels, plans.decide, measures, *terms, steps, *held, lift, strength, denoise, native),
        *(scratch.get("haze_sums", NULL), *haze_map, scratch["cell_totals"], scratch["energies"], state),
        scratch.get("haze_state", NULL),
        *(scratch[name] for name in ("smooth", "mapping", "used", "haze_gains", "saturation", "decision")),
        report,
    )
    launch(
        *(stream, kernels, plans.mapping, scratch["cells"], parts, scratch["whole"], tables["illumination"]),
        *(scratch[name] for name in ("decision", "smooth", "mapping", "used")),
    )


def launch_filter(stream: Any, kernels: Kernels, plan: LaunchPlan, pixels: Any, scratch: Arrays) -> None:
    """Filter the noise of the mapped pixels, if the decision asks for it."""
    filtered, history = scratch["filtered"], scratch["history"]
    samples = np.int64(filtered.shape[1])
    launch(stream, kernels, plan, *plane_arguments(pixels), filtered, history, samples, scratch["decision"])


def launch_apply(
    stream: Any,
    kernels: Kernels,
    plan: FramePlan,
    plans: AdaptivePlans,
    pixels: Any,
    tables: Arrays,
    scratch: Arrays,
    enhanced: Any,
    luma: Any = NULL,
) -> None:
    """Map the pixels of a frame; `pixels`, `enhanced` and `luma` are whole planes."""
    pixels, enhanced = crop(pixels, plan.mapped_rect), crop(enhanced, plan.mapped_rect)
    luma = luma if luma is NULL else crop(luma, plan.mapped_rect)
    luma_pitch = np.int64(0 if luma is NULL else luma.strides[0])
    filtered = scratch.get("filtered", NULL)
    samples = np.int64(0 if filtered is NULL else filtered.shape[1])
    chroma_gains = scratch.get("chroma_gains", NULL)
    columns = np.int32(0 if chroma_gains is NULL else chroma_gains.shape[1])
    launch(
        *(stream, kernels, plans.apply, *plane_arguments(pixels)),
        *(filtered, scratch.get("history", NULL), samples, scratch["decision"], scratch["used"]),
        *(scratch["saturation"], tables["cells_x"], tables["cells_y"], scratch["haze_gains"]),
        *(*plans.apply.scalars, tables["haze_x"], tables["haze_y"]),
        *(enhanced, np.int64(enhanced.strides[0]), luma, luma_pitch),
        *(*map(np.int32, plan.mapped_rect[:2]), chroma_gains, scratch.get("chroma_haze", NULL), columns),
    )


def launch_chroma(
    stream: Any, kernels: Kernels, plan: LaunchPlan, planes: tuple[Any, ...], scratch: Arrays
) -> None:
    """Multiply the chroma of the enhanced planes, in place."""
    blue, red, pitch = chroma_arguments(planes)
    gains = scratch["chroma_gains"]
    launch(
        *(stream, kernels, plan, blue, red, pitch, *plan.scalars, gains, scratch["chroma_haze"]),
        *(np.int32(gains.shape[1]), scratch["decision"]),
    )


def launch_lut(stream: Any, kernels: Kernels, plan: LaunchPlan, scratch: Arrays, lut: Any) -> None:
    """Write the curve of the mapping in use."""
    arrays = (scratch[name] for name in ("used", "decision", "haze_gains"))
    launch(stream, kernels, plan, *arrays, *plan.scalars, lut)


def chroma_arguments(planes: tuple[Any, ...]) -> tuple[Any, Any, np.int64]:
    """The planes of Cb and of Cr, which can be the same, and their pitch in bytes."""
    chroma = planes[1:] or planes[:1]
    return chroma[0], chroma[-1], np.int64(chroma[0].strides[0])


def _plan(kernel: str, blocks: int, *scalars: int) -> LaunchPlan:
    return LaunchPlan(kernel, (blocks, 1, 1), (THREADS, 1, 1), tuple(np.int32(value) for value in scalars))


def _plan_haze_means(plan: FramePlan, haze: HazeMap) -> LaunchPlan:
    blocks = -(-haze.rows * haze.columns // THREADS)
    return _plan("adaptive_haze_means", blocks, *plan.histogram_rect, haze.step, haze.rows, haze.columns)


def _plan_haze(haze: HazeMap) -> LaunchPlan:
    grid = (-(-haze.columns // HAZE_SIDE), -(-haze.rows // HAZE_SIDE), 1)
    scalars = (haze.rows, haze.columns, haze.radius, haze.tile_rows, haze.tile_columns)
    return LaunchPlan("adaptive_haze", grid, (THREADS, 1, 1), tuple(np.int32(value) for value in scalars))


def _plan_filter(plan: FramePlan) -> LaunchPlan:
    width, height = rect_size(plan.mapped_rect)
    grid = -(-width // FILTER_WIDTH), -(-height // FILTER_ROWS[plan.components]), 1
    return LaunchPlan("adaptive_filter", grid, (THREADS, 1, 1), ())


def _plan_chroma(plan: FramePlan) -> LaunchPlan | None:
    chroma = plan.oriented.layout.chroma
    if plan.oriented.layout.family is not Family.YUV:
        return None
    left, top, right, bottom = plan.mapped_rect
    rows = (top, bottom) if chroma is Chroma.PACKED else ((top + 1) // 2, (bottom + 1) // 2)
    columns = (left + 1) // 2, (right + 1) // 2
    size = rows[1] - rows[0], columns[1] - columns[0]
    blocks = min(max(-(-size[0] * size[1] // THREADS), 1), CHROMA_BLOCKS)
    return _plan("adaptive_chroma", blocks, rows[0], columns[0], *size)
