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
    rest = np.int64(0)
    for level in range(first + 1, 256):
        rest += np.int64(bins[level])
    scale = TOP / np.float32(rest if rest > 0 else 1)
    total = np.int64(0)
    for level in range(256):
        if level > first:
            total += np.int64(bins[level])
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
def _clahe_lut(bins: NDArray[np.uint32], limit: int, scale: np.float32, lut: NDArray[np.uint8]) -> None:
    excess = np.int64(0)
    for level in range(256):
        if 0 < limit < bins[level]:
            excess += np.int64(bins[level]) - limit
    share, remainder = excess // 256, excess % 256
    # The remainder goes to every step-th bin from 0 on, one each.
    step = 256 // remainder if remainder > 0 else 256
    total = np.int64(0)
    for level in range(256):
        total += share + (limit if 0 < limit < bins[level] else np.int64(bins[level]))
        if level % step == 0 and level // step < remainder:
            total += 1
        lut[level] = _level(np.float32(total) * scale)


@njit(nogil=True)
def _level(value: np.float32) -> np.uint8:
    """Round half to even and saturate to 8 bits."""
    return np.uint8(min(np.rint(value), TOP))
