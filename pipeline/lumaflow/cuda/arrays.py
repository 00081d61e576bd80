"""Which arrays a lane's kernels read and write: names, shapes and types, from geometry and options alone.

Nothing is allocated here; `memory` does that once, when the lane opens.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cuda.frame_plan import FramePlan, plan_frame, rect_size
from lumaflow.cuda.launch import REPLICAS, plan_histogram
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.cuda.launch_u16 import all_parts, plan_count
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options
from lumaflow.tables import (
    LEVELS,
    chroma_lut,
    hog_gamma,
    hog_shape,
    identity_lut,
    interpolation_table,
    lbp_labels,
    lbp_shape,
    level_range,
    rescale_lut,
)

Spec = dict[str, tuple[tuple[int, ...], type[np.generic]]]
"""Name -> (shape, dtype)."""


def constant_tables(geometry: Geometry, options: Options) -> dict[str, NDArray[Any]]:
    """Host tables that the kernels read; uploaded once, when the lane opens."""
    scope = plan_frame(geometry, options)
    tables: dict[str, NDArray[Any]] = {}
    if scope.tile_counts is not None:
        grid = scope.counted_tiles()
        tables |= {"source_x": grid.source_x, "source_y": grid.source_y}
    if options.equalization.mode is Mode.CLAHE:
        tables |= _blends(scope)
    if scope.deep:
        tables |= {f"words_{name}": table for name, table in _fixed_luts(scope, scope.output).items()}
    if scope.display is not None:
        tables |= {f"display_{name}": table for name, table in _fixed_luts(scope, scope.display).items()}
    if scope.gains:
        tables["chroma"] = chroma_lut(geometry, options.equalization.chroma_gain)
    if options.hog is not None:
        tables["hog_gamma"] = hog_gamma()
    if options.lbp is not None:
        tables["lbp_labels"] = lbp_labels(options.lbp.mapping)
    return tables


def scratch_arrays(
    geometry: Geometry, options: Options, shapes: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> Spec:
    """Device memory of one lane that no result lies in. All zero at first; each step leaves it ready.

    They serve one frame at a time, in order.
    """
    scope = plan_frame(geometry, options, shapes)
    return _word_scratch(scope) if scope.deep else _byte_scratch(scope)


def result_arrays(geometry: Geometry, options: Options) -> Spec:
    """What one frame leaves behind besides its pixels; an empty HOG is left out.

    `luma` is what the features describe of mixed or deep pixels.
    """
    scope = plan_frame(geometry, options)
    (columns, rows), output = options.equalization.grid, scope.output
    places = (rows, columns, scope.levels)
    spec: Spec = {"bins": ((scope.levels,), np.uint32), "luts": (places, output.dtype.type)}
    if scope.display is not None:
        spec["display_luts"] = (places, np.uint8)
    if scope.needs_luma:
        spec["luma"] = (scope.turned.shape[:2], np.uint8)
    if scope.checked:
        spec["beyond"] = ((2,), np.uint32)
    if options.heatmap:
        tiles = options.equalization.tiles[::-1]
        spec |= {"deviation": (tiles, np.float64), "distance": (tiles, np.int64)}
    if options.hog is not None and 0 not in hog_shape(output, options.hog.layout):
        spec["hog"] = (hog_shape(output, options.hog.layout), np.float32)
    if options.lbp is not None:
        spec["lbp"] = (lbp_shape(output, options.lbp.mapping), np.uint16)
        if options.lbp.labels:
            spec["lbp_labels"] = ((output.height, output.width), np.uint8)
    return spec


def first_luts(geometry: Geometry, options: Options) -> dict[str, NDArray[Any]]:
    """(2^b,) LUTs that map nothing, by the name of the arrays that begin with them."""
    scope = plan_frame(geometry, options)
    luts = {"luts": identity_lut(scope.span)}
    if scope.display is not None:
        luts["display_luts"] = identity_lut(level_range(scope.turned, scope.display))
    return luts


def display_scope(scope: FramePlan) -> FramePlan | None:
    """The scope of the curve that only the features see, if there is one."""
    return None if scope.display is None else replace(scope, output=scope.display)


def _blends(scope: FramePlan) -> dict[str, NDArray[Any]]:
    grid, (width, height), (x, y) = scope.mapped_tiles(), rect_size(scope.mapped), scope.origin
    tables: dict[str, NDArray[Any]] = {}
    for axis, size, tile_size, tiles, origin in (
        ("x", width, grid.tile_width, grid.columns, x),
        ("y", height, grid.tile_height, grid.rows, y),
    ):
        table = interpolation_table(size, tile_size, tiles, origin)
        shares = np.stack([table.rest, table.weight], axis=1)
        tables |= {f"edges_{axis}": table.edges, f"blend_{axis}": shares}
    return tables


def _fixed_luts(scope: FramePlan, output: Geometry) -> dict[str, NDArray[Any]]:
    span = level_range(scope.turned, output)
    return {"plain": rescale_lut(span), "unmapped": identity_lut(span)}


def _byte_scratch(scope: FramePlan) -> Spec:
    parts, columns, rows = plan_histogram(scope).grid
    spec: Spec = {
        "totals": ((REPLICAS, LEVELS), np.uint32),
        "counters": ((columns * rows + 1,), np.uint32),
    }
    if scope.tile_counts is not None:
        spec["partials"] = ((rows, columns, parts, LEVELS), np.uint32)
    return spec


def _word_scratch(scope: FramePlan) -> Spec:
    _, columns, rows = plan_count(scope).grid
    parts = all_parts(scope, int(plan_count(scope).numbers[2]))
    spec: Spec = {"partials": ((rows, columns, parts, scope.levels), np.uint32)}
    if scope.checked:
        spec["found"] = ((2,), np.uint32)
    if scope.tile_counts is not None:
        spec["tiles"] = ((rows, columns, scope.levels), np.uint32)
    return spec
