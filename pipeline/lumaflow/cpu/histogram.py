"""Kernels for histograms: the whole plane, or a region, and every tile in one pass (spec 1, 4.1)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

PARTIALS = 4
"""Partial histograms of one 8-bit tile: with one, equal adjacent pixels would wait for each other's store."""

Levels = NDArray[Any]
"""uint8, or uint16 above 8 bits; a histogram has a bin for each level of the depth."""
Counts = NDArray[np.uint32]


@njit(nogil=True, cache=True, parallel=True)
def count_tiles(
    luma: Levels,
    origin: tuple[int, int],
    size: tuple[int, int],
    tile_size: tuple[int, int],
    source_x: NDArray[np.int32],
    source_y: NDArray[np.int32],
    partials: Counts,
    inside: Counts,
    tiles: Counts,
) -> None:
    """Compute the histograms of the tiles of a plane.

    luma : (H, W) uint8 or uint16, no value above the bit depth
    origin, size, tile_size : (x, y) and (width, height) of the counted pixels, and (width, height) of a tile
    source_x, source_y : the reflected padding, as in `tables.TileGrid`
    partials : (rows, columns, PARTIALS or 1, 2^b) uint32, scratch; not used with 1
    inside : (rows, columns, 2^b) uint32, counts without the padding; their sum is the histogram of the plane
    tiles : (rows, columns, 2^b) uint32, counts with the padding, for CLAHE and the heat map; can be `inside`
        without padding
    """
    end_x, end_y = origin[0] + size[0], origin[1] + size[1]
    tile_width, tile_height = tile_size
    rows, columns = tiles.shape[:2]
    for tile in prange(rows * columns):
        row, column = tile // columns, tile % columns
        left, top = origin[0] + column * tile_width, origin[1] + row * tile_height
        right, bottom = min(left + tile_width, end_x), min(top + tile_height, end_y)
        real, padded = inside[row, column], tiles[row, column]
        if partials.shape[2] == 1:
            real[:] = 0
            for y in range(top, bottom):
                for level in luma[y, left:right]:
                    real[level] += np.uint32(1)
        else:
            counts = partials[row, column]
            counts[:] = 0
            for y in range(top, bottom):
                _count_row(luma[y, left:right], counts[0], counts[1], counts[2], counts[3])
            for level in range(real.size):
                real[level] = counts[0, level] + counts[1, level] + counts[2, level] + counts[3, level]
        for level in range(real.size):
            padded[level] = real[level]
        for y in range(top, top + tile_height):
            for x in range(max(left, end_x) if y < end_y else left, left + tile_width):
                padded[luma[source_y[y - origin[1]], source_x[x - origin[0]]]] += np.uint32(1)


@njit(nogil=True, cache=True, parallel=True)
def sum_tiles(inside: Counts, bands: int, bins: Counts) -> None:
    """Sum the tiles of `inside` (rows, columns, 2^b) to the histogram `bins` (2^b,) uint32.

    bands : parts of the levels that are summed in parallel
    """
    for band in prange(bands):
        first, last = bins.size * band // bands, bins.size * (band + 1) // bands
        bins[first:last] = 0
        for row in range(inside.shape[0]):
            for column in range(inside.shape[1]):
                for level in range(first, last):
                    bins[level] += inside[row, column, level]


@njit(nogil=True, cache=True)
def clamp_bins(tiles: Counts, low: int, high: int) -> None:
    """Move the counts of levels outside low..high to `low` and `high` (spec 9): tiles (.., .., 2^b)."""
    for row in range(tiles.shape[0]):
        for column in range(tiles.shape[1]):
            bins = tiles[row, column]
            for level in range(low):
                bins[low] += bins[level]
                bins[level] = 0
            for level in range(high + 1, bins.size):
                bins[high] += bins[level]
                bins[level] = 0


@njit(nogil=True)
def _count_row(row: Levels, first: Counts, second: Counts, third: Counts, fourth: Counts) -> None:
    """Count the pixels of a row alternately in four histograms."""
    one = np.uint32(1)
    even = row.size // 4 * 4
    for x in range(0, even, 4):
        first[row[x]] += one
        second[row[x + 1]] += one
        third[row[x + 2]] += one
        fourth[row[x + 3]] += one
    for x in range(even, row.size):
        first[row[x]] += one
