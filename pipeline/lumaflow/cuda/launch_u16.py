"""The launches for deep frames, whose levels lie in words; see `launch` for what a plan is (spec 8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan, rect_size
from lumaflow.cuda.launch import (
    NULL,
    Kernels,
    LaunchPlan,
    cut,
    launch,
    limit_and_scale,
    plane_arguments,
    rectangles,
)
from lumaflow.options import Equalization, Mode
from lumaflow.tables import LevelRange

RANGE_BITS = 14
"""Bits of the levels that one block counts; more are counted in ranges."""

COUNT_THREADS = 512
SUM_LEVELS = 32
SUM_THREADS = 1024
HEATMAP_THREADS = 512

LUT_LEVELS = 4
"""Levels of a thread at a time."""
LUT_THREADS = 1024

APPLY_THREADS = 512
CHUNK_PX = 8

CHECK_THREADS = 256
CHECK_BLOCKS = 528


@dataclass(frozen=True, slots=True)
class ToneMapperPlans:
    """The launches that make one mapping and use it; a deep frame's display has a curve of its own.

    lut : None where the mapping never changes
    beside : passes the whole frame on, below what is mapped
    """

    lut: LaunchPlan | None
    apply: LaunchPlan
    beside: LaunchPlan | None


def plan_check(scope: FramePlan) -> LaunchPlan | None:
    """Blocks of threads that look at chunks of 8 words; None where those that count look, or none need."""
    if not scope.checked or scope.counts_all:
        return None
    turned = scope.turned
    blocks = _chunk_blocks(turned.width, turned.height, CHECK_THREADS, CHECK_BLOCKS)
    return LaunchPlan("words_check", (blocks, 1, 1), (CHECK_THREADS, 1, 1), ())


def plan_count(scope: FramePlan) -> LaunchPlan:
    """Blocks (range of a part of a tile, tile column, tile row); padding is one more part."""
    tiles = scope.counted_tiles()
    ranges = max(scope.levels >> RANGE_BITS, 1)
    most = max(scope.shapes.word_count_blocks // (tiles.columns * tiles.rows * ranges), 1)
    wanted = min(tiles.tile_pixels // scope.shapes.word_count_pixels, most)
    part_height, parts = cut(tiles.tile_height, wanted)
    numbers = (tiles.tile_width, tiles.tile_height, parts, part_height)
    return LaunchPlan(
        "words_count",
        (all_parts(scope, parts) * ranges, tiles.columns, tiles.rows),
        (COUNT_THREADS, 1, 1),
        tuple(np.int32(number) for number in numbers),
    )


def plan_sum(scope: FramePlan) -> LaunchPlan:
    """A block 32 levels."""
    tiles = scope.counted_tiles()
    parts = int(plan_count(scope).numbers[2])
    numbers = (tiles.columns * tiles.rows, parts, all_parts(scope, parts))
    blocks = scope.levels // SUM_LEVELS
    return LaunchPlan("words_sum", (blocks, 1, 1), (SUM_THREADS, 1, 1), tuple(np.int32(n) for n in numbers))


def plan_heatmap(scope: FramePlan) -> LaunchPlan | None:
    """A block a tile; None unless it was asked for."""
    if not scope.options.heatmap:
        return None
    tiles = scope.counted_tiles()
    blocks = tiles.columns * tiles.rows
    return LaunchPlan(
        "words_heatmap", (blocks, 1, 1), (HEATMAP_THREADS, 1, 1), (np.uint32(tiles.tile_pixels),)
    )


def plan_tone_mapper(scope: FramePlan, name: str) -> ToneMapperPlans:
    """The curve to `scope.output`; its kernels' names begin with `name`."""
    height, width = scope.turned.shape[:2]
    beside = _plan_lut(scope, f"{name}_apply", width, height) if scope.beside else None
    return ToneMapperPlans(_plan_mapping(scope, name), _plan_apply(scope, name), beside)


def plan_mapping(
    span: LevelRange, equalization: Equalization, pixels: int, luts: int, kernel: str
) -> LaunchPlan:
    """A block a LUT, of histograms of so many pixels each."""
    levels = (span.low, span.high, span.out_low, span.out_high - span.out_low)
    threads = min(span.size // LUT_LEVELS, LUT_THREADS)
    numbers = (np.uint32(pixels), *limit_and_scale(equalization, span, pixels))
    return LaunchPlan(
        kernel, (luts, 1, 1), (threads, 1, 1), (*numbers, *(np.int32(level) for level in levels))
    )


def all_parts(scope: FramePlan, parts: int) -> int:
    """Parts of a tile, the padding included if there is any."""
    tiles = scope.counted_tiles()
    padded = tiles.columns * tiles.tile_width, tiles.rows * tiles.tile_height
    return parts + (padded != rect_size(scope.counted))


def launch_check(stream: Any, kernels: Kernels, plan: LaunchPlan, pixels: Any, beyond: Any) -> None:
    """Add the words beyond the depth to `beyond`."""
    launch(stream, kernels, plan, *plane_arguments(pixels), beyond)


def launch_count(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    tables: Mapping[str, Any],
    partials: Any,
    beyond: Any,
) -> None:
    """Count what is to be counted, part by part; and, if that is all, the words beyond the depth."""
    sources = [tables.get(name, NULL) for name in ("source_x", "source_y")]
    launch(stream, kernels, plan, *plane_arguments(pixels), *sources, *plan.numbers, partials, beyond)


def launch_sum(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    partials: Any,
    bins: Any,
    tiles: Any,
    found: Any = NULL,
    beyond: Any = NULL,
) -> None:
    """Add the parts up to the bins of the frame and the counts of its tiles; move `found` to `beyond`."""
    launch(stream, kernels, plan, partials, *plan.numbers, bins, tiles, found, beyond)


def launch_heatmap(
    stream: Any, kernels: Kernels, plan: LaunchPlan, tiles: Any, deviation: Any, distance: Any
) -> None:
    """Measure the contrast of every tile."""
    launch(stream, kernels, plan, tiles, *plan.numbers, deviation, distance)


def launch_mapping(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    counts: Any,
    plain: Any,
    beyond: Any,
    before: Any,
    luts: Any,
) -> None:
    """Make the mapping of the counts; or keep `before`, if both are given and words were beyond the depth."""
    launch(stream, kernels, plan, counts, plain, *plan.numbers, beyond, before, luts)


def launch_apply(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    luts: Any,
    tables: Mapping[str, Any],
    out: Any,
) -> None:
    """Map words through `luts`, to words or to bytes."""
    blends = ("edges_x", "blend_x", "edges_y", "blend_y") if plan.kernel.endswith("clahe") else ()
    given = [tables[name] for name in blends]
    launch(
        *(stream, kernels, plan, *plane_arguments(pixels), luts, *given, *plan.numbers),
        *(out, np.int64(out.strides[0])),
    )


def _plan_mapping(scope: FramePlan, name: str) -> LaunchPlan | None:
    mode, span = scope.options.equalization.mode, scope.span
    if mode is Mode.IDENTITY:
        return None
    tiles = scope.mapped_tiles()
    return plan_mapping(
        span, scope.options.equalization, tiles.tile_pixels, tiles.columns * tiles.rows, f"{name}_lut"
    )


def _plan_apply(scope: FramePlan, name: str) -> LaunchPlan:
    if scope.options.equalization.mode is not Mode.CLAHE:
        return _plan_lut(scope, f"{name}_apply", *rect_size(scope.mapped))
    grid, part_height = rectangles(scope, scope.shapes.word_clahe_blocks, scope.shapes.word_clahe_pixels)
    numbers = (*scope.options.equalization.tiles, part_height)
    return LaunchPlan(f"{name}_clahe", grid, (APPLY_THREADS, 1, 1), tuple(np.int32(n) for n in numbers))


def _plan_lut(scope: FramePlan, kernel: str, width: int, height: int) -> LaunchPlan:
    blocks = _chunk_blocks(width, height, APPLY_THREADS, scope.shapes.word_lut_blocks)
    return LaunchPlan(kernel, (blocks, 1, 1), (APPLY_THREADS, 1, 1), ())


def _chunk_blocks(width: int, height: int, threads: int, most: int) -> int:
    return min(-(-height * (width // CHUNK_PX + 2) // threads), most)
