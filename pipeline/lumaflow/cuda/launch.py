"""The geometry of every launch and the launches themselves; the order of a step is `step`'s business.

A `LaunchPlan` is made once, from geometry, options and launch configuration alone, without a GPU. A launch
function enqueues one kernel on the given stream and returns at once. Arrays are CuPy arrays (NumPy ones when
the kernels run on the CPU in tests): any pitch, any offset; a callable is CuPy's `RawKernel` or the tests'
stand-in.
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
"""Copies of the global bins between which the histogram's blocks spread their additions."""

HISTOGRAM_THREADS = 256
APPLY_THREADS = 256
CHUNK_PX = 16
QUAD_PX = 4

HOG_CELLS = 16
"""Cells side by side in a block of threads, one thread a row of a cell."""

LBP_BLOCK = (64, 4, 1)
"""An LBP block of threads covers 16 cells of 16x16 pixels: 64 quads wide, each thread four rows."""

NULL = np.intp(0)
"""The pointer passed for an array that these options do without."""


class Kernel(Protocol):
    """One compiled kernel, called as CuPy calls it."""

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
    """How one kernel is launched, and the scalar arguments that geometry and options fix."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    numbers: tuple[np.generic, ...]
    shared_bytes: int = 0


def plan_features(scope: FramePlan) -> tuple[LaunchPlan | None, LaunchPlan | None]:
    """The launches of HOG and LBP of the enhanced frame."""
    output, options = scope.output, scope.options
    hog = plan_hog(output, options.hog.layout, scope.shapes) if options.hog else None
    return hog, plan_lbp(output, options.lbp) if options.lbp else None


def plan_histogram(scope: FramePlan) -> LaunchPlan:
    """Blocks (part of a tile, tile column, tile row); without tiles the frame is one."""
    tiles, shapes = scope.counted_tiles(), scope.shapes
    blocks = shapes.histogram_blocks if scope.tile_counts is None else shapes.tile_histogram_blocks
    most = max(blocks // (tiles.columns * tiles.rows), 1)
    part_height, parts = cut(tiles.tile_height, min(tiles.tile_pixels // shapes.histogram_pixels, most))
    return LaunchPlan(
        "histogram",
        (parts, tiles.columns, tiles.rows),
        (HISTOGRAM_THREADS, 1, 1),
        (
            np.int32(tiles.tile_width),
            np.int32(tiles.tile_height),
            np.int32(part_height),
            *limit_and_scale(scope.options.equalization, scope.span, scope.mapped_tiles().tile_pixels),
        ),
    )


def limit_and_scale(
    equalization: Equalization, span: LevelRange, pixels: int
) -> tuple[np.generic, np.generic]:
    """Clip limit and levels a count, of a histogram of so many pixels."""
    limit = clip_limit(equalization.clip_limit, pixels, span.high - span.low + 1)
    return np.int32(limit), lut_scale(pixels, span.out_high - span.out_low)


def plan_apply(scope: FramePlan) -> LaunchPlan:
    """One LUT: a thread a chunk of 16 pixels. CLAHE: blocks (between tile centres x, y, part of its rows)."""
    equalization, shapes = scope.options.equalization, scope.shapes
    if equalization.mode is not Mode.CLAHE:
        return plan_lut("apply_lut", *rect_size(scope.mapped), shapes)
    grid, part_height = rectangles(scope, shapes.clahe_blocks, shapes.clahe_pixels)
    columns, rows = equalization.tiles
    return LaunchPlan(
        "apply_clahe",
        grid,
        (APPLY_THREADS, 1, 1),
        (np.int32(columns), np.int32(rows), np.int32(part_height)),
    )


def plan_beside(scope: FramePlan) -> LaunchPlan | None:
    """The copy of the whole frame, over which the mapped pixels are put; None where all are mapped."""
    height, width = scope.turned.shape[:2]
    return plan_lut("beside", width, height, scope.shapes) if scope.beside else None


def plan_lut(kernel: str, width: int, height: int, shapes: LaunchConfig) -> LaunchPlan:
    """One LUT: a thread a chunk of 16 pixels."""
    chunks = height * (width // CHUNK_PX + 2)
    blocks = min(-(-chunks // APPLY_THREADS), shapes.lut_blocks)
    return LaunchPlan(kernel, (blocks, 1, 1), (APPLY_THREADS, 1, 1), ())


def rectangles(scope: FramePlan, blocks: int, pixels: int) -> tuple[tuple[int, int, int], int]:
    """The grid that cuts what is mapped along tile centres, and the rows of a part.

    blocks, pixels : most blocks to aim at, fewest pixels worth one
    """
    columns, rows = scope.options.equalization.tiles
    tiles, height = scope.mapped_tiles(), rect_size(scope.mapped)[1]
    edges = interpolation_table(height, tiles.tile_height, rows, scope.origin[1]).edges
    widest = int(np.diff(edges).max())
    most = max(blocks // (columns + 1) // rows, 1)
    part_height, parts = cut(widest, min(widest * tiles.tile_width // pixels, most))
    return (columns + 1, rows + 1, parts), part_height


def plan_hog(
    geometry: Geometry, layout: HogLayout, shapes: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> LaunchPlan | None:
    """Blocks (strip of cells, run of rows); None where the frame is too small for a descriptor."""
    if layout is HogLayout.COMPACT:
        name, step = "hog_cells", HOG_CELLS
        columns, rows = geometry.width // HOG_CELL_PX, geometry.height // HOG_CELL_PX
    else:
        # A strip shares its last cell with the next strip: a HOG block needs both its columns.
        name, step = "hog_blocks", HOG_CELLS - 1
        columns, rows = (
            (side - HOG_BLOCK_PX) // HOG_CELL_PX + 1 for side in (geometry.width, geometry.height)
        )
    if columns < 1 or rows < 1:
        return None
    strips = -(-columns // step)
    runs = min(max(shapes.hog_blocks // strips, 1), rows)
    return LaunchPlan(
        name, (strips, runs, 1), (HOG_CELLS * HOG_CELL_PX, 1, 1), (np.int32(columns), np.int32(rows))
    )


def plan_lbp(geometry: Geometry, lbp: Lbp) -> LaunchPlan:
    """Blocks (16 cells side by side, row of cells)."""
    cells_x, cells_y = (-(-side // LBP_CELL_PX) for side in (geometry.width, geometry.height))
    cells = LBP_BLOCK[0] * QUAD_PX // LBP_CELL_PX
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
    """Count the raw frame and make its mapping: bins, LUTs and (with a heat map) deviation and distance.

    One launch: the last block done with a tile builds that tile's LUT.
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
        *(*plan.numbers, scratch.get("partials", NULL), scratch["totals"], scratch["counters"]),
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
) -> None:
    """Map the frame through `luts`; for colour frames with features also write the enhanced luma plane."""
    blends = ("edges_x", "blend_x", "edges_y", "blend_y")
    given = [tables[name] for name in blends] if plan.kernel == "apply_clahe" else []
    luma_pitch = np.int64(0 if luma is NULL else luma.strides[0])
    launch(
        *(stream, kernels, plan, *plane_arguments(pixels), luts, *given, *plan.numbers),
        *(enhanced, np.int64(enhanced.strides[0]), luma, luma_pitch),
    )


def launch_hog(
    stream: Any, kernels: Kernels, plan: LaunchPlan, luma: Any, tables: Mapping[str, Any], hog: Any
) -> None:
    """Describe the enhanced luma by HOG, in the layout the plan was made for."""
    launch(stream, kernels, plan, *plane_arguments(luma), tables["hog_gamma"], *plan.numbers, hog)


def launch_lbp(
    stream: Any,
    kernels: Kernels,
    plan: LaunchPlan,
    luma: Any,
    tables: Mapping[str, Any],
    lbp: Any,
    labels: Any = NULL,
) -> None:
    """Count the LBP labels of every cell of the enhanced luma; `labels` also receives every pixel's."""
    labels_pitch = np.int64(0 if labels is NULL else labels.strides[0])
    launch(
        stream,
        kernels,
        plan,
        *(*plane_arguments(luma), tables["lbp_labels"], *plan.numbers, lbp, labels, labels_pitch),
    )


def launch(stream: Any, kernels: Kernels, plan: LaunchPlan, *args: Any) -> None:
    """Enqueue one kernel."""
    kernels[plan.kernel](plan.grid, plan.block, args, shared_mem=plan.shared_bytes, stream=stream)


def plane_arguments(pixels: Any) -> tuple[Any, np.int64, np.int32, np.int32]:
    """Every kernel's first arguments: pixels, pitch in bytes, width, height."""
    height, width = pixels.shape[:2]
    return pixels, np.int64(pixels.strides[0]), np.int32(width), np.int32(height)


def cut(height: int, wanted: int) -> tuple[int, int]:
    """Cut `height` rows into about `wanted` equal parts: (rows of a part, number of parts)."""
    part_height = -(-height // max(min(wanted, height), 1))
    return part_height, -(-height // part_height)
