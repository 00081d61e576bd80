"""Kernels that measure the levels of a frame, and the distance of two frames (spec 16.4, 16.6)."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Counts = NDArray[np.uint32]
Wide = NDArray[np.int64]


@njit(nogil=True, cache=True)
def measure_levels(bins: Wide) -> tuple[int, int, int]:
    """Return the mean level plus 8, the darkest and the white level of a frame, in 1/16 level.

    bins : (256,) histogram of V
    """
    pixels, levels, _, _ = moments_of(bins)
    low16, high16 = percentile_of(bins, pixels, 1), percentile_of(bins, pixels, 199)
    return levels * 16 // pixels + 128, low16, max(high16, 128)


@njit(nogil=True, cache=True)
def cut_distance(cells: Counts, before: Counts, width: int, height: int, shift: int) -> float:
    """Return the mean distance of the 8 x 8 blocks of two frames (spec 6), with bins of 2 ** shift levels."""
    total, blocks = 0.0, 0
    bins, old = np.empty(32, np.int64), np.empty(32, np.int64)
    for i in range(8):
        for j in range(8):
            rows = (i + 1) * height // 8 - i * height // 8
            columns = (j + 1) * width // 8 - j * width // 8
            if rows == 0 or columns == 0:
                continue
            _block_bins(cells, i, j, shift, bins)
            _block_bins(before, i, j, shift, old)
            common = 0.0
            for k in range(32):
                common += np.sqrt(np.float64(bins[k] * old[k]))
            total += np.sqrt(max(0.0, 1.0 - common / np.float64(rows * columns)))
            blocks += 1
    return total / blocks


@njit(nogil=True)
def _block_bins(cells: Counts, i: int, j: int, shift: int, bins: Wide) -> None:
    """Count a block, the union of 2 x 2 cells, in 32 bins; levels above the last bin count in it."""
    bins[:] = 0
    for row in range(2 * i, 2 * i + 2):
        for column in range(2 * j, 2 * j + 2):
            for level in range(256):
                bins[min(level >> shift, 31)] += np.int64(cells[row, column, level])


@njit(nogil=True)
def moments_of(bins: Wide) -> tuple[Any, Any, Any, Any]:
    """Return the pixels, the sum of levels, the distance of spec 7, and True for a constant frame."""
    pixels, levels, most = np.int64(0), np.int64(0), np.int64(0)
    for level in range(256):
        pixels += bins[level]
        levels += bins[level] * level
        most = max(most, bins[level])
    distance, below = np.int64(0), np.int64(0)
    for level in range(256):
        below += bins[level]
        distance += abs(256 * below - pixels * (level + 1))
    return pixels, levels, distance, most == pixels


@njit(nogil=True)
def percentile_of(bins: Wide, pixels: int, part: int) -> Any:
    """Return the level below which part/200 of the pixels are, in 1/16 level, linear inside a bin."""
    below = np.int64(0)
    for level in range(256):
        if 200 * (below + bins[level]) >= part * pixels:
            return 16 * level - 8 + (part * pixels - 200 * below) * 16 // (200 * bins[level])
        below += bins[level]
    return 4088
