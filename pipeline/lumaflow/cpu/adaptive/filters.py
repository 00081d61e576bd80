"""Noise filters on rows of working samples (spec 16.7): a spatial one, and a recursive temporal one."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import STILL_WEIGHT

Samples = NDArray[np.int16]
Ints = NDArray[np.int32]


@njit(nogil=True)
def filter_row(
    above: Samples,
    row: Samples,
    below: Samples,
    step: int,
    channels: int,
    limit: int,
    slope: int,
    limits: Samples,
    pull: Samples,
    out: Samples,
) -> None:
    """Write one row of a pass of the spatial filter: each neighbour pulls the sample, up to a limit.

    above, row, below : interleaved samples of the rows at -step, 0 and +step, clamped to the frame
    limit, slope : the limit is limit + (sample * slope >> 15)
    limits, pull : scratch of the size of the row
    """
    size, offset = row.size, step * channels
    inner = size - 2 * offset
    if inner > 0:
        middle, limit_row, sums = row[offset : offset + inner], limits[:inner], pull[:inner]
        _limits(middle, limit, slope, limit_row)
        _pull_above(
            above[:inner], above[offset : offset + inner], above[2 * offset :], middle, limit_row, sums
        )
        _pull_below(
            below[:inner], below[offset : offset + inner], below[2 * offset :], middle, limit_row, sums
        )
        _pull_sides(row[:inner], row[2 * offset :], middle, limit_row, sums, out[offset : offset + inner])
    width = size // channels
    left_end = step if inner > 0 else width
    right_start = width - step if inner > 0 else width
    _border(above, row, below, step, channels, limit, slope, 0, left_end, out)
    _border(above, row, below, step, channels, limit, slope, right_start, width, out)


@njit(nogil=True)
def add_columns(row: Samples, history: Samples, differences: Ints, levels: Ints) -> None:
    """Add row - history and row to the sums of each column."""
    for x in range(row.size):
        level = np.int32(row[x])
        differences[x] += level - np.int32(history[x])
        levels[x] += level


@njit(nogil=True)
def block_weights(
    differences: Ints,
    levels: Ints,
    rows: int,
    channels: int,
    noise: int,
    slope: int,
    spatial: int,
    motion: Ints,
    limits: Ints,
    scales: Ints,
) -> None:
    """Write, for each sample of a row of 8 x 8 blocks, the weight of motion, the limit and its reciprocal."""
    width = differences.size // channels
    for left in range(0, width, 8):
        start, end = left * channels, min(left + 8, width) * channels
        difference, level = np.int32(0), np.int32(0)
        for x in range(start, end):
            difference += differences[x]
            level += levels[x]
        count = np.int32(rows * (end - start))
        mean, light = abs(difference) // count, level // count
        sigma = noise + ((light * slope) >> 15)
        block_limit = (3 * sigma >> 3) + 24
        weight = min(
            max(np.int32((mean - block_limit) * (65536 // block_limit) >> 8), np.int32(0)), np.int32(256)
        )
        limit = ((sigma * (1024 - spatial)) >> 8) + 64
        for x in range(start, end):
            motion[x], limits[x], scales[x] = weight, limit, 65536 // limit


@njit(nogil=True)
def recurse_row(row: Samples, history: Samples, motion: Ints, limits: Ints, scales: Ints) -> None:
    """Move the history towards the row by the weight of each sample; write it to both."""
    for x in range(row.size):
        old = np.int32(history[x])
        difference = np.int32(np.int32(row[x]) - old)
        size = max(difference, np.int32(-difference))
        weight = np.int32(np.int32(np.int32(size - limits[x]) * scales[x]) >> np.int32(8))
        weight = min(max(weight, motion[x]), np.int32(256))
        weight = np.int32(
            np.int32(STILL_WEIGHT) + np.int32(np.int32(np.int32(256 - STILL_WEIGHT) * weight) >> np.int32(8))
        )
        moved = np.int16(
            old + np.int32(np.int32(np.int32(difference * weight) + np.int32(128)) >> np.int32(8))
        )
        history[x] = moved
        row[x] = moved


@njit(nogil=True)
def _limits(row: Samples, limit: int, slope: int, limits: Samples) -> None:
    if slope == 0:
        limits[:] = np.int16(limit)
    else:
        for x in range(row.size):
            limits[x] = np.int16(
                np.int32(limit) + np.int32(np.int32(np.int32(row[x]) * np.int32(slope)) >> np.int32(15))
            )


@njit(nogil=True)
def _pull_above(
    left: Samples, up: Samples, right: Samples, row: Samples, limits: Samples, pull: Samples
) -> None:
    """pull = the differences of three neighbours of one row with weights 1, 2, 1, up to the limit."""
    for x in range(pull.size):
        level, limit = row[x], limits[x]
        a, b, c = np.int16(left[x] - level), np.int16(up[x] - level), np.int16(right[x] - level)
        a = min(max(a, np.int16(-limit)), limit)
        b = min(max(b, np.int16(-limit)), limit)
        c = min(max(c, np.int16(-limit)), limit)
        pull[x] = np.int16(a + b + b + c)


@njit(nogil=True)
def _pull_below(
    left: Samples, up: Samples, right: Samples, row: Samples, limits: Samples, pull: Samples
) -> None:
    for x in range(pull.size):
        level, limit = row[x], limits[x]
        a, b, c = np.int16(left[x] - level), np.int16(up[x] - level), np.int16(right[x] - level)
        a = min(max(a, np.int16(-limit)), limit)
        b = min(max(b, np.int16(-limit)), limit)
        c = min(max(c, np.int16(-limit)), limit)
        pull[x] = np.int16(pull[x] + a + b + b + c)


@njit(nogil=True)
def _pull_sides(
    left: Samples, right: Samples, row: Samples, limits: Samples, pull: Samples, out: Samples
) -> None:
    """out = row + (all differences + 8 >> 4), with the neighbours of the row itself at weight 2."""
    for x in range(pull.size):
        level, limit = row[x], limits[x]
        a, c = np.int16(left[x] - level), np.int16(right[x] - level)
        a = min(max(a, np.int16(-limit)), limit)
        c = min(max(c, np.int16(-limit)), limit)
        total = np.int16(pull[x] + a + a + c + c)
        out[x] = np.int16(level + (np.int16(total + 8) >> 4))


@njit(nogil=True)
def _border(
    above: Samples,
    row: Samples,
    below: Samples,
    step: int,
    channels: int,
    limit: int,
    slope: int,
    first: int,
    last: int,
    out: Samples,
) -> None:
    """The columns first..last-1, whose neighbours are clamped to the row."""
    width = row.size // channels
    for x in range(first, last):
        left, right = max(x - step, 0) * channels, min(x + step, width - 1) * channels
        for c in range(channels):
            level = np.int32(row[x * channels + c])
            most = np.int32(limit + ((level * slope) >> 15))
            total = np.int32(0)
            for part in range(3):
                line = above if part == 0 else (row if part == 1 else below)
                weight = 2 if part == 1 else 1
                total += weight * _within(np.int32(line[left + c]) - level, most)
                total += weight * _within(np.int32(line[right + c]) - level, most)
                if part != 1:
                    total += 2 * _within(np.int32(line[x * channels + c]) - level, most)
            out[x * channels + c] = np.int16(level + ((total + 8) >> 4))


@njit(nogil=True)
def _within(difference: np.int32, limit: np.int32) -> np.int32:
    return min(max(difference, np.int32(-limit)), limit)
