"""From histograms to mappings (spec 2, 3, 4, 8, 9).

Levels of the frame that carry a picture, low..high, become levels shown_low..shown_high. Histograms are
folded: nothing lies outside low..high. LUTs are total: levels outside map as `low` or `high`.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Counts = NDArray[np.uint32]
Lut = NDArray[Any]
Range = tuple[int, int, int, int]
"""low, high, shown_low, shown_high."""


@njit(nogil=True, cache=True)
def equalize_lut(bins: Counts, levels: Range, plain: Lut, lut: Lut) -> None:
    """Global equalisation: `bins` (2^b,) uint32 to a total, monotone `lut` (2^b,) uint8 or uint16.

    A constant frame has nothing to equalise: its LUT is `plain`, which changes at most the depth.
    """
    low, high, shown_low, shown_high = levels
    first = low
    while bins[first] == 0:
        first += 1
    rest = np.int64(0)
    for level in range(first + 1, high + 1):
        rest += np.int64(bins[level])
    if rest == 0:
        lut[:] = plain
        return
    scale = np.float32(shown_high - shown_low) / np.float32(rest)
    total = np.int64(0)
    for level in range(low, high + 1):
        if level > first:
            total += np.int64(bins[level])
        lut[level] = shown_low + _level(np.float32(total) * scale, shown_high - shown_low)
    _extend(lut, low, high)


@njit(nogil=True, cache=True, parallel=True)
def clahe_luts(tiles: Counts, limit: int, scale: np.float32, levels: Range, luts: Lut) -> None:
    """Contrast-limited equalisation of every tile.

    tiles : (rows, columns, 2^b) uint32; (1, 1, 2^b) for the global mode `clipped`
    limit : largest count of a bin, 0 for no clipping
    scale : `tables.lut_scale` of a tile
    luts : (rows, columns, 2^b) uint8 or uint16
    """
    columns = tiles.shape[1]
    for tile in prange(tiles.shape[0] * columns):
        row, column = tile // columns, tile % columns
        _clahe_lut(tiles[row, column], limit, scale, levels, luts[row, column])


@njit(nogil=True, cache=True)
def stretch_lut(bins: Counts, levels: Range, plain: Lut, lut: Lut) -> None:
    """A straight line from the 0.1st to the 99.9th percentile; `plain` where these are one level."""
    low, high, shown_low, shown_high = levels
    pixels = np.int64(0)
    for level in range(low, high + 1):
        pixels += np.int64(bins[level])
    first, last = _percentile(bins, low, pixels), _percentile(bins, low, 999 * pixels)
    if first == last:
        lut[:] = plain
        return
    scale = np.float32(shown_high - shown_low) / np.float32(last - first)
    for level in range(lut.size):
        above = min(max(level - first, 0), last - first)
        lut[level] = shown_low + _level(np.float32(above) * scale, shown_high - shown_low)


@njit(nogil=True)
def _percentile(bins: Counts, low: int, thousandths: np.int64) -> int:
    """Smallest level up to which at least so many thousandths of a pixel lie."""
    level, total = low, np.int64(bins[low])
    while 1000 * total < thousandths:
        level += 1
        total += np.int64(bins[level])
    return level


@njit(nogil=True)
def _clahe_lut(bins: Counts, limit: int, scale: np.float32, levels: Range, lut: Lut) -> None:
    low, high, shown_low, shown_high = levels
    size = high - low + 1
    excess = np.int64(0)
    for level in range(low, high + 1):
        if 0 < limit < bins[level]:
            excess += np.int64(bins[level]) - limit
    share, remainder = excess // size, excess % size
    # The remainder goes to every step-th bin from the lowest on, one each.
    step = size // remainder if remainder > 0 else size
    given, following = 0, np.int64(low)
    total = np.int64(0)
    for level in range(low, high + 1):
        total += share + (limit if 0 < limit < bins[level] else np.int64(bins[level]))
        if level == following and given < remainder:
            total += 1
            given += 1
            following += step
        lut[level] = shown_low + _level(np.float32(total) * scale, shown_high - shown_low)
    _extend(lut, low, high)


@njit(nogil=True)
def _level(value: np.float32, top: int) -> np.int32:
    """Round half to even and saturate at `top`."""
    return np.int32(min(np.rint(value), np.float32(top)))


@njit(nogil=True)
def _extend(lut: Lut, low: int, high: int) -> None:
    """Levels outside the range map as its ends."""
    lut[:low] = lut[low]
    lut[high + 1 :] = lut[high]
