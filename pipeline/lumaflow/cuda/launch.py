"""Grid, block and arguments of the kernels for 8-bit frames and for features; `step` orders the launches.

A `LaunchPlan` is computed once, from geometry, options and launch configuration, without a GPU. A launch
function enqueues one kernel on the given stream and returns immediately. Arrays are CuPy arrays with any
pitch and offset; in tests they are NumPy arrays, and the kernels run on the CPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan, rect_size
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, HogLayout, Lbp, Mode
from lumaflow.tables import (
    HOG_BLOCK_PX,
    HOG_CELL_PX,
    LBP_CELL_PX,
    LevelRange,
    clip_limit,
    interpolation_table,
    lut_scale,
)

REPLICAS = 16
"""Copies of the global bins; histogram blocks distribute their atomic additions over them."""

HISTOGRAM_THREADS = 256
APPLY_THREADS = 256
CHUNK_PX = 16
VEC_PX = 4

HOG_CELLS = 16
"""Adjacent cells per thread block; one thread per row of a cell."""

LBP_BLOCK = (64, 4, 1)
"""An LBP thread block covers 16 cells of 16x16 pixels; each thread handles 4x4 pixels."""

NULL = np.intp(0)
"""The null pointer, for an optional array that is not used."""


class Kernel(Protocol):
    """A compiled kernel with the call signature of `cupy.RawKernel`."""

    def __call__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None: ...


Kernels = Mapping[str, Kernel]


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """Grid, block and scalar arguments of one kernel launch."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    scalars: tuple[np.generic, ...]
    shared_bytes: int = 0


def plan_features(frame_plan: FramePlan) -> tuple[LaunchPlan | None, LaunchPlan | None]:
    """The launches of HOG and LBP; None for a feature that is not computed."""
    output, options = frame_plan.output, frame_plan.options
    hog = plan_hog(output, options.hog.layout, frame_plan.launch_config) if options.hog else None
    return hog, plan_lbp(output, options.lbp) if options.lbp else None


def plan_histogram(frame_plan: FramePlan) -> LaunchPlan:
    """Grid (part of a tile, tile column, tile row); without tiles the frame is one tile."""
    tiles, config = frame_plan.counted_tiles(), frame_plan.launch_config
    blocks = config.histogram_blocks if frame_plan.tile_counts is None else config.tile_histogram_blocks
    max_parts = max(blocks // (tiles.columns * tiles.rows), 1)
    parts = min(tiles.tile_pixels // config.histogram_pixels, max_parts)
    part_height, parts = split_rows(tiles.tile_height, parts)
    return LaunchPlan(
        "histogram",
        (parts, tiles.columns, tiles.rows),
        (HISTOGRAM_THREADS, 1, 1),
        (
            np.int32(tiles.tile_width),
            np.int32(tiles.tile_height),
            np.int32(part_height),
            *clip_limit_and_scale(
                frame_plan.options.equalization, frame_plan.level_range, frame_plan.mapped_tiles().tile_pixels
            ),
        ),
    )


def clip_limit_and_scale(
    equalization: Equalization, levels: LevelRange, pixels: int
) -> tuple[np.generic, np.generic]:
    """Clip limit (int32) and grey levels per count (float32) of a histogram of `pixels` pixels."""
    limit = clip_limit(equalization.clip_limit, pixels, levels.high - levels.low + 1)
    return np.int32(limit), lut_scale(pixels, levels.out_high - levels.out_low)


def plan_apply(frame_plan: FramePlan) -> LaunchPlan:
    """One LUT: one thread per 16 pixels. CLAHE: grid (rectangle between tile centres x, y, part of it)."""
    equalization, config = frame_plan.options.equalization, frame_plan.launch_config
    if equalization.mode is not Mode.CLAHE:
        return plan_apply_lut("apply_lut", *rect_size(frame_plan.mapped_rect), config)
    grid, part_height = plan_clahe_grid(frame_plan, config.clahe_blocks, config.clahe_pixels)
    columns, rows = equalization.tiles
    return LaunchPlan(
        "apply_clahe",
        grid,
        (APPLY_THREADS, 1, 1),
        (np.int32(columns), np.int32(rows), np.int32(part_height)),
    )


def plan_copy(frame_plan: FramePlan) -> LaunchPlan | None:
    """The copy of the whole frame before a part of it is mapped; None if all pixels are mapped."""
    height, width = frame_plan.oriented.shape[:2]
    return plan_apply_lut("copy", width, height, frame_plan.launch_config) if frame_plan.is_partial else None


def plan_apply_lut(kernel: str, width: int, height: int, config: LaunchConfig) -> LaunchPlan:
    """One LUT: one thread per 16 pixels."""
    chunks = height * (width // CHUNK_PX + 2)
    blocks = min(-(-chunks // APPLY_THREADS), config.lut_blocks)
    return LaunchPlan(kernel, (blocks, 1, 1), (APPLY_THREADS, 1, 1), ())


def plan_clahe_grid(frame_plan: FramePlan, blocks: int, pixels: int) -> tuple[tuple[int, int, int], int]:
    """The grid of rectangles between tile centres, each split into parts, and the rows per part.

    blocks, pixels : maximum number of blocks, minimum number of pixels per block
    """
    columns, rows = frame_plan.options.equalization.tiles
    tiles, height = frame_plan.mapped_tiles(), rect_size(frame_plan.mapped_rect)[1]
    edges = interpolation_table(height, tiles.tile_height, rows, frame_plan.origin[1]).edges
    max_height = int(np.diff(edges).max())
    max_parts = max(blocks // (columns + 1) // rows, 1)
    part_height, parts = split_rows(max_height, min(max_height * tiles.tile_width // pixels, max_parts))
    return (columns + 1, rows + 1, parts), part_height


def plan_hog(
    geometry: Geometry, layout: HogLayout, config: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> LaunchPlan | None:
    """Grid (group of columns, group of rows); None if the frame is too small for one descriptor."""
    if layout is HogLayout.COMPACT:
        name, step = "hog_cells", HOG_CELLS
        columns, rows = geometry.width // HOG_CELL_PX, geometry.height // HOG_CELL_PX
    else:
        # Adjacent groups share one column of cells, because a HOG block has two columns.
        name, step = "hog_blocks", HOG_CELLS - 1
        columns, rows = (
            (side - HOG_BLOCK_PX) // HOG_CELL_PX + 1 for side in (geometry.width, geometry.height)
        )
    if columns < 1 or rows < 1:
        return None
    column_groups = -(-columns // step)
    row_groups = min(max(config.hog_blocks // column_groups, 1), rows)
    return LaunchPlan(
        name,
        (column_groups, row_groups, 1),
        (HOG_CELLS * HOG_CELL_PX, 1, 1),
        (np.int32(columns), np.int32(rows)),
    )


def plan_lbp(geometry: Geometry, lbp: Lbp) -> LaunchPlan:
    """Grid (group of 16 adjacent cells, row of cells)."""
    cells_x, cells_y = (-(-side // LBP_CELL_PX) for side in (geometry.width, geometry.height))
    cells = LBP_BLOCK[0] * VEC_PX // LBP_CELL_PX
    return LaunchPlan("lbp", (-(-cells_x // cells), cells_y, 1), LBP_BLOCK, (np.int32(cells_x),))


def launch_histogram(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    tables: Mapping[str, Any],
    scratch: Mapping[str, Any],
    bins: Any,
    luts: Any,
    deviation: Any = NULL,
    distance: Any = NULL,
) -> None:
    """Compute bins and LUTs of a frame, and with a heat map also deviation and distance, in one launch.

    The last block that finishes a tile builds the LUT of that tile.
    """
    launch(
        *(
            stream,
            kernels,
            plan,
            *plane_arguments(pixels),
            tables.get("source_x", NULL),
            tables.get("source_y", NULL),
        ),
        *(*plan.scalars, scratch.get("partials", NULL), scratch["totals"], scratch["counters"]),
        *(bins, luts, deviation, distance),
    )


def launch_apply(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    pixels: Any,
    luts: Any,
    tables: Mapping[str, Any],
    enhanced: Any,
    luma: Any = NULL,
    decision: Any = NULL,
) -> None:
    """Apply `luts` to a frame; also write the enhanced luma plane if `luma` is given.

    decision : of scene_cut; if given, nothing happens unless the frame uses its own LUTs
    """
    names = ("edges_x", "blend_x", "edges_y", "blend_y")
    interpolation = [tables[name] for name in names] if plan.kernel == "apply_clahe" else []
    luma_pitch = np.int64(0 if luma is NULL else luma.strides[0])
    launch(
        *(stream, kernels, plan, *plane_arguments(pixels), luts, *interpolation, *plan.scalars),
        *(enhanced, np.int64(enhanced.strides[0]), luma, luma_pitch, decision),
    )


def launch_hog(
    stream: Any, kernels: Kernels, plan: LaunchPlan, luma: Any, tables: Mapping[str, Any], hog: Any
) -> None:
    """Compute HOG of the enhanced luma, in the layout of the plan."""
    launch(stream, kernels, plan, *plane_arguments(luma), tables["hog_gamma"], *plan.scalars, hog)


def launch_lbp(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    luma: Any,
    tables: Mapping[str, Any],
    lbp: Any,
    labels: Any = NULL,
) -> None:
    """Compute the LBP histogram of each cell of the enhanced luma.

    labels : optionally receives the label of each pixel
    """
    labels_pitch = np.int64(0 if labels is NULL else labels.strides[0])
    launch(
        stream,
        kernels,
        plan,
        *(*plane_arguments(luma), tables["lbp_labels"], *plan.scalars, lbp, labels, labels_pitch),
    )


def launch(stream: Any, kernels: Kernels, plan: LaunchPlan, *args: Any) -> None:
    """Enqueue one kernel."""
    kernels[plan.kernel](plan.grid, plan.block, args, shared_mem=plan.shared_bytes, stream=stream)


def plane_arguments(pixels: Any) -> tuple[Any, np.int64, np.int32, np.int32]:
    """The first arguments of each kernel: pixels, pitch in bytes, width, height."""
    height, width = pixels.shape[:2]
    return pixels, np.int64(pixels.strides[0]), np.int32(width), np.int32(height)


def split_rows(height: int, parts: int) -> tuple[int, int]:
    """Split rows into about `parts` equal parts. Returns (rows per part, number of parts)."""
    part_height = -(-height // max(min(parts, height), 1))
    return part_height, -(-height // part_height)
