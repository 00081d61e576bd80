"""Counting grey levels: the whole plane and every tile in one pass (spec 1, 4.1)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

COUNTERS = 4
"""Histograms kept side by side for one tile, so that a run of equal pixels does not wait for itself."""


@njit(nogil=True, cache=True, parallel=True)
def count_tiles(
    luma: NDArray[np.uint8],
    tile_size: tuple[int, int],
    source_x: NDArray[np.int32],
    source_y: NDArray[np.int32],
    partials: NDArray[np.uint32],
    inside: NDArray[np.uint32],
    tiles: NDArray[np.uint32],
) -> None:
    """Histograms of the tiles of a plane.

    luma : (H, W) uint8
    tile_size : (width, height) in pixels
    source_x, source_y : the reflected padding, as in `tables.TileGrid`
    partials : (rows, columns, COUNTERS, 256) uint32, scratch
    inside : (rows, columns, 256) uint32, counts of the real pixels alone: they sum to the plane's bins
    tiles : (rows, columns, 256) uint32, counts with the padding, for CLAHE and the heat map
    """
    height, width = luma.shape
    tile_width, tile_height = tile_size
    rows, columns = tiles.shape[:2]
    for tile in prange(rows * columns):
        row, column = tile // columns, tile % columns
        left, top = column * tile_width, row * tile_height
        right, bottom = min(left + tile_width, width), min(top + tile_height, height)
        counts, padded = partials[row, column], tiles[row, column]
        counts[:] = 0
        for y in range(top, bottom):
            _count_row(luma[y, left:right], counts[0], counts[1], counts[2], counts[3])
        for level in range(256):
            padded[level] = counts[0, level] + counts[1, level] + counts[2, level] + counts[3, level]
        inside[row, column] = padded
        for y in range(top, top + tile_height):
            for x in range(max(left, width) if y < height else left, left + tile_width):
                padded[luma[source_y[y], source_x[x]]] += np.uint32(1)


@njit(nogil=True, cache=True)
def sum_tiles(inside: NDArray[np.uint32], bins: NDArray[np.uint32]) -> None:
    """Add the (rows, columns, 256) counts of `inside` up to the plane's `bins` : (256,) uint32."""
    bins[:] = 0
    for row in range(inside.shape[0]):
        for column in range(inside.shape[1]):
            for level in range(256):
                bins[level] += inside[row, column, level]


@njit(nogil=True)
def _count_row(
    row: NDArray[np.uint8],
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    third: NDArray[np.uint32],
    fourth: NDArray[np.uint32],
) -> None:
    """Count the pixels of a row, in turns into four histograms."""
    one = np.uint32(1)
    even = row.size // 4 * 4
    for x in range(0, even, 4):
        first[row[x]] += one
        second[row[x + 1]] += one
        third[row[x + 2]] += one
        fourth[row[x + 3]] += one
    for x in range(even, row.size):
        first[row[x]] += one
