"""Mapping a plane through one LUT, or through a grid of LUTs blended between tile centres (spec 2, 4.5).

Levels are uint8 or uint16, those of the plane and those of the LUTs each on their own.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Levels = NDArray[Any]
Words = NDArray[Any]
"""uint32 that hold four uint8, or uint64 that hold four uint16."""
Window = tuple[int, int, int, int]
"""left, top, right, bottom: the pixels that are mapped."""


@njit(nogil=True, cache=True, parallel=True)
def apply_lut(luma: Levels, lut: Levels, window: Window, out: Levels) -> None:
    """`out` = `lut`[`luma`] inside the window: planes (H, W), lut (2^b,)."""
    left, top, right, bottom = window
    for y in prange(top, bottom):
        row, levels = luma[y, left:right], out[y, left:right]
        for x in range(levels.size):
            levels[x] = lut[row[x]]


@njit(nogil=True, cache=True, parallel=True)
def pack_luts(luts: Levels, bits: Any, packed: Words) -> None:
    """Put the four LUTs between which a pixel lies side by side, so that one look-up finds all four.

    luts : (rows, columns, 2^b) uint8 or uint16
    bits : of one level of `luts`, in the type of `packed`
    packed : (rows + 1, columns + 1, 2^b) words, one table for every rectangle between tile centres;
        from the lowest end: upper left, upper right, lower left, lower right
    """
    rows, columns = luts.shape[:2]
    for place in prange((rows + 1) * (columns + 1)):
        row, column = place // (columns + 1), place % (columns + 1)
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
    packed: Words,
    bits: Any,
    edges_x: NDArray[np.int32],
    weight_x: NDArray[np.float32],
    rest_x: NDArray[np.float32],
    edges_y: NDArray[np.int32],
    weight_y: NDArray[np.float32],
    rest_y: NDArray[np.float32],
    window: Window,
    words: Words,
    out: Levels,
) -> None:
    """CLAHE's bilinear mapping of a plane, inside the window.

    luma, out : (H, W)
    packed, bits : the LUTs, from `pack_luts`
    edges, weight, rest : the tables of both axes, from `tables.blend`
    words : (bands, W) of packed's type, scratch, a row for each band of the plane
    """
    left, top, right, bottom = window
    height, bands = bottom - top, words.shape[0]
    for band in prange(bands):
        for y in range(top + height * band // bands, top + height * (band + 1) // bands):
            tables = packed[np.searchsorted(edges_y, y, side="right") - 1]
            for column in range(tables.shape[0]):
                first, last = max(edges_x[column], left), min(edges_x[column + 1], right)
                if first < last:
                    _look_up(luma[y, first:last], tables[column], words[band, first:last])
            _blend_row(
                words[band, left:right],
                bits,
                weight_x[left:right],
                rest_x[left:right],
                weight_y[y],
                rest_y[y],
                out[y, left:right],
            )


@njit(nogil=True)
def _pack(
    upper_left: Levels, upper_right: Levels, lower_left: Levels, lower_right: Levels, bits: Any, table: Words
) -> None:
    word = table.dtype.type
    for level in range(table.size):
        upper = word(upper_right[level]) << bits | word(upper_left[level])
        lower = word(lower_right[level]) << bits | word(lower_left[level])
        table[level] = word(lower) << bits << bits | word(upper)


@njit(nogil=True)
def _look_up(row: Levels, table: Words, words: Words) -> None:
    """Apart from `_blend_row`: look-ups go one by one, what follows them in vectors."""
    for x in range(row.size):
        words[x] = table[row[x]]


@njit(nogil=True)
def _blend_row(
    words: Words,
    bits: Any,
    weight: NDArray[np.float32],
    rest: NDArray[np.float32],
    down: np.float32,
    up: np.float32,
    out: Levels,
) -> None:
    mask = np.int32((1 << np.int64(bits)) - 1)
    for x in range(out.size):
        word = words[x]
        upper = _level(word, mask) * rest[x] + _level(word >> bits, mask) * weight[x]
        word = words.dtype.type(word >> bits >> bits)
        lower = _level(word, mask) * rest[x] + _level(word >> bits, mask) * weight[x]
        out[x] = np.int32(np.rint(upper * up + lower * down))


@njit(nogil=True)
def _level(word: Any, mask: np.int32) -> np.float32:
    """The lowest level as float32; by way of int32, which converts in one instruction."""
    return np.float32(np.int32(np.int32(word) & mask))
