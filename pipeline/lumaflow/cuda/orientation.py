"""Grid, block and arguments of the kernels for orientation and chroma gain; see `launch`."""

from typing import Any

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan
from lumaflow.cuda.launch import Kernels, LaunchPlan, launch, plane_arguments
from lumaflow.formats import Chroma
from lumaflow.options import Orientation
from lumaflow.tables import axis_map

THREADS = 256
FLIP_BLOCKS = 528
CHROMA_BLOCKS = 528
TILE_WORDS = 32
WORD_BYTES = 4


def plan_reorient_planes(frame_plan: FramePlan) -> list[LaunchPlan | None]:
    """The launch that reorients each input plane; None for a plane that needs no kernel."""
    if not frame_plan.is_reoriented:
        return [None] * len(frame_plan.geometry.plane_shapes)
    plans: list[LaunchPlan | None] = [
        plan_reorient(frame_plan.options.orientation, *pixel_layout(frame_plan, number))
        for number in range(len(frame_plan.geometry.plane_shapes))
    ]
    if frame_plan.reverses_rows:
        plans[0] = None
    return plans


def plan_reorient(
    orientation: Orientation, width: int, height: int, pixel_bytes: int, luma: int = -1
) -> LaunchPlan:
    """The launch that reorients one plane of `width` x `height` pixels; `luma` as in `reorient_kernel`."""
    axes = axis_map(orientation)
    per_word = max(WORD_BYTES // pixel_bytes, 1) if pixel_bytes in (1, 2, 4) else 1
    if axes.swapped:
        side = TILE_WORDS * per_word
        grid = (-(-width // side), -(-height // side), 1)
    else:
        blocks = -(-height * (width // per_word + 1) // THREADS)
        grid = (min(blocks, FLIP_BLOCKS), 1, 1)
    return LaunchPlan(
        reorient_kernel(axes.swapped, pixel_bytes, luma),
        grid,
        (THREADS, 1, 1),
        (np.int32(axes.from_bottom), np.int32(axes.from_right)),
    )


def reorient_kernel(swapped: bool, pixel_bytes: int, luma: int = -1) -> str:
    """The name of the kernel for this pixel size.

    luma : -1, or for pairs of packed 4:2:2 pixels the index of the first luma byte of a pair
    """
    name = "transpose" if swapped else "flip"
    return f"{name}_{pixel_bytes}" if luma < 0 else f"{name}_pairs"


def pixel_layout(frame_plan: FramePlan, plane: int) -> tuple[int, int, int, int]:
    """(width, height, bytes per pixel, luma or -1) of an input plane; in packed 4:2:2 a pixel is a pair."""
    geometry = frame_plan.geometry
    height, width, *channels = geometry.plane_shapes[plane]
    pixel_bytes = geometry.dtype.itemsize * (channels[0] if channels else 1)
    if geometry.layout.chroma is Chroma.PACKED:
        return width // 2, height, 2 * pixel_bytes, geometry.layout.luma
    return width, height, pixel_bytes, -1


def plan_chroma_gains(frame_plan: FramePlan) -> list[LaunchPlan | None]:
    """The chroma gain of each plane: of packed 4:2:2 pixels, or of the chroma planes; None for no launch."""
    packed = frame_plan.oriented.layout.chroma is Chroma.PACKED
    return [
        plan_chroma_gain(shape) if frame_plan.has_chroma_gain and (packed or number > 0) else None
        for number, shape in enumerate(frame_plan.oriented.plane_shapes)
    ]


def plan_chroma_gain(shape: tuple[int, ...]) -> LaunchPlan:
    """The chroma gain of one plane of this shape."""
    blocks = -(-int(np.prod(shape)) // THREADS)
    return LaunchPlan("chroma_gain", (min(blocks, CHROMA_BLOCKS), 1, 1), (THREADS, 1, 1), ())


def launch_reorient(stream: Any, kernels: Kernels, plan: LaunchPlan, source: Any, out: Any) -> None:
    """Reorient `source` into `out`: (H, W) or (H, W, channels) arrays that do not overlap."""
    height = source.shape[0]
    pairs = plan.kernel.endswith("pairs")
    width = source.shape[1] // 2 if pairs else source.shape[1]
    sizes = (np.int64(source.strides[0]), np.int32(width), np.int32(height))
    launch(stream, kernels, plan, source, *sizes, *plan.scalars, out, np.int64(out.strides[0]))


def launch_chroma_gain(stream: Any, kernels: Kernels, plan: LaunchPlan, samples: Any, lut: Any) -> None:
    """Apply `lut` to the chroma of `samples`, (H, W) or (H, W, 2), in place."""
    pixels, pitch, width, height = plane_arguments(samples)
    channels = samples.shape[2] if samples.ndim == 3 else 1
    launch(stream, kernels, plan, pixels, pitch, np.int32(width * channels), height, lut)
