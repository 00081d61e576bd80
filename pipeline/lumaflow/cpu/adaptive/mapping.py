"""Kernels that build the mapping of a frame, and detect scene cuts (spec 16.4, 16.5, 16.6).

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
The constants are compiled in: a change of `lumaflow.adaptive` needs another compilation of this file.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import (
    BRIGHT_LEVEL,
    CELLS,
    FULL_MEAN,
    GAINS,
    KNOTS,
    LEVEL,
    MAX_GAIN,
    MAX_NOISE_OUT,
    MAX_STRETCH,
    NONE_MEAN,
    STEPS,
    STRETCH_FULL,
    STRETCH_NONE,
    STRETCH_SPAN,
    STRETCH_WALL_FULL,
    STRETCH_WALL_NONE,
    WHITE_TARGET,
)

F = np.float32
Counts = NDArray[np.uint32]
Wide = NDArray[np.int64]
Vector = NDArray[np.int32]
Curve = tuple[np.float32, np.float32, np.float32, np.float32]
"""White, end of its linear part, steepness of its shoulder, slope up to white."""


@njit(nogil=True, cache=True)
def build_mapping(
    cells: Counts,
    luma_sum: int,
    noise: tuple[int, int],
    lift: int,
    strength: np.float32,
    target: tuple[np.float32, np.float32],
    dark_half: bool,
    haze: np.float32,
    kernel: Wide,
    steps: NDArray[np.float32],
    scratch: Wide,
    vector: Vector,
) -> None:
    """Write the mapping of a frame.

    cells : (16, 16, 256) histograms of V
    luma_sum : sum of the luma
    noise : at level 0, and its rise, in 1/128 level
    lift : `adaptive.Lift`
    haze : strength of the haze removal in use
    scratch : (3, 16, 16, 64) int64
    vector : (VECTOR,) int32
    """
    bins = _sum_bins(cells)
    pixels, levels, distance, constant = _moments(bins)
    low16, high16 = _percentile(bins, pixels, 1), _percentile(bins, pixels, 199)
    black16, white16 = min(max(low16, 0), 128), max(high16, 128)
    black = 4 * black16 if 4 * black16 < 3 * white16 else 0
    mean_value, mean_luma = F(F(levels) / F(pixels)), F(F(luma_sum) / F(pixels))
    gate = min(max((distance // 256 * 65536 // (256 * pixels) - 1966) * 65536 // 4588, 0), 65536)
    part = _strength(lift, strength, mean_luma, gate)
    stretch = _stretch_strength(lift, strength, part, haze, high16 - low16)
    if constant:
        part, stretch = F(0), F(0)
    gain = F(1)
    white = F(F(max(8 * white16 - black, 512)) * F(1 / 128))
    if part > F(0):
        counted = _lit_bins(bins, pixels, black, white16, noise[0])
        gain = _gain(counted, black, white, noise[0], mean_value, mean_luma, target, dark_half, steps)
    more, pivot = _stretch(low16, high16, mean_luma)
    added = F(F(more - F(1)) * stretch)
    if part > F(0) and gain > F(1):
        _sum_levels(cells, black, scratch)
        _local_gains(scratch, kernel, _curve(gain, white), part, added, vector)
    else:
        vector[:GAINS] = np.int32(np.rint(F(F(1024) * F(F(1) + added))))
    total = F(F(F(1) + F(F(gain - F(1)) * part)) + added)
    offset = F(F(F(black) * part) * min(F(gain - F(1)), F(1)))
    offset = F(offset + F(F(added * pivot) / F(F(1) + added)))
    saturation = min(max(F(F(total - F(1.5)) * F(0.4)), F(0)), F(1))
    vector[GAINS] = np.int32(np.rint(offset))
    vector[GAINS + 1] = noise[0]
    vector[GAINS + 2] = noise[1]
    vector[GAINS + 3] = np.int32(np.rint(F(total * F(1024))))
    vector[GAINS + 4] = np.int32(np.rint(F(saturation * F(256))))
    vector[GAINS + 5] = np.int32(np.rint(F(part * F(1024))))
    vector[GAINS + 6] = np.int32(np.rint(F(stretch * F(1024))))
    vector[GAINS + 7] = white16


@njit(nogil=True, cache=True)
def measure_levels(cells: Counts) -> tuple[int, int, int]:
    """Return the mean level plus 8, the darkest and the white level of a frame, in 1/16 level."""
    bins = _sum_bins(cells)
    pixels, levels, _, _ = _moments(bins)
    low16, high16 = _percentile(bins, pixels, 1), _percentile(bins, pixels, 199)
    return levels * 16 // pixels + 128, low16, max(high16, 128)


@njit(nogil=True, cache=True)
def smooth_mapping(state: NDArray[np.float32], own: Vector, weight: np.float32, mapping: Vector) -> None:
    """state = (1 - weight) * state + weight * own; mapping = state rounded half to even."""
    rest = F(F(1) - weight)
    for k in range(state.size):
        state[k] = F(F(rest * state[k]) + F(weight * F(own[k])))
        mapping[k] = np.int32(np.rint(state[k]))


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
def _sum_bins(cells: Counts) -> Wide:
    bins = np.zeros(256, np.int64)
    for i in range(CELLS):
        for j in range(CELLS):
            for level in range(256):
                bins[level] += np.int64(cells[i, j, level])
    return bins


@njit(nogil=True)
def _moments(bins: Wide) -> tuple[Any, Any, Any, Any]:
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
def _percentile(bins: Wide, pixels: int, part: int) -> Any:
    """Return the level below which part/200 of the pixels are, in 1/16 level, linear inside a bin."""
    below = np.int64(0)
    for level in range(256):
        if 200 * (below + bins[level]) >= part * pixels:
            return 16 * level - 8 + (part * pixels - 200 * below) * 16 // (200 * bins[level])
        below += bins[level]
    return 4088


@njit(nogil=True)
def _strength(lift: int, strength: np.float32, mean_luma: np.float32, gate: int) -> np.float32:
    """Return the strength of the lowlight mapping: fixed, or by the mean level and the gate."""
    if lift == 0:
        return F(0)
    if lift == 1:
        return strength
    part = min(max(F(F(F(NONE_MEAN) - mean_luma) / F(NONE_MEAN - FULL_MEAN)), F(0)), F(1))
    part = F(part * F(F(2) - part))
    return F(F(part * F(F(gate) * F(1 / 65536))) * strength)


@njit(nogil=True)
def _stretch_strength(
    lift: int, strength: np.float32, part: np.float32, haze: np.float32, span: int
) -> np.float32:
    """Return the strength of the stretch of AUTO, by the spread of the levels in 1/16 level."""
    if lift != 2:
        return F(0)
    narrow = F(F(STRETCH_NONE - span) / F(STRETCH_NONE - STRETCH_FULL))
    textured = F(F(span - STRETCH_WALL_NONE) / F(STRETCH_WALL_FULL - STRETCH_WALL_NONE))
    stretch = min(max(min(narrow, textured), F(0)), F(1))
    return F(F(F(stretch * F(F(1) - part)) * F(F(1) - haze)) * strength)


@njit(nogil=True)
def _stretch(low16: int, high16: int, mean_luma: np.float32) -> tuple[np.float32, np.float32]:
    """Return the gain of the stretch, and the sample that it leaves unchanged: the mean, without clipping."""
    more = min(max(F(F(STRETCH_SPAN) / F(max(high16 - low16, 1))), F(1)), F(MAX_STRETCH))
    if more <= F(1):
        return F(1), F(0)
    above = F(more - F(1))
    least = F(F(F(F(8 * high16) * more) - F(32640)) / above)
    most = F(F(F(max(8 * low16, 0)) * more) / above)
    return more, min(max(F(mean_luma * F(LEVEL)), least), most)


@njit(nogil=True)
def _lit_bins(bins: Wide, pixels: int, black: int, white16: int, noise: int) -> Wide:
    """Return the bins whose mean level the gain is for: above the noise, and not as bright as white.

    All bins without black, then all bins, if these have less than 1/64 of the pixels.
    """
    lit = bins.copy()
    floor = 2 + (noise >> 8)
    for level in range(256):
        if max(LEVEL * level - black, 0) < LEVEL * floor:
            lit[level] = 0
    inner = lit.copy()
    for level in range(256):
        if level >= BRIGHT_LEVEL and 256 * level >= 15 * white16:
            inner[level] = 0
    if inner.sum() * 64 >= pixels:
        return inner
    return lit if lit.sum() * 64 >= pixels else bins


@njit(nogil=True)
def _gain(
    lit: Wide,
    black: int,
    white: np.float32,
    noise: int,
    mean_value: np.float32,
    mean_luma: np.float32,
    target: tuple[np.float32, np.float32],
    dark_half: bool,
    steps: NDArray[np.float32],
) -> np.float32:
    """Return the slope of the tone curve at black with which the mean level reaches its target."""
    count = lit.sum()
    ratio = min(max(F(mean_value / max(mean_luma, F(0.0625))), F(1)), F(1.6))
    goal = _linear_mean(lit, count, black, white)
    goal = min(max(goal, F(target[0] * ratio)), F(target[1] * ratio))
    if dark_half:
        count = _keep_dark_half(lit, count)
    cap = F(MAX_GAIN)
    if noise > 0:
        cap = min(cap, max(F(F(MAX_NOISE_OUT) / F(noise)), F(1)))
    gain, last = F(1), _mean_of(lit, count, black, _curve(F(1), white))
    if last < goal:
        gain = steps[STEPS - 1]
        for step in range(1, STEPS):
            mean = _mean_of(lit, count, black, _curve(steps[step], white))
            if mean >= goal:
                share = F(F(goal - last) / F(mean - last))
                gain = F(steps[step - 1] + F(F(steps[step] - steps[step - 1]) * share))
                break
            last = mean
            if steps[step] >= cap:  # the result is `cap` whatever follows
                gain = cap
                break
    return min(gain, cap)


@njit(nogil=True)
def _linear_mean(bins: Wide, count: int, black: int, white: np.float32) -> np.float32:
    """Return the mean level after a linear stretch to white."""
    total, scale = np.int64(0), F(F(WHITE_TARGET) / white)
    for level in range(256):
        value = F(F(max(LEVEL * level - black, 0)) * F(1 / 128))
        total += bins[level] * np.int64(np.rint(min(F(F(16) * F(value * scale)), F(4080))))
    return F(F(F(total) / F(count)) * F(0.0625))


@njit(nogil=True)
def _keep_dark_half(bins: Wide, count: int) -> int:
    """Reduce the bins to their darkest half, in place; return its pixels."""
    half = (count + 1) // 2
    left = half
    for level in range(256):
        bins[level] = min(bins[level], left)
        left -= bins[level]
    return half


@njit(nogil=True)
def _mean_of(bins: Wide, count: int, black: int, curve: Curve) -> np.float32:
    """Return the mean level after the curve; every level is rounded to 1/16."""
    total = np.int64(0)
    for level in range(256):
        if bins[level]:
            value = F(F(max(LEVEL * level - black, 0)) * F(1 / 128))
            total += bins[level] * np.int64(np.rint(F(F(16) * _value_of(curve, value))))
    return F(F(F(total) / F(count)) * F(0.0625))


@njit(nogil=True)
def _curve(gain: np.float32, white: np.float32) -> Curve:
    slope = F(F(gain * white) / F(255))
    end = F(1)
    if slope > F(1):
        end = F(F(0.5) / slope)
    return white, end, F(F(slope - F(0.5)) * F(2)), slope


@njit(nogil=True, inline="always")
def _value_of(curve: Curve, value: np.float32) -> np.float32:
    """Return the curve at a level: linear up to half of its output, then a rational shoulder to white."""
    white, end, steepness, slope = curve
    x = min(F(value / white), F(1))
    if slope <= F(1) or x <= end:
        return F(F(255) * F(slope * x))
    t = F(F(x - end) / F(F(1) - end))
    numerator = F(F(F(0.5) * steepness) * t)
    shoulder = F(F(0.5) + F(numerator / F(F(1) + F(F(steepness - F(1)) * t))))
    return F(F(255) * shoulder)


@njit(nogil=True)
def _sum_levels(cells: Counts, black: int, scratch: Wide) -> None:
    """Sum counts and levels of the cells in 32 bins, then blur both over the cells.

    scratch : (3, 16, 16, 64): sums (counts, then levels in 1/8), blurred over columns, blurred over both
    """
    sums, across, both = scratch[0], scratch[1], scratch[2]
    sums[:] = 0
    for i in range(CELLS):
        for j in range(CELLS):
            cell, parts = cells[i, j], sums[i, j]
            for level in range(256):
                count = np.int64(cell[level])
                if count:
                    value = max(LEVEL * level - black, 0)
                    parts[value >> 10] += count
                    parts[32 + (value >> 10)] += count * (value >> 4)
    for i in range(CELLS):
        for j in range(CELLS):
            left, right = sums[i, max(j - 1, 0)], sums[i, min(j + 1, CELLS - 1)]
            for z in range(64):
                across[i, j, z] = left[z] + 2 * sums[i, j, z] + right[z]
    for i in range(CELLS):
        above, below = across[max(i - 1, 0)], across[min(i + 1, CELLS - 1)]
        for j in range(CELLS):
            for z in range(64):
                both[i, j, z] = above[j, z] + 2 * across[i, j, z] + below[j, z]


@njit(nogil=True)
def _local_gains(
    scratch: Wide, kernel: Wide, curve: Curve, part: np.float32, added: np.float32, vector: Vector
) -> None:
    """Write the gain of every cell and knot from the local illumination."""
    sums, both = scratch[0], scratch[2]
    whole, near = np.zeros(64, np.int64), np.empty(64, np.int64)
    for i in range(CELLS):
        for j in range(CELLS):
            whole += sums[i, j]
    for i in range(CELLS):
        for j in range(CELLS):
            for z in range(64):
                near[z] = 1024 * both[i, j, z] + whole[z]
            top = F(0)
            for k in range(KNOTS):
                count, total = np.int64(1), np.int64(64 * k)
                for z in range(32):
                    count += near[z] * kernel[k, z]
                    total += near[32 + z] * kernel[k, z]
                light = max(F(F(F(total) / F(count)) * F(0.125)), F(0.5))
                gain = max(F(_value_of(curve, light) / light), F(1))
                if k > 0:
                    top = max(min(F(F(8 * k) * gain), F(256)), top)
                    gain = F(top / F(8 * k))
                gain = F(F(F(1) + F(F(gain - F(1)) * part)) + added)
                vector[(i * CELLS + j) * KNOTS + k] = np.int32(np.rint(F(F(1024) * gain)))
