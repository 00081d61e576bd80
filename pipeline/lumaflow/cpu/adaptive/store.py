"""Rows of working samples times their gains, stored as levels (spec 16.8)."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import KNOTS, MAX_CHROMA_HAZE_GAIN
from lumaflow.cpu.adaptive.haze_removal import luma_of

F = np.float32
Samples = NDArray[np.int16]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Levels = NDArray[Any]


@njit(nogil=True)
def write_knots(gains: Ints, cell: int, weight: int, knots: Ints) -> None:
    """Interpolate the gains of two rows of cells: knots (16 * 33,)."""
    above, below = gains[cell].reshape(-1), gains[cell + 1].reshape(-1)
    for k in range(knots.size):
        knots[k] = (above[k] * (256 - weight) + below[k] * weight + 128) >> 8


@njit(nogil=True)
def write_gains(
    row: Samples,
    components: int,
    black: int,
    knots: Ints,
    cells: Ints,
    weights: Ints,
    gains: Ints,
    values: Ints,
) -> None:
    """Write V less black, and the gain of each pixel, interpolated over two cells and two knots."""
    if components == 3:
        for x in range(values.size):
            highest = max(np.int32(row[3 * x]), max(np.int32(row[3 * x + 1]), np.int32(row[3 * x + 2])))
            values[x] = max(np.int32(highest - black), np.int32(0))
    else:
        for x in range(values.size):
            values[x] = max(np.int32(np.int32(row[x]) - black), np.int32(0))
    for x in range(values.size):
        value, weight = values[x], weights[x]
        index = np.uintp(np.int32(cells[x] * np.int32(KNOTS)) + np.int32(value >> np.int32(10)))
        part = np.int32(value >> np.int32(3)) & np.int32(127)
        low = _between(knots[index], knots[index + np.uintp(KNOTS)], weight)
        high = _between(knots[index + np.uintp(1)], knots[index + np.uintp(KNOTS + 1)], weight)
        mixed = np.int32(low * np.int32(np.int32(128) - part)) + np.int32(high * part)
        gains[x] = np.int32(np.int32(mixed) + np.int32(1024)) >> np.int32(11)


@njit(nogil=True, inline="always")
def _between(left: np.int32, right: np.int32, weight: np.int32) -> np.int32:
    mixed = np.int32(left * np.int32(np.int32(256) - weight)) + np.int32(right * weight)
    return np.int32(mixed) >> np.int32(4)


@njit(nogil=True)
def store_levels(row: Samples, black: int, gains: Ints, low: int, span: int, bits: int, out: Levels) -> None:
    """Write levels of a depth and range from samples and gains."""
    if span == (1 << bits) - 1 and bits == 16:
        for x in range(row.size):
            level = _multiplied(row[x], black, gains[x], 32767)
            out[x] = 65535 if level == 32767 else 2 * level
    elif span == (1 << bits) - 1:
        down = 15 - bits
        half = (1 << down) >> 1
        for x in range(row.size):
            level = _multiplied(row[x], black, gains[x], 32767)
            out[x] = min((level + half) >> down, span)
    else:
        for x in range(row.size):
            level = _multiplied(row[x], black, gains[x], 32640)
            out[x] = low + (level * span + 16320) // 32640


@njit(nogil=True, inline="always")
def _multiplied(sample: np.int16, black: int, gain: np.int32, top: int) -> np.int32:
    level = max(np.int32(np.int32(sample) - black), np.int32(0))
    return min(np.int32(np.int32(np.int32(level * gain) + np.int32(512)) >> np.int32(10)), np.int32(top))


@njit(nogil=True)
def store_native(pixels: Levels, black: int, gains: Ints, out: Levels) -> None:
    """Write 16-bit levels of full range without the loss of a bit in the working sample."""
    for x in range(out.size):
        level = max(np.int64(pixels[x]) - 2 * black, 0)
        out[x] = min((level * gains[x] + 512) >> 10, 65535)


@njit(nogil=True)
def store_bgr(
    pixels: Levels,
    row: Samples,
    step: int,
    red_first: bool,
    black: int,
    gains: Ints,
    values: Ints,
    saturation: Ints,
    out: Levels,
) -> None:
    """Write three colours: saturation about the luma first, then the gain."""
    first, third = (2, 0) if red_first else (0, 2)
    offset, zero = np.int32(black), np.int32(0)
    for x in range(gains.size):
        blue = max(np.int32(np.int32(row[3 * x]) - offset), zero)
        green = max(np.int32(np.int32(row[3 * x + 1]) - offset), zero)
        red = max(np.int32(np.int32(row[3 * x + 2]) - offset), zero)
        luma, factor, gain = luma_of(blue, green, red), saturation[values[x] >> 7], gains[x]
        out[step * x + first] = _colored(blue, luma, factor, gain)
        out[step * x + 1] = _colored(green, luma, factor, gain)
        out[step * x + third] = _colored(red, luma, factor, gain)
        if step == 4:
            out[4 * x + 3] = pixels[4 * x + 3]


@njit(nogil=True, inline="always")
def _colored(level: np.int32, luma: np.int32, factor: np.int32, gain: np.int32) -> np.uint8:
    level = np.int32(
        luma + np.int32(np.int32(np.int32(np.int32(level - luma) * factor) + np.int32(128)) >> np.int32(8))
    )
    level = np.int32(np.int32(np.int32(level * gain) + np.int32(512)) >> np.int32(10))
    level = min(max(level, np.int32(0)), np.int32(32640))
    return np.uint8(np.int32(level + np.int32(64)) >> np.int32(7))


@njit(nogil=True)
def write_chroma_gains(
    gains: Ints,
    values: Ints,
    saturation: Ints,
    haze_on: bool,
    haze_row: Floats,
    left: int,
    right: int,
    chroma_gains: Samples,
    chroma_haze: Floats,
) -> None:
    """Write the gains of the chroma samples whose first luma pixel is in columns left..right-1."""
    for column in range((left + 1) // 2, (right + 1) // 2):
        x = 2 * column - left
        factor = saturation[values[x] >> 7]
        chroma_gains[column] = np.int16(min((gains[x] * factor + 128) >> 8, 4096))
        if haze_on:
            chroma_haze[column] = min(haze_row[x], F(MAX_CHROMA_HAZE_GAIN))
