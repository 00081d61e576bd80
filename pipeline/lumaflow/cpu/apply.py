"""Kernels that apply one LUT to a plane, or a grid of LUTs interpolated between tile centres (spec 2, 4.5).

The levels of the plane and those of the LUTs are uint8 or uint16, independent of each other.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Levels = NDArray[Any]
PackedLevels = NDArray[Any]
"""uint32 with four packed uint8 levels, or uint64 with four uint16 levels."""
Rect = tuple[int, int, int, int]
"""left, top, right, bottom of the pixels to map."""


@njit(nogil=True, cache=True, parallel=True)
def apply_lut(luma: Levels, lut: Levels, rect: Rect, out: Levels) -> None:
    """Write out = lut[luma] inside the rectangle: planes (H, W), lut (2^b,)."""
    left, top, right, bottom = rect
    for y in prange(top, bottom):
        row, levels = luma[y, left:right], out[y, left:right]
        for x in range(levels.size):
            levels[x] = lut[row[x]]


@njit(nogil=True, cache=True, parallel=True)
def pack_luts(luts: Levels, bits: Any, packed: PackedLevels) -> None:
    """Pack the four LUTs around a pixel into one, so that one look-up returns all four levels.

    luts : (rows, columns, 2^b) uint8 or uint16
    bits : bits of one level of `luts`, with the dtype of `packed`
    packed : (rows + 1, columns + 1, 2^b), one table for every rectangle between tile centres; from the low
        bits: upper left, upper right, lower left, lower right
    """
    rows, columns = luts.shape[:2]
    for cell in prange((rows + 1) * (columns + 1)):
        row, column = cell // (columns + 1), cell % (columns + 1)
        above, below = max(row - 1, 0), min(row, rows - 1)
        left, right = max(column - 1, 0), min(column, columns - 1)
        _pack(
            luts[above, left],
            luts[above, right],
            luts[below, left],
            luts[below, right],
            bits,
            packed[row, column],
        )


@njit(nogil=True, cache=True, parallel=True)
def apply_clahe(
    luma: Levels,
    packed: PackedLevels,
    bits: Any,
    edges_x: NDArray[np.int32],
    weight_x: NDArray[np.float32],
    rest_x: NDArray[np.float32],
    edges_y: NDArray[np.int32],
    weight_y: NDArray[np.float32],
    rest_y: NDArray[np.float32],
    rect: Rect,
    looked_up: PackedLevels,
    out: Levels,
) -> None:
    """Apply the LUTs of CLAHE to a plane with bilinear interpolation, inside the rectangle.

    luma, out : (H, W)
    packed, bits : from `pack_luts`
    edges, weight, rest : of both axes, from `tables.interpolation_table`
    looked_up : (bands, W) of the dtype of `packed`, scratch, a row for each band of the plane
    """
    left, top, right, bottom = rect
    height, bands = bottom - top, looked_up.shape[0]
    for band in prange(bands):
        for y in range(top + height * band // bands, top + height * (band + 1) // bands):
            tables = packed[np.searchsorted(edges_y, y, side="right") - 1]
            for column in range(tables.shape[0]):
                first, last = max(edges_x[column], left), min(edges_x[column + 1], right)
                if first < last:
                    _look_up(luma[y, first:last], tables[column], looked_up[band, first:last])
            _interpolate_row(
                looked_up[band, left:right],
                bits,
                weight_x[left:right],
                rest_x[left:right],
                weight_y[y],
                rest_y[y],
                out[y, left:right],
            )


@njit(nogil=True)
def _pack(
    upper_left: Levels,
    upper_right: Levels,
    lower_left: Levels,
    lower_right: Levels,
    bits: Any,
    table: PackedLevels,
) -> None:
    pack = table.dtype.type
    for level in range(table.size):
        upper = pack(upper_right[level]) << bits | pack(upper_left[level])
        lower = pack(lower_right[level]) << bits | pack(lower_left[level])
        table[level] = pack(lower) << bits << bits | pack(upper)


@njit(nogil=True)
def _look_up(row: Levels, table: PackedLevels, looked_up: PackedLevels) -> None:
    """Separate from `_interpolate_row`, which the compiler can vectorise without the look-ups."""
    for x in range(row.size):
        looked_up[x] = table[row[x]]


@njit(nogil=True)
def _interpolate_row(
    looked_up: PackedLevels,
    bits: Any,
    weight: NDArray[np.float32],
    rest: NDArray[np.float32],
    weight_below: np.float32,
    weight_above: np.float32,
    out: Levels,
) -> None:
    mask = np.int32((1 << np.int64(bits)) - 1)
    for x in range(out.size):
        packed = looked_up[x]
        upper = _level(packed, mask) * rest[x] + _level(packed >> bits, mask) * weight[x]
        packed = looked_up.dtype.type(packed >> bits >> bits)
        lower = _level(packed, mask) * rest[x] + _level(packed >> bits, mask) * weight[x]
        out[x] = np.int32(np.rint(upper * weight_above + lower * weight_below))


@njit(nogil=True)
def _level(packed: Any, mask: np.int32) -> np.float32:
    """Return the lowest packed level as float32; via int32, which converts in one instruction."""
    return np.float32(np.int32(np.int32(packed) & mask))
