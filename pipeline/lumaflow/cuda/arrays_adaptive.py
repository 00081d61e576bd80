"""Names, shapes and dtypes of the device arrays of the adaptive modes (docs/spec.md 16, 17)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.adaptive import (
    CELLS,
    STEPS,
    TILES,
    VECTOR,
    Dehaze,
    HazeMap,
    TileAxis,
    cell_axis,
    gain_steps,
    illumination_kernel,
    tile_axis,
)
from lumaflow.cuda import launch_adaptive
from lumaflow.cuda.frame_plan import FramePlan, rect_size
from lumaflow.formats import Chroma

Spec = dict[str, tuple[tuple[int, ...], type[np.generic]]]
"""Name -> (shape, dtype)."""

MEASURES, STATE, DECISION, REPORT = 13, 7, 21, 13
"""Sizes of the structs of kernels/adaptive.cuh, in 4-byte numbers."""

CUT_BLOCKS = 64
REPLICAS, BANDS = 16, 16
HAZE_SUMS = TILES * TILES * 5 + 256 + 4 * 256 + 3
HAZE_STATE = 4 + 2 * TILES * TILES
VEC_PX = 4


def adaptive_tables(plan: FramePlan) -> dict[str, NDArray[Any]]:
    """Constant tables of the kernels of an adaptive mode."""
    left, top, right, bottom = plan.mapped_rect
    x, y, *_ = plan.histogram_rect
    width, height = rect_size(plan.histogram_rect)
    haze_map = HazeMap.of(width, height)
    tables: dict[str, NDArray[Any]] = {"gain_steps": gain_steps(), "illumination": illumination_kernel()}
    axes = (
        ("x", left, right, x, width, haze_map.tile_columns),
        ("y", top, bottom, y, height, haze_map.tile_rows),
    )
    for axis, first, last, origin, counted, tiles in axes:
        cell, weight = cell_axis(last, counted, origin)
        tables[f"cells_{axis}"] = _padded(np.stack([cell, weight], axis=1)[first:]).astype(np.uint32)
        tile = tile_axis(last, counted, origin, tiles)
        tables[f"haze_{axis}"] = _padded(_tile_table(tile)[first:])
    return tables


def adaptive_scratch(plan: FramePlan) -> Spec:
    """Device arrays of one lane: temporary ones, and the state that the frames of the lane share."""
    parts = launch_adaptive.cell_parts(plan)
    colors, (width, height) = plan.components, rect_size(plan.mapped_rect)
    spec: Spec = {
        "cells": ((CELLS * CELLS, parts, 256), np.uint32),
        "lumas": ((CELLS * CELLS, parts), np.uint32),
        "cell_totals": ((REPLICAS, 256), np.uint32),
        "energies": ((BANDS, 256), np.uint32),
        "whole": ((256,), np.uint32),
        "measures": ((MEASURES,), np.int32),
        "means": ((STEPS,), np.float32),
        "cut_terms": ((CUT_BLOCKS,), np.float64),
        "cut_blocks": ((CUT_BLOCKS, 256), np.uint32),
        "state": ((STATE,), np.int32),
        "decision": ((DECISION,), np.int32),
        "smooth": ((VECTOR,), np.float32),
        "mapping": ((VECTOR,), np.int32),
        "used": ((VECTOR,), np.int32),
        "saturation": ((256,), np.int32),
        "haze_gains": ((TILES * TILES,), np.float32),
    }
    if plan.adaptive.dehaze is not Dehaze.NONE:
        haze_map = HazeMap.of(*rect_size(plan.histogram_rect))
        spec |= {
            "haze_maps": ((2 + (3 if plan.has_color else 1), haze_map.rows, haze_map.columns), np.uint16),
            "haze_sums": ((HAZE_SUMS,), np.uint32),
            "haze_state": ((HAZE_STATE,), np.float32),
        }
    if plan.adaptive.denoise:
        samples = -(-width // VEC_PX) * VEC_PX * colors
        spec |= {name: ((height, samples), np.int16) for name in ("filtered", "history")}
    if plan.oriented.layout.chroma is not Chroma.NONE:
        rows, columns = chroma_samples(plan)
        spec |= {"chroma_gains": ((rows, columns), np.int16), "chroma_haze": ((rows, columns), np.float32)}
    return spec


def chroma_samples(plan: FramePlan) -> tuple[int, int]:
    """Rows and columns of the chroma samples of a frame."""
    oriented = plan.oriented
    packed = oriented.layout.chroma is Chroma.PACKED
    return oriented.height if packed else -(-oriented.height // 2), -(-oriented.width // 2)


def _tile_table(axis: TileAxis) -> NDArray[np.uint32]:
    """(size, 4): first and second tile, and the bits of their weights."""
    weights = [part.view(np.uint32) for part in (axis.rest, axis.weight)]
    return np.stack([axis.first.astype(np.uint32), axis.second.astype(np.uint32), *weights], axis=1)


def _padded(table: NDArray[Any]) -> NDArray[Any]:
    """Repeat the last row until the size is a multiple of the pixels of a thread."""
    return np.pad(table, [(0, -len(table) % VEC_PX), (0, 0)], mode="edge")
