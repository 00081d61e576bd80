"""Which arrays a lane's kernels read and write: names, shapes and types, from geometry and options alone.

Nothing is allocated here; `memory` does that once, when the lane opens.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.cuda.launch import REPLICAS, plan_histogram, tile_counts
from pipeline.frame import Geometry, PixelFormat
from pipeline.options import HogLayout, Mode, Options
from pipeline.tables import (
    HOG_BINS,
    HOG_BLOCK_PX,
    HOG_BLOCK_VALUES,
    HOG_CELL_PX,
    LBP_CELL_PX,
    LEVELS,
    blend,
    hog_gamma,
    lbp_labels,
    tile_grid,
)

Spec = dict[str, tuple[tuple[int, ...], type[np.generic]]]
"""Name -> (shape, dtype)."""


def constant_tables(geometry: Geometry, options: Options) -> dict[str, NDArray[Any]]:
    """Host tables that the kernels read; uploaded once, when the lane opens."""
    tables: dict[str, NDArray[Any]] = {}
    counted = tile_counts(options)
    if counted is not None:
        grid = tile_grid(geometry.width, geometry.height, counted)
        tables |= {"source_x": grid.source_x, "source_y": grid.source_y}
    if options.equalization.mode is Mode.CLAHE:
        grid = tile_grid(geometry.width, geometry.height, options.equalization.tiles)
        for axis, size, tile_size, tiles in (
            ("x", geometry.width, grid.tile_width, grid.columns),
            ("y", geometry.height, grid.tile_height, grid.rows),
        ):
            table = blend(size, tile_size, tiles)
            shares = np.stack([table.rest, table.weight], axis=1)
            tables |= {f"edges_{axis}": table.edges, f"blend_{axis}": shares}
    if options.hog is not None:
        tables["hog_gamma"] = hog_gamma()
    if options.lbp is not None:
        tables["lbp_labels"] = lbp_labels(options.lbp.mapping)
    return tables


def scratch_arrays(geometry: Geometry, options: Options) -> Spec:
    """Device memory of one lane that no result lies in. All zero at first; each step leaves it ready.

    The histogram's three serve one frame at a time, in order; so does `luma` (colour with features only),
    which apply writes and the features read.
    """
    plan = plan_histogram(geometry, options)
    parts, columns, rows = plan.grid
    spec: Spec = {
        "totals": ((REPLICAS, LEVELS), np.uint32),
        "counters": ((columns * rows + 1,), np.uint32),
    }
    if tile_counts(options) is not None:
        spec["partials"] = ((rows, columns, parts, LEVELS), np.uint32)
    if needs_luma(geometry, options):
        spec["luma"] = ((geometry.height, geometry.width), np.uint8)
    return spec


def result_arrays(geometry: Geometry, options: Options) -> Spec:
    """What one frame leaves behind besides its pixels; an empty HOG is left out."""
    columns, rows = options.equalization.grid
    spec: Spec = {"bins": ((LEVELS,), np.uint32), "luts": ((rows, columns, LEVELS), np.uint8)}
    if options.heatmap:
        tiles = options.equalization.tiles[::-1]
        spec |= {"deviation": (tiles, np.float64), "distance": (tiles, np.int64)}
    if options.hog is not None and 0 not in hog_shape(geometry, options.hog.layout):
        spec["hog"] = (hog_shape(geometry, options.hog.layout), np.float32)
    if options.lbp is not None:
        cells = (-(-geometry.height // LBP_CELL_PX), -(-geometry.width // LBP_CELL_PX))
        spec["lbp"] = ((*cells, options.lbp.mapping.labels), np.uint16)
        if options.lbp.labels:
            spec["lbp_labels"] = ((geometry.height, geometry.width), np.uint8)
    return spec


def needs_luma(geometry: Geometry, options: Options) -> bool:
    """Whether apply must write a plane of its own for the features (gray frames are that plane)."""
    features = options.hog is not None or options.lbp is not None
    return geometry.pixel_format is PixelFormat.BGR24 and features


def hog_shape(geometry: Geometry, layout: HogLayout) -> tuple[int, int, int]:
    """Shape of the descriptor; an axis is 0 where the frame is too small (spec 10)."""
    if layout is HogLayout.COMPACT:
        return geometry.height // HOG_CELL_PX, geometry.width // HOG_CELL_PX, HOG_BINS
    down, across = (
        max((side - HOG_BLOCK_PX) // HOG_CELL_PX + 1, 0) for side in (geometry.height, geometry.width)
    )
    return down, across, HOG_BLOCK_VALUES
