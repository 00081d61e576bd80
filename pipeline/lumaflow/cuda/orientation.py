"""The launches that move pixels: turning planes, and the gain of chroma; see `launch` for what a plan is."""

from typing import Any

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan
from lumaflow.cuda.launch import Kernels, LaunchPlan, launch, plane_arguments
from lumaflow.formats import Chroma
from lumaflow.options import Orientation
from lumaflow.tables import axis_map

THREADS = 256
MIRROR_BLOCKS = 528
CHROMA_BLOCKS = 528
TILE_WORDS = 32
WORD_BYTES = 4


def plan_reorient_planes(scope: FramePlan) -> list[LaunchPlan | None]:
    """How each plane of an incoming frame is turned; None where it is read as it lies."""
    if not scope.turns:
        return [None] * len(scope.geometry.plane_shapes)
    plans: list[LaunchPlan | None] = [
        plan_reorient(scope.options.orientation, *shape_of_pixels(scope, number))
        for number in range(len(scope.geometry.plane_shapes))
    ]
    if scope.turns_rows_alone:
        plans[0] = None
    return plans


def plan_reorient(
    orientation: Orientation, width: int, height: int, pixel_bytes: int, luma: int = -1
) -> LaunchPlan:
    """The turn of one plane of `width` x `height` pixels; `luma` of woven pairs, as for `reorient_kernel`."""
    turn = axis_map(orientation)
    per_word = max(WORD_BYTES // pixel_bytes, 1) if pixel_bytes in (1, 2, 4) else 1
    if turn.swapped:
        side = TILE_WORDS * per_word
        grid = (-(-width // side), -(-height // side), 1)
    else:
        blocks = -(-height * (width // per_word + 1) // THREADS)
        grid = (min(blocks, MIRROR_BLOCKS), 1, 1)
    return LaunchPlan(
        reorient_kernel(turn.swapped, pixel_bytes, luma),
        grid,
        (THREADS, 1, 1),
        (np.int32(turn.from_bottom), np.int32(turn.from_right)),
    )


def reorient_kernel(swapped: bool, pixel_bytes: int, luma: int = -1) -> str:
    """The name of the kernel; `luma`, for pairs of woven pixels, is the first of two that change places."""
    name = "transpose" if swapped else "mirror"
    return f"{name}_{pixel_bytes}" if luma < 0 else f"{name}_pairs"


def shape_of_pixels(scope: FramePlan, plane: int) -> tuple[int, int, int, int]:
    """(width, height, bytes of a pixel, luma or -1) of an incoming plane; two woven pixels move as one."""
    geometry = scope.geometry
    height, width, *channels = geometry.plane_shapes[plane]
    pixel_bytes = geometry.dtype.itemsize * (channels[0] if channels else 1)
    if geometry.layout.chroma is Chroma.PACKED:
        return width // 2, height, 2 * pixel_bytes, geometry.layout.luma
    return width, height, pixel_bytes, -1


def plan_gains(scope: FramePlan) -> list[LaunchPlan | None]:
    """The gain of every plane: of woven pixels, or of the planes beside the first one; None: it stays."""
    woven = scope.turned.layout.chroma is Chroma.PACKED
    return [
        plan_gain(shape) if scope.gains and (woven or number > 0) else None
        for number, shape in enumerate(scope.turned.plane_shapes)
    ]


def plan_gain(shape: tuple[int, ...]) -> LaunchPlan:
    """The gain of the chroma in one plane."""
    blocks = -(-int(np.prod(shape)) // THREADS)
    return LaunchPlan("chroma", (min(blocks, CHROMA_BLOCKS), 1, 1), (THREADS, 1, 1), ())


def launch_reorient(stream: Any, kernels: Kernels, plan: LaunchPlan, source: Any, out: Any) -> None:
    """Turn `source` into `out`, (H, W) arrays of pixels or (H, W, channels); they share no memory."""
    height = source.shape[0]
    pairs = plan.kernel.endswith("pairs")
    width = source.shape[1] // 2 if pairs else source.shape[1]
    sizes = (np.int64(source.strides[0]), np.int32(width), np.int32(height))
    launch(stream, kernels, plan, source, *sizes, *plan.numbers, out, np.int64(out.strides[0]))


def launch_gain(stream: Any, kernels: Kernels, plan: LaunchPlan, samples: Any, lut: Any) -> None:
    """See the chroma of `samples` through `lut`, in place; rows of samples, (H, W) or (H, W, 2)."""
    pixels, pitch, width, height = plane_arguments(samples)
    channels = samples.shape[2] if samples.ndim == 3 else 1
    launch(stream, kernels, plan, pixels, pitch, np.int32(width * channels), height, lut)
