"""Names, shapes and dtypes of the device arrays of a lane, from geometry and options.

This module allocates nothing; `lumaflow.cuda.memory` allocates once, when the lane opens.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cuda import launch, launch_u16
from lumaflow.cuda.arrays_adaptive import REPORT, adaptive_scratch, adaptive_tables
from lumaflow.cuda.frame_plan import FramePlan, plan_frame, rect_size
from lumaflow.cuda.launch import REPLICAS
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.cuda.launch_u16 import parts_with_padding
from lumaflow.cuda.lut_adjuster import CUT_BINS, CUT_BLOCKS, lut_specs
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
    """Constant tables that the kernels read, on the host; they are uploaded once, when the lane opens."""
    plan = plan_frame(geometry, options)
    tables: dict[str, NDArray[Any]] = {}
    if plan.tile_counts is not None:
        grid = plan.counted_tiles()
        tables |= {"source_x": grid.source_x, "source_y": grid.source_y}
    if options.equalization.mode is Mode.CLAHE:
        tables |= _interpolation_tables(plan)
    if plan.is_u16:
        tables |= {f"u16_{name}": table for name, table in _fixed_luts(plan, plan.output).items()}
    if plan.display is not None:
        tables |= {f"display_{name}": table for name, table in _fixed_luts(plan, plan.display).items()}
    if plan.has_chroma_gain:
        tables["chroma_lut"] = chroma_lut(geometry, options.equalization.chroma_gain)
    if options.hog is not None:
        tables["hog_gamma"] = hog_gamma()
    if options.lbp is not None:
        tables["lbp_labels"] = lbp_labels(options.lbp.mapping)
    if options.equalization.mode.adaptive:
        tables |= adaptive_tables(plan)
    if plan.gates:
        tables |= {f"{name}_identity": lut for name, lut in initial_luts(geometry, options).items()}
    return tables


def scratch_arrays(
    geometry: Geometry, options: Options, launch_config: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> Spec:
    """Temporary device arrays of one lane, used by one frame at a time, and the state that its frames share.

    They must be zero before the first frame; each step leaves them ready for the next one.
    """
    plan = plan_frame(geometry, options, launch_config)
    spec = _u16_scratch(plan) if plan.is_u16 else _u8_scratch(plan)
    spec |= _adjuster_scratch(plan)
    return spec | adaptive_scratch(plan) if options.equalization.mode.adaptive else spec


def result_arrays(geometry: Geometry, options: Options) -> Spec:
    """Device arrays of one frame other than its pixels; a HOG array of size 0 is omitted.

    `luma` is the 8-bit input of HOG and LBP for interleaved formats and for high bit depth. `out_of_range`
    holds the number of samples above the bit depth and the highest of them. `report`: kernels/adaptive.cuh;
    `scene_cut`: kernels/scene_cut.cu.
    """
    plan = plan_frame(geometry, options)
    (columns, rows), output = options.equalization.grid, plan.output
    lut_shape = (rows, columns, plan.levels)
    spec: Spec = {"bins": ((plan.levels,), np.uint32), "luts": (lut_shape, output.dtype.type)}
    if options.equalization.mode.adaptive:
        spec["report"] = ((REPORT,), np.int32)
    if plan.smooths:
        spec["scene_cut"] = ((1,), np.int32)
    if plan.display is not None:
        spec["display_luts"] = (lut_shape, np.uint8)
    if plan.needs_luma:
        spec["luma"] = (plan.oriented.shape[:2], np.uint8)
    if plan.checks_range:
        spec["out_of_range"] = ((2,), np.uint32)
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


def initial_luts(geometry: Geometry, options: Options) -> dict[str, NDArray[Any]]:
    """(2^bits,) identity LUTs, by the name of the array that they initialize."""
    plan = plan_frame(geometry, options)
    luts = {"luts": identity_lut(plan.level_range)}
    if plan.display is not None:
        luts["display_luts"] = identity_lut(level_range(plan.oriented, plan.display))
    return luts


def display_plan(plan: FramePlan) -> FramePlan | None:
    """The plan of the tone mapper for the 8-bit luma of HOG and LBP, if there is one."""
    return None if plan.display is None else replace(plan, output=plan.display)


def _interpolation_tables(plan: FramePlan) -> dict[str, NDArray[Any]]:
    grid, (width, height), (x, y) = plan.mapped_tiles(), rect_size(plan.mapped_rect), plan.origin
    tables: dict[str, NDArray[Any]] = {}
    for axis, size, tile_size, tiles, origin in (
        ("x", width, grid.tile_width, grid.columns, x),
        ("y", height, grid.tile_height, grid.rows, y),
    ):
        table = interpolation_table(size, tile_size, tiles, origin)
        weights = np.stack([table.rest, table.weight], axis=1)
        tables |= {f"edges_{axis}": table.edges, f"blend_{axis}": weights}
    return tables


def _fixed_luts(plan: FramePlan, output: Geometry) -> dict[str, NDArray[Any]]:
    levels = level_range(plan.oriented, output)
    return {"rescale_lut": rescale_lut(levels), "identity_lut": identity_lut(levels)}


def _u8_scratch(plan: FramePlan) -> Spec:
    parts, columns, rows = launch.plan_histogram(plan).grid
    spec: Spec = {
        "totals": ((REPLICAS, LEVELS), np.uint32),
        "counters": ((columns * rows + 1,), np.uint32),
    }
    if plan.tile_counts is not None:
        spec["partials"] = ((rows, columns, parts, LEVELS), np.uint32)
    return spec


def _adjuster_scratch(plan: FramePlan) -> Spec:
    """Scratch and state of the gate and of smoothing; empty without both."""
    spec: Spec = {"gate_strength": ((1,), np.int32)} if plan.gates else {}
    if not plan.smooths:
        return spec
    blocks = (CUT_BLOCKS, CUT_BINS)
    spec |= {"cut_counts": (blocks, np.uint32), "cut_counter": ((1,), np.uint32)}
    spec |= {
        "cut_before": (blocks, np.uint32),
        "cut_valid": ((1,), np.int32),
        "cut_decision": ((2,), np.int32),
    }
    columns, rows = plan.options.equalization.grid
    shape = (rows, columns, plan.levels)
    for name, dtype in lut_specs(plan).items():
        spec |= {f"{name}_smoothed": (shape, np.float32)}
        spec |= {f"{name}_stored": (shape, dtype)}
    if plan.display is not None:
        spec["display_luts_used"] = (shape, np.uint8)
    return spec


def _u16_scratch(plan: FramePlan) -> Spec:
    histogram = launch_u16.plan_histogram(plan)
    _, columns, rows = histogram.grid
    parts = parts_with_padding(plan, int(histogram.scalars[2]))
    spec: Spec = {"partials": ((rows, columns, parts, plan.levels), np.uint32)}
    if plan.checks_range:
        spec["range_scratch"] = ((2,), np.uint32)
    if plan.tile_counts is not None:
        spec["tile_histograms"] = ((rows, columns, plan.levels), np.uint32)
    return spec
