"""Mapping a plane through one LUT, or through a grid of LUTs blended between tile centres (spec 2, 4.5)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

BYTE = np.uint32(255)


@njit(nogil=True, cache=True, parallel=True)
def apply_lut(luma: NDArray[np.uint8], lut: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """`out` = `lut`[`luma`]: planes (H, W) uint8, lut (256,) uint8."""
    for y in prange(luma.shape[0]):
        row, levels = luma[y], out[y]
        for x in range(levels.size):
            levels[x] = lut[row[x]]


@njit(nogil=True, cache=True)
def pack_luts(luts: NDArray[np.uint8], packed: NDArray[np.uint32]) -> None:
    """Put the four LUTs between which a pixel lies side by side, so that one look-up finds all four.

    luts : (rows, columns, 256) uint8
    packed : (rows + 1, columns + 1, 256) uint32, one table for every rectangle between tile centres;
        from the lowest byte: upper left, upper right, lower left, lower right
    """
    rows, columns = luts.shape[:2]
    for row in range(rows + 1):
        above, below = max(row - 1, 0), min(row, rows - 1)
        for column in range(columns + 1):
            left, right = max(column - 1, 0), min(column, columns - 1)
            for level in range(256):
                packed[row, column, level] = (
                    np.uint32(luts[above, left, level])
                    | np.uint32(luts[above, right, level]) << np.uint32(8)
                    | np.uint32(luts[below, left, level]) << np.uint32(16)
                    | np.uint32(luts[below, right, level]) << np.uint32(24)
                )


@njit(nogil=True, cache=True, parallel=True)
def apply_clahe(
    luma: NDArray[np.uint8],
    packed: NDArray[np.uint32],
    edges_x: NDArray[np.int32],
    weight_x: NDArray[np.float32],
    rest_x: NDArray[np.float32],
    edges_y: NDArray[np.int32],
    weight_y: NDArray[np.float32],
    rest_y: NDArray[np.float32],
    words: NDArray[np.uint32],
    out: NDArray[np.uint8],
) -> None:
    """CLAHE's bilinear mapping of a plane.

    luma, out : (H, W) uint8
    packed : the LUTs, from `pack_luts`
    edges, weight, rest : the tables of both axes, from `tables.blend`
    words : (bands, W) uint32, scratch, a row for each band of the plane
    """
    height, bands = luma.shape[0], words.shape[0]
    for band in prange(bands):
        for y in range(height * band // bands, height * (band + 1) // bands):
            tables = packed[np.searchsorted(edges_y, y, side="right") - 1]
            for column in range(tables.shape[0]):
                first, last = edges_x[column], edges_x[column + 1]
                _look_up(luma[y, first:last], tables[column], words[band, first:last])
            _blend_row(words[band], weight_x, rest_x, weight_y[y], rest_y[y], out[y])


@njit(nogil=True)
def _look_up(row: NDArray[np.uint8], table: NDArray[np.uint32], words: NDArray[np.uint32]) -> None:
    """Apart from `_blend_row`: look-ups go one by one, what follows them in vectors."""
    for x in range(row.size):
        words[x] = table[row[x]]


@njit(nogil=True)
def _blend_row(
    words: NDArray[np.uint32],
    weight: NDArray[np.float32],
    rest: NDArray[np.float32],
    down: np.float32,
    up: np.float32,
    out: NDArray[np.uint8],
) -> None:
    for x in range(out.size):
        word = words[x]
        upper = _byte(word) * rest[x] + _byte(word >> np.uint32(8)) * weight[x]
        lower = _byte(word >> np.uint32(16)) * rest[x] + _byte(word >> np.uint32(24)) * weight[x]
        out[x] = np.uint8(np.int32(np.rint(upper * up + lower * down)))


@njit(nogil=True)
def _byte(word: np.uint32) -> np.float32:
    """The lowest byte as float32; by way of int32, which converts in one instruction."""
    return np.float32(np.int32(word & BYTE))
