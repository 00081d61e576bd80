"""The tone curve, and the gain with which the mean level reaches its target (spec 16.5).

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import BRIGHT_LEVEL, LEVEL, MAX_GAIN, MAX_NOISE_OUT, STEPS, WHITE_TARGET

F = np.float32
Wide = NDArray[np.int64]
Curve = tuple[np.float32, np.float32, np.float32, np.float32]
"""White, end of its linear part, steepness of its shoulder, slope up to white."""


@njit(nogil=True)
def lit_bins(bins: Wide, pixels: int, black: int, white16: int, noise: int) -> Wide:
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
def find_gain(
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
    gain, last = F(1), _mean_of(lit, count, black, make_curve(F(1), white))
    if last < goal:
        gain = steps[STEPS - 1]
        for step in range(1, STEPS):
            mean = _mean_of(lit, count, black, make_curve(steps[step], white))
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
            total += bins[level] * np.int64(np.rint(F(F(16) * value_of(curve, value))))
    return F(F(F(total) / F(count)) * F(0.0625))


@njit(nogil=True)
def make_curve(gain: np.float32, white: np.float32) -> Curve:
    slope = F(F(gain * white) / F(255))
    end = F(1)
    if slope > F(1):
        end = F(F(0.5) / slope)
    return white, end, F(F(slope - F(0.5)) * F(2)), slope


@njit(nogil=True, inline="always")
def value_of(curve: Curve, value: np.float32) -> np.float32:
    """Return the curve at a level: linear up to half of its output, then a rational shoulder to white."""
    white, end, steepness, slope = curve
    x = min(F(value / white), F(1))
    if slope <= F(1) or x <= end:
        return F(F(255) * F(slope * x))
    t = F(F(x - end) / F(F(1) - end))
    numerator = F(F(F(0.5) * steepness) * t)
    shoulder = F(F(0.5) + F(numerator / F(F(1) + F(F(steepness - F(1)) * t))))
    return F(F(255) * shoulder)
