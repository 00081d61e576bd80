"""Kernels that build LUTs from histograms (spec 2, 3, 4, 8, 9).

A LUT maps levels low..high of the frame to out_low..out_high; levels outside map as `low` or `high`.
Histograms are clamped: they count nothing outside low..high.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Counts = NDArray[np.uint32]
Lut = NDArray[Any]
Range = tuple[int, int, int, int]
"""low, high, out_low, out_high."""

NO_LIMIT = 1 << 62


@njit(nogil=True, cache=True)
def equalize_lut(bins: Counts, levels: Range, rescale: Lut, lut: Lut) -> None:
    """Write the LUT (2^b,) uint8 or uint16 of global equalisation of `bins` (2^b,) uint32.

    The LUT of a constant frame is `rescale`, which changes the bit depth only.
    """
    low, high, out_low, out_high = levels
    # Slices from `low`: indices start at 0, so Numba skips the negative-index check.
    counts, inner = bins[low : high + 1], lut[low : high + 1]
    first = 0
    while counts[first] == 0:
        first += 1
    rest = np.int64(0)
    for level in range(first + 1, counts.size):
        rest += np.int64(counts[level])
    if rest == 0:
        lut[:] = rescale
        return
    top = np.float32(out_high - out_low)
    scale = top / np.float32(rest)
    total = np.int64(0)
    for level in range(counts.size):
        if level > first:
            total += np.int64(counts[level])
        inner[level] = out_low + _level(np.float32(total) * scale, top)
    _extend(lut, low, high)


@njit(nogil=True, cache=True, parallel=True)
def clahe_luts(
    tiles: Counts, limit: int, scale: np.float32, levels: Range, cumulative: NDArray[np.int32], luts: Lut
) -> None:
    """Write the LUTs of contrast-limited equalisation of every tile.

    tiles : (rows, columns, 2^b) uint32; (1, 1, 2^b) for Mode.CLIPPED
    limit : largest count of a bin, 0 for no clipping
    scale : `tables.lut_scale` of a tile
    cumulative : (bands, 2^b) int32, scratch, a row for each band of tiles
    luts : (rows, columns, 2^b) uint8 or uint16
    """
    columns, bands = tiles.shape[1], cumulative.shape[0]
    count = tiles.shape[0] * columns
    for band in prange(bands):
        for tile in range(count * band // bands, count * (band + 1) // bands):
            row, column = tile // columns, tile % columns
            _clahe_lut(tiles[row, column], limit, scale, levels, cumulative[band], luts[row, column])


@njit(nogil=True, cache=True)
def stretch_lut(bins: Counts, levels: Range, rescale: Lut, lut: Lut) -> None:
    """Write a linear LUT from the 0.1st to the 99.9th percentile; `rescale` if both are the same level."""
    low, high, out_low, out_high = levels
    pixels = np.int64(0)
    for level in range(low, high + 1):
        pixels += np.int64(bins[level])
    first, last = _percentile(bins, low, pixels), _percentile(bins, low, 999 * pixels)
    if first == last:
        lut[:] = rescale
        return
    scale = np.float32(out_high - out_low) / np.float32(last - first)
    for level in range(lut.size):
        above = min(max(level - first, 0), last - first)
        lut[level] = out_low + _level(np.float32(above) * scale, np.float32(out_high - out_low))


@njit(nogil=True, cache=True)
def gate_strength(bins: Counts, low: int, high: int) -> Any:
    """Return the strength of the gate, 0 to 65536, of clamped `bins` (2^b,) (spec 7)."""
    levels, pixels = high - low + 1, np.int64(0)
    for level in range(low, high + 1):
        pixels += np.int64(bins[level])
    total = below = np.int64(0)
    for level in range(levels):
        below += np.int64(bins[low + level])
        total += abs(levels * below - pixels * (level + 1))
    distance = (total // levels) * 65536 // (levels * pixels)
    return min(max((distance - 1966) * 65536 // 4588, 0), 65536)


@njit(nogil=True, cache=True)
def gate_luts(identity: Lut, strength: int, luts: Lut) -> None:
    """Move `luts` (rows, columns, 2^b) towards `identity` (2^b,), in place (spec 7)."""
    for row in range(luts.shape[0]):
        for column in range(luts.shape[1]):
            lut = luts[row, column]
            for level in range(lut.size):
                mixed = np.int64(identity[level]) * (65536 - strength) + np.int64(lut[level]) * strength
                lut[level] = (mixed + 32768) >> 16


@njit(nogil=True, cache=True)
def smooth_luts(smoothed: NDArray[np.float32], own: Lut, weight: np.float32, luts: Lut) -> None:
    """smoothed = (1 - weight) * smoothed + weight * own; luts = smoothed, rounded half to even (spec 6)."""
    rest = np.float32(np.float32(1) - weight)
    for k in range(smoothed.size):
        previous = np.float32(rest * smoothed[k])
        smoothed[k] = np.float32(previous + np.float32(weight * np.float32(own[k])))
        luts[k] = np.int32(np.rint(smoothed[k]))


@njit(nogil=True)
def _percentile(bins: Counts, low: int, thousandths: np.int64) -> int:
    """Return the smallest level whose cumulative count is at least `thousandths` / 1000 pixels."""
    level, total = low, np.int64(bins[low])
    while 1000 * total < thousandths:
        level += 1
        total += np.int64(bins[level])
    return level


@njit(nogil=True)
def _clahe_lut(
    bins: Counts, limit: int, scale: np.float32, levels: Range, cumulative: NDArray[np.int32], lut: Lut
) -> None:
    low, high, out_low, out_high = levels
    inner, top = lut[low : high + 1], np.float32(out_high - out_low)
    _accumulate_clipped(bins[low : high + 1], limit, cumulative)
    for level in range(inner.size):
        inner[level] = np.int32(out_low + _level(np.float32(cumulative[level]) * scale, top))
    _extend(lut, low, high)


@njit(nogil=True)
def _accumulate_clipped(counts: Counts, limit: int, cumulative: NDArray[np.int32]) -> None:
    """Write cumulative counts, clipped at the limit; the excess is redistributed to all levels."""
    limit_count = np.int64(limit if limit > 0 else NO_LIMIT)
    excess = np.int64(0)
    for level in range(counts.size):
        excess += max(np.int64(counts[level]) - limit_count, np.int64(0))
    share, remainder = excess // counts.size, excess % counts.size
    total = np.int64(0)
    for level in range(counts.size):
        total += share + min(np.int64(counts[level]), limit_count)
        cumulative[level] = total
    # The remainder: one count for every step-th level; each raises all cumulative counts after it.
    step = counts.size // remainder if remainder > 0 else 0
    for index in range(remainder):
        for level in range(index * step, (index + 1) * step):
            cumulative[level] += np.int32(index + 1)
    for level in range(remainder * step, counts.size):
        cumulative[level] += np.int32(remainder)


@njit(nogil=True)
def _level(value: np.float32, top: np.float32) -> np.int32:
    """Round half to even and saturate at `top`."""
    return np.int32(min(np.rint(value), top))


@njit(nogil=True)
def _extend(lut: Lut, low: int, high: int) -> None:
    """Map levels outside low..high as `low` and `high`."""
    lut[:low] = lut[low]
    lut[high + 1 :] = lut[high]
