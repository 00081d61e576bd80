"""Kernels for the statistics of a raw frame: V plane, histograms of cells, noise energies (spec 16.2)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.adaptive import CELLS
from lumaflow.cpu.histogram import _count_row

Bytes = NDArray[np.uint8]
Levels = NDArray[Any]
Counts = NDArray[np.uint32]
Rect = tuple[int, int, int, int]

LUMA_HALF = 1 << 13


@njit(nogil=True, cache=True, parallel=True)
def value_and_luma(
    pixels: Bytes, rect: Rect, channels: int, red_first: bool, value: Bytes, sums: NDArray[np.int64]
) -> None:
    """Write the maximum of the colours to `value`, and the sum of the luma of each band of rows to `sums`.

    pixels : (H, channels * W) uint8
    rect : left, top, right, bottom of the pixels to read
    value : (bottom - top, right - left) uint8
    """
    left, top, right, bottom = rect
    bands, height = sums.size, bottom - top
    for band in prange(bands):
        total = np.int64(0)
        for y in range(height * band // bands, height * (band + 1) // bands):
            row = pixels[top + y, channels * left : channels * right]
            if channels == 4:
                total += _value_row(row, 4, red_first, value[y])
            else:
                total += _value_row(row, 3, red_first, value[y])
        sums[band] = total


@njit(nogil=True, cache=True, parallel=True)
def look_up_plane(plane: Levels, lut: Bytes, rect: Rect, out: Bytes) -> None:
    """Write lut[plane] inside the rectangle to `out` (bottom - top, right - left) uint8."""
    left, top, right, bottom = rect
    for y in prange(bottom - top):
        row, levels = plane[top + y, left:right], out[y]
        for x in range(levels.size):
            levels[x] = lut[row[x]]


@njit(nogil=True, cache=True, parallel=True)
def count_cells(
    plane: Bytes,
    origin: tuple[int, int],
    bounds_x: NDArray[np.int32],
    bounds_y: NDArray[np.int32],
    partials: Counts,
    cells: Counts,
) -> None:
    """Compute the histogram of every cell: cells (16, 16, 256), partials (16, 4, 256) scratch.

    origin : x, y of the first counted pixel of `plane`
    """
    x0, y0 = origin
    for i in prange(CELLS):
        counts = partials[i]
        for j in range(CELLS):
            counts[:] = 0
            for y in range(y0 + bounds_y[i], y0 + bounds_y[i + 1]):
                row = plane[y, x0 + bounds_x[j] : x0 + bounds_x[j + 1]]
                _count_row(row, counts[0], counts[1], counts[2], counts[3])
            cell = cells[i, j]
            for level in range(256):
                cell[level] = counts[0, level] + counts[1, level] + counts[2, level] + counts[3, level]


@njit(nogil=True, cache=True)
def remap_cells(cells: Counts, lut: Bytes) -> None:
    """Count level v of every cell as lut[v], in place."""
    moved = np.zeros(256, np.uint32)
    for i in range(CELLS):
        for j in range(CELLS):
            moved[:] = 0
            for level in range(256):
                moved[lut[level]] += cells[i, j, level]
            cells[i, j] = moved


@njit(nogil=True, cache=True)
def sum_cells(cells: Counts, bins: NDArray[Any]) -> None:
    """Sum the cells to `bins` (256,) uint32 or int64."""
    bins[:] = 0
    for i in range(CELLS):
        for j in range(CELLS):
            for level in range(256):
                bins[level] += cells[i, j, level]


@njit(nogil=True, cache=True, parallel=True)
def count_noise(plane: Bytes, origin: tuple[int, int], size: tuple[int, int], energies: Counts) -> None:
    """Count the blocks of 8 x 8 pixels by mean level and Laplacian energy (spec 16.2).

    plane : statistics plane, uint8
    origin, size : x, y and width, height of the counted pixels
    energies : (bands, 16, 256)
    """
    (x0, y0), (width, height) = origin, size
    rows, columns = max((height - 13) // 16 + 1, 0), max((width - 13) // 16 + 1, 0)
    bands = energies.shape[0]
    for band in prange(bands):
        counts = energies[band]
        counts[:] = 0
        for i in range(rows * band // bands, rows * (band + 1) // bands):
            for j in range(columns):
                energy, mean = _block(plane, x0 + 16 * j + 4, y0 + 16 * i + 4)
                if energy > 0 and 2 <= mean < 240:
                    counts[mean >> 4, min(energy >> 4, 255)] += np.uint32(1)


@njit(nogil=True)
def _value_row(row: Bytes, step: int, red_first: bool, value: Bytes) -> Any:
    total = np.int32(0)
    for x in range(value.size):
        first, green, third = (
            np.int32(row[step * x]),
            np.int32(row[step * x + 1]),
            np.int32(row[step * x + 2]),
        )
        value[x] = np.uint8(max(first, max(green, third)))
        blue, red = (third, first) if red_first else (first, third)
        total += np.int32(4899 * red + 9617 * green + 1868 * blue + LUMA_HALF) >> np.int32(14)
    return np.int64(total)


@njit(nogil=True)
def _block(plane: Bytes, left: int, top: int) -> tuple[Any, Any]:
    """Return the sum of the absolute Laplacian [1 -2 1] x [1 -2 1] of a block, and its mean level."""
    energy, total = np.int32(0), np.int32(0)
    for y in range(top, top + 8):
        above, row, below = plane[y - 1], plane[y], plane[y + 1]
        for x in range(left, left + 8):
            outer = np.int32(above[x - 1]) - 2 * np.int32(above[x]) + np.int32(above[x + 1])
            outer += np.int32(below[x - 1]) - 2 * np.int32(below[x]) + np.int32(below[x + 1])
            inner = np.int32(row[x - 1]) - 2 * np.int32(row[x]) + np.int32(row[x + 1])
            energy += abs(outer - 2 * inner)
            total += np.int32(row[x])
    return energy, total >> 6
