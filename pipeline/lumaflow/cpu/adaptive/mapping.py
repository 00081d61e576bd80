"""Kernels that build the mapping of a frame, and smooth it in time (spec 16.5, 16.6).

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
Constants and the functions of other modules are compiled in: after a change of them remove the `__pycache__`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import (
    FULL_MEAN,
    GAINS,
    LEVEL,
    MAX_STRETCH,
    NONE_MEAN,
    STRETCH_FULL,
    STRETCH_NONE,
    STRETCH_SPAN,
    STRETCH_WALL_FULL,
    STRETCH_WALL_NONE,
)
from lumaflow.cpu.adaptive.levels import moments_of, percentile_of
from lumaflow.cpu.adaptive.local_gains import sum_levels, write_local_gains
from lumaflow.cpu.adaptive.tone_curve import find_gain, lit_bins, make_curve

F = np.float32
Counts = NDArray[np.uint32]
Wide = NDArray[np.int64]
Vector = NDArray[np.int32]


@njit(nogil=True, cache=True)
def build_mapping(
    cells: Counts,
    bins: Wide,
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

    cells, bins : (16, 16, 256) histograms of V, and (256,) their sum
    luma_sum : sum of the luma
    noise : at level 0, and its rise, in 1/128 level
    lift : `adaptive.Lift`
    haze : strength of the haze removal in use
    scratch : (3, 16, 16, 64) int64
    vector : (VECTOR,) int32
    """
    pixels, levels, distance, constant = moments_of(bins)
    low16, high16 = percentile_of(bins, pixels, 1), percentile_of(bins, pixels, 199)
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
        counted = lit_bins(bins, pixels, black, white16, noise[0])
        gain = find_gain(counted, black, white, noise[0], mean_value, mean_luma, target, dark_half, steps)
    more, pivot = _stretch(low16, high16, mean_luma)
    added = F(F(more - F(1)) * stretch)
    if part > F(0) and gain > F(1):
        sum_levels(cells, black, scratch)
        write_local_gains(scratch, kernel, make_curve(gain, white), part, added, vector)
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
def smooth_mapping(state: NDArray[np.float32], own: Vector, weight: np.float32, mapping: Vector) -> None:
    """state = (1 - weight) * state + weight * own; mapping = state rounded half to even."""
    rest = F(F(1) - weight)
    for k in range(state.size):
        state[k] = F(F(rest * state[k]) + F(weight * F(own[k])))
        mapping[k] = np.int32(np.rint(state[k]))


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
