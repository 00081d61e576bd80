"""The heat map: how much contrast each tile has (spec 7, 13)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def measure_tiles(
    tiles: NDArray[np.uint32], deviation: NDArray[np.float64], distance: NDArray[np.int64]
) -> None:
    """Spread of every tile, and its distance from a flat histogram.

    tiles : (rows, columns, 256) uint32
    deviation : (rows, columns) float64, population standard deviation in grey levels
    distance : (rows, columns) int64, mean distance to the uniform CDF in 1/65536
    """
    for row in range(tiles.shape[0]):
        for column in range(tiles.shape[1]):
            deviation[row, column] = _deviation(tiles[row, column])
            distance[row, column] = _distance(tiles[row, column])


@njit(nogil=True)
def _deviation(bins: NDArray[np.uint32]) -> np.float64:
    pixels = first = second = np.int64(0)
    for level in range(256):
        count = np.int64(bins[level])
        pixels += count
        first += count * level
        second += count * level * level
    # n*S2 - S1^2 leaves int64 from 12 million pixels a tile on; the spec asks for fp64 here.
    variance = np.float64(pixels) * np.float64(second) - np.float64(first) * np.float64(first)
    return np.float64(np.sqrt(max(variance, 0.0)) / np.float64(pixels))


@njit(nogil=True)
def _distance(bins: NDArray[np.uint32]) -> np.int64:
    pixels = np.int64(0)
    for level in range(256):
        pixels += np.int64(bins[level])
    total = cumulative = np.int64(0)
    for level in range(256):
        cumulative += np.int64(bins[level])
        total += abs(256 * cumulative - pixels * (level + 1))
    return (total // 256) * 65536 // (256 * pixels)
