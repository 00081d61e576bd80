"""From histograms to mappings (spec 2, 3, 4)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

TOP = np.float32(255)


@njit(nogil=True, cache=True)
def equalize_lut(bins: NDArray[np.uint32], lut: NDArray[np.uint8]) -> None:
    """Global equalisation: `bins` (256,) uint32 to a total, monotone `lut` (256,) uint8.

    A constant frame has nothing to equalise: its LUT is the identity.
    """
    first = 0
    while bins[first] == 0:
        first += 1
    pixels = np.int64(0)
    for level in range(256):
        pixels += bins[level]
    rest = pixels - np.int64(bins[first])
    scale = TOP / np.float32(rest if rest > 0 else 1)
    total = np.int64(0)
    for level in range(256):
        if level > first:
            total += bins[level]
        lut[level] = level if rest == 0 else _level(np.float32(total) * scale)


@njit(nogil=True, cache=True)
def clahe_luts(tiles: NDArray[np.uint32], limit: int, scale: np.float32, luts: NDArray[np.uint8]) -> None:
    """Contrast-limited equalisation of every tile.

    tiles : (rows, columns, 256) uint32; (1, 1, 256) for the global mode `clipped`
    limit : largest count of a bin, 0 for no clipping
    scale : `tables.lut_scale` of a tile
    luts : (rows, columns, 256) uint8
    """
    for row in range(tiles.shape[0]):
        for column in range(tiles.shape[1]):
            _clahe_lut(tiles[row, column], limit, scale, luts[row, column])


@njit(nogil=True)
def _clahe_lut(counts, limit, scale, lut):  # type: ignore[no-untyped-def]
    excess = np.int64(0)
    if limit > 0:
        for level in range(256):
            excess += max(np.int64(counts[level]) - limit, 0)
    share, remainder = excess // 256, excess % 256
    step = max(256 // max(remainder, 1), 1)
    total = np.int64(0)
    for level in range(256):
        count = np.int64(counts[level])
        if limit > 0:
            count = min(count, limit) + share
        if level % step == 0 and level // step < remainder:
            count += 1
        total += count
        lut[level] = _level(np.float32(total) * scale)


@njit(nogil=True)
def _level(value):  # type: ignore[no-untyped-def]
    """Round half to even and saturate to 8 bits."""
    return np.uint8(min(np.rint(value), TOP))
