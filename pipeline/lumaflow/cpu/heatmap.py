"""The heat map: the contrast of each tile (spec 7, 13)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


@njit(nogil=True, cache=True, parallel=True)
def measure_tiles(
    tiles: NDArray[np.uint32], shift: int, deviation: NDArray[np.float64], distance: NDArray[np.int64]
) -> None:
    """Compute the standard deviation of every tile, and its distance to a uniform histogram.

    tiles : (rows, columns, 2^b) uint32
    shift : b - 8
    deviation : (rows, columns) float64, population standard deviation in 8-bit gray levels
    distance : (rows, columns) int64, mean distance to the uniform CDF in 1/65536
    """
    columns = tiles.shape[1]
    for tile in prange(tiles.shape[0] * columns):
        row, column = tile // columns, tile % columns
        deviation[row, column] = _deviation(tiles[row, column], shift)
        distance[row, column] = _distance(tiles[row, column])


@njit(nogil=True)
def _deviation(bins: NDArray[np.uint32], shift: int) -> np.float64:
    pixels = first = second = np.int64(0)
    for value in range(bins.size):
        count, level = np.int64(bins[value]), value >> shift
        pixels += count
        first += count * level
        second += count * level * level
    # n*S2 - S1^2 overflows int64 above 12 million pixels a tile, so spec 13 requires float64.
    variance = np.float64(pixels) * np.float64(second) - np.float64(first) * np.float64(first)
    return np.float64(np.sqrt(max(variance, 0.0)) / np.float64(pixels))


@njit(nogil=True)
def _distance(bins: NDArray[np.uint32]) -> np.int64:
    levels, pixels = bins.size, np.int64(0)
    for level in range(levels):
        pixels += np.int64(bins[level])
    total = cumulative = np.int64(0)
    for level in range(levels):
        cumulative += np.int64(bins[level])
        total += abs(levels * cumulative - pixels * (level + 1))
    return (total // levels) * 65536 // (levels * pixels)
