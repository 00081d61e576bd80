"""Grid, block and arguments of the kernels for 10 to 16 bits per sample (docs/spec.md 8); see `launch`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan, rect_size
from lumaflow.cuda.launch import (
    NULL,
    Kernels,
    LaunchPlan,
    clip_limit_and_scale,
    launch,
    plan_clahe_grid,
    plane_arguments,
    split_rows,
)
from lumaflow.options import Equalization, Mode
from lumaflow.tables import LevelRange

RANGE_BITS = 14
"""A block counts at most 2^14 levels; more levels are counted in several ranges."""

COUNT_THREADS = 512
SUM_LEVELS = 32
SUM_THREADS = 1024
HEATMAP_THREADS = 512

LUT_LEVELS = 4
"""Adjacent levels that a thread handles at a time."""
LUT_THREADS = 1024

APPLY_THREADS = 512
CHUNK_PX = 8

CHECK_THREADS = 256
CHECK_BLOCKS = 528


@dataclass(frozen=True, slots=True)
class ToneMapperPlans:
    """The launches of one tone mapper; the 8-bit luma for HOG and LBP has a separate tone mapper.

    build_lut : None for constant LUTs (mode identity)
    copy : copies the whole frame before a part of it is mapped; None if all pixels are mapped
    """

    build_lut: LaunchPlan | None
    apply: LaunchPlan
    copy: LaunchPlan | None


def plan_check_range(frame_plan: FramePlan) -> LaunchPlan | None:
    """One thread per 8 samples; None if the histogram kernel checks the range, or if no check is needed."""
    if not frame_plan.checks_range or frame_plan.counts_whole_frame:
        return None
    oriented = frame_plan.oriented
    blocks = _chunk_blocks(oriented.width, oriented.height, CHECK_THREADS, CHECK_BLOCKS)
    return LaunchPlan("u16_check_range", (blocks, 1, 1), (CHECK_THREADS, 1, 1), ())


def plan_histogram(frame_plan: FramePlan) -> LaunchPlan:
    """Grid (part of a tile and range of levels, tile column, tile row); padding is an additional part."""
    tiles = frame_plan.counted_tiles()
    ranges = max(frame_plan.levels >> RANGE_BITS, 1)
    config = frame_plan.launch_config
    max_parts = max(config.u16_histogram_blocks // (tiles.columns * tiles.rows * ranges), 1)
    parts = min(tiles.tile_pixels // config.u16_histogram_pixels, max_parts)
    part_height, parts = split_rows(tiles.tile_height, parts)
    scalars = (tiles.tile_width, tiles.tile_height, parts, part_height)
    return LaunchPlan(
        "u16_histogram",
        (parts_with_padding(frame_plan, parts) * ranges, tiles.columns, tiles.rows),
        (COUNT_THREADS, 1, 1),
        tuple(np.int32(value) for value in scalars),
    )


def plan_sum_histograms(frame_plan: FramePlan) -> LaunchPlan:
    """One block per 32 levels."""
    tiles = frame_plan.counted_tiles()
    parts = int(plan_histogram(frame_plan).scalars[2])
    scalars = (tiles.columns * tiles.rows, parts, parts_with_padding(frame_plan, parts))
    blocks = frame_plan.levels // SUM_LEVELS
    return LaunchPlan(
        "u16_sum_histograms", (blocks, 1, 1), (SUM_THREADS, 1, 1), tuple(np.int32(value) for value in scalars)
    )


def plan_heatmap(frame_plan: FramePlan) -> LaunchPlan | None:
    """One block per tile; None without a heat map."""
    if not frame_plan.options.heatmap:
        return None
    tiles = frame_plan.counted_tiles()
    blocks = tiles.columns * tiles.rows
    return LaunchPlan("u16_heatmap", (blocks, 1, 1), (HEATMAP_THREADS, 1, 1), (np.uint32(tiles.tile_pixels),))


def plan_tone_mapper(frame_plan: FramePlan, name: str) -> ToneMapperPlans:
    """The tone mapper from `frame_plan.oriented` to `frame_plan.output`; kernel names begin with `name`."""
    height, width = frame_plan.oriented.shape[:2]
    copy = _plan_apply_lut(frame_plan, f"{name}_apply_lut", width, height) if frame_plan.is_partial else None
    return ToneMapperPlans(_plan_build_lut(frame_plan, name), _plan_apply(frame_plan, name), copy)


def plan_build_lut(
    levels: LevelRange, equalization: Equalization, pixels: int, luts: int, kernel: str
) -> LaunchPlan:
    """One block per LUT; `pixels` is the number of pixels of each histogram."""
    bounds = (levels.low, levels.high, levels.out_low, levels.out_high - levels.out_low)
    threads = min(levels.size // LUT_LEVELS, LUT_THREADS)
    scalars = (np.uint32(pixels), *clip_limit_and_scale(equalization, levels, pixels))
    return LaunchPlan(
        kernel, (luts, 1, 1), (threads, 1, 1), (*scalars, *(np.int32(bound) for bound in bounds))
    )


def parts_with_padding(frame_plan: FramePlan, parts: int) -> int:
    """Number of parts of a tile; the padding, if there is any, counts as one part."""
    tiles = frame_plan.counted_tiles()
    padded = tiles.columns * tiles.tile_width, tiles.rows * tiles.tile_height
    return parts + (padded != rect_size(frame_plan.histogram_rect))


def launch_check_range(
    stream: Any, kernels: Kernels, plan: LaunchPlan, pixels: Any, out_of_range: Any
) -> None:
    """Add the number of samples above the bit depth, and the highest one, to `out_of_range`, (2,) uint32."""
    launch(stream, kernels, plan, *plane_arguments(pixels), out_of_range)


def launch_histogram(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    tables: Mapping[str, Any],
    partials: Any,
    out_of_range: Any,
) -> None:
    """Compute the partial histograms; if they cover the whole frame, also the samples above the bit depth."""
    sources = [tables.get(name, NULL) for name in ("source_x", "source_y")]
    launch(stream, kernels, plan, *plane_arguments(pixels), *sources, *plan.scalars, partials, out_of_range)


def launch_sum_histograms(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    partials: Any,
    bins: Any,
    tiles: Any,
    range_scratch: Any = NULL,
    out_of_range: Any = NULL,
) -> None:
    """Sum partial histograms to `bins` and `tiles`; move `range_scratch` to `out_of_range`."""
    launch(stream, kernels, plan, partials, *plan.scalars, bins, tiles, range_scratch, out_of_range)


def launch_heatmap(
    stream: Any, kernels: Kernels, plan: LaunchPlan, tiles: Any, deviation: Any, distance: Any
) -> None:
    """Compute the heat map: deviation and distance of each tile."""
    launch(stream, kernels, plan, tiles, *plan.scalars, deviation, distance)


def launch_build_lut(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    counts: Any,
    rescale: Any,
    out_of_range: Any,
    previous: Any,
    luts: Any,
) -> None:
    """Build `luts` from histograms; or copy `previous` if it is given and samples exceed the bit depth."""
    launch(stream, kernels, plan, counts, rescale, *plan.scalars, out_of_range, previous, luts)


def launch_apply(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    luts: Any,
    tables: Mapping[str, Any],
    out: Any,
    decision: Any = NULL,
) -> None:
    """Apply `luts` to u16 samples; the output is u16 or u8, the dtype of `luts`. decision : as in `launch`"""
    names = ("edges_x", "blend_x", "edges_y", "blend_y") if plan.kernel.endswith("clahe") else ()
    interpolation = [tables[name] for name in names]
    launch(
        *(stream, kernels, plan, *plane_arguments(pixels), luts, *interpolation, *plan.scalars),
        *(out, np.int64(out.strides[0]), decision),
    )


def _plan_build_lut(frame_plan: FramePlan, name: str) -> LaunchPlan | None:
    equalization, tiles = frame_plan.options.equalization, frame_plan.mapped_tiles()
    if frame_plan.lut_mode is Mode.IDENTITY:
        return None
    luts, kernel = tiles.columns * tiles.rows, f"{name}_build_lut"
    return plan_build_lut(frame_plan.level_range, equalization, tiles.tile_pixels, luts, kernel)


def _plan_apply(frame_plan: FramePlan, name: str) -> LaunchPlan:
    if frame_plan.options.equalization.mode is not Mode.CLAHE:
        return _plan_apply_lut(frame_plan, f"{name}_apply_lut", *rect_size(frame_plan.mapped_rect))
    config = frame_plan.launch_config
    grid, part_height = plan_clahe_grid(frame_plan, config.u16_clahe_blocks, config.u16_clahe_pixels)
    scalars = (*frame_plan.options.equalization.tiles, part_height)
    kernel, block = f"{name}_apply_clahe", (APPLY_THREADS, 1, 1)
    return LaunchPlan(kernel, grid, block, tuple(np.int32(value) for value in scalars))


def _plan_apply_lut(frame_plan: FramePlan, kernel: str, width: int, height: int) -> LaunchPlan:
    blocks = _chunk_blocks(width, height, APPLY_THREADS, frame_plan.launch_config.u16_lut_blocks)
    return LaunchPlan(kernel, (blocks, 1, 1), (APPLY_THREADS, 1, 1), ())


def _chunk_blocks(width: int, height: int, threads: int, max_blocks: int) -> int:
    return min(-(-height * (width // CHUNK_PX + 2) // threads), max_blocks)
