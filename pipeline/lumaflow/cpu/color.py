"""Kernels for RGB frames: extract the plane to map, and apply its change to the colours (spec 9).

The compiler vectorises these loops because rows are flat, (H, channels * W), because casts to int32 prevent
promotion to int64 by Numba, and because 3 and 4 channels have separate loops. For formats with red first, red
and blue are swapped after the load.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Rect = tuple[int, int, int, int]

SHIFT = 14
HALF = 1 << (SHIFT - 1)
NEUTRAL = 128


@njit(nogil=True, cache=True, parallel=True)
def value_plane(pixels: Bytes, value: Bytes) -> None:
    """Write the maximum of the three colours of `pixels` (H, channels * W) uint8 to `value` (H, W)."""
    four = pixels.shape[1] == 4 * value.shape[1]
    for y in prange(value.shape[0]):
        if four:
            _value_row(pixels[y], 4, value[y])
        else:
            _value_row(pixels[y], 3, value[y])


@njit(nogil=True, cache=True, parallel=True)
def luma_plane(pixels: Bytes, red_first: bool, luma: Bytes) -> None:
    """Write the full-range BT.601 luma of `pixels` (H, channels * W) uint8 to `luma` (H, W)."""
    four = pixels.shape[1] == 4 * luma.shape[1]
    for y in prange(luma.shape[0]):
        if four:
            _luma_row(pixels[y], 4, red_first, luma[y])
        else:
            _luma_row(pixels[y], 3, red_first, luma[y])


@njit(nogil=True, cache=True, parallel=True, error_model="numpy")
def recolor_value(pixels: Bytes, value: Bytes, mapped: Bytes, rect: Rect, out: Bytes) -> None:
    """Scale the colours of every pixel by mapped / value. Hue and alpha stay; no colour leaves the gamut.

    pixels, out : (H, channels * W) uint8
    value, mapped : (H, W) uint8, the value plane before and after the LUT
    rect : left, top, right, bottom of the pixels to write
    """
    left, top, right, bottom = rect
    four = pixels.shape[1] == 4 * value.shape[1]
    for y in prange(top, bottom):
        before, after = value[y, left:right], mapped[y, left:right]
        if four:
            _scale_row(pixels[y, 4 * left : 4 * right], 4, before, after, out[y, 4 * left : 4 * right])
        else:
            _scale_row(pixels[y, 3 * left : 3 * right], 3, before, after, out[y, 3 * left : 3 * right])


@njit(nogil=True, cache=True, parallel=True)
def recolor_luma(
    pixels: Bytes,
    luma: Bytes,
    mapped: Bytes,
    red_first: bool,
    rect: Rect,
    out: Bytes,
) -> None:
    """Replace the luma and keep the chroma, as cv2 does by way of YCrCb; alpha stays.

    pixels, out : (H, channels * W) uint8
    luma, mapped : (H, W) uint8, the luma plane before and after the LUT
    rect : left, top, right, bottom of the pixels to write
    """
    left, top, right, bottom = rect
    four = pixels.shape[1] == 4 * luma.shape[1]
    for y in prange(top, bottom):
        before, after = luma[y, left:right], mapped[y, left:right]
        if four:
            _replace_luma_row(
                pixels[y, 4 * left : 4 * right], 4, before, after, red_first, out[y, 4 * left : 4 * right]
            )
        else:
            _replace_luma_row(
                pixels[y, 3 * left : 3 * right], 3, before, after, red_first, out[y, 3 * left : 3 * right]
            )


@njit(nogil=True)
def _value_row(row: Bytes, step: int, levels: Bytes) -> None:
    for x in range(levels.size):
        levels[x] = max(row[step * x], row[step * x + 1], row[step * x + 2])


@njit(nogil=True)
def _luma_row(row: Bytes, step: int, red_first: bool, levels: Bytes) -> None:
    for x in range(levels.size):
        first, green, third = (
            np.int32(row[step * x]),
            np.int32(row[step * x + 1]),
            np.int32(row[step * x + 2]),
        )
        blue, red = (third, first) if red_first else (first, third)
        levels[x] = np.uint8(np.int32(4899 * red + 9617 * green + 1868 * blue + HALF) >> SHIFT)


@njit(nogil=True, error_model="numpy")
def _scale_row(row: Bytes, step: int, value: Bytes, mapped: Bytes, out: Bytes) -> None:
    for x in range(value.size):
        after = np.int32(mapped[x])
        divisor = np.float32(max(np.int32(value[x]), np.int32(1)))
        for channel in range(3):
            # At 8 bits, float32 rounds like the exact quotient for every input (spec 9).
            level = np.rint(np.float32(np.int32(np.int32(row[step * x + channel]) * after)) / divisor)
            out[step * x + channel] = np.uint8(np.int32(level) if value[x] > 0 else after)
        if step == 4:
            out[step * x + 3] = row[step * x + 3]


@njit(nogil=True)
def _replace_luma_row(row: Bytes, step: int, luma: Bytes, mapped: Bytes, red_first: bool, out: Bytes) -> None:
    for x in range(luma.size):
        before, after = np.int32(luma[x]), np.int32(mapped[x])
        first, third = np.int32(row[step * x]), np.int32(row[step * x + 2])
        cr = _chroma(11682 * ((first if red_first else third) - before))
        cb = _chroma(9241 * ((third if red_first else first) - before))
        blue, red = _add_chroma(after, 29049 * cb), _add_chroma(after, 22987 * cr)
        out[step * x] = red if red_first else blue
        out[step * x + 1] = _add_chroma(after, -5636 * cb - 11698 * cr)
        out[step * x + 2] = blue if red_first else red
        if step == 4:
            out[step * x + 3] = row[step * x + 3]


@njit(nogil=True)
def _chroma(product: np.int32) -> np.int32:
    """Return a chroma value, saturated to 8 bits, minus the neutral 128."""
    chroma = np.int32(product + (NEUTRAL << SHIFT) + HALF) >> SHIFT
    return np.int32(_saturate(np.int32(chroma)) - NEUTRAL)


@njit(nogil=True)
def _add_chroma(luma: np.int32, product: np.int32) -> np.uint8:
    return np.uint8(_saturate(np.int32(luma + (np.int32(product + HALF) >> SHIFT))))


@njit(nogil=True)
def _saturate(level: np.int32) -> np.int32:
    return np.int32(np.minimum(np.maximum(level, np.int32(0)), np.int32(255)))
