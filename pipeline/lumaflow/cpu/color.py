"""The plane that is mapped in a colour frame, and the way back to colour (spec 9).

Colour rows are taken flat, (H, channels * W): that is what compiles to vectors. So do the casts to int32,
without which Numba's integers grow to 64 bits, and a loop of its own for 3 and for 4 channels. Where red
comes first, the two are exchanged after they are loaded.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Window = tuple[int, int, int, int]

SHIFT = 14
HALF = 1 << (SHIFT - 1)
NEUTRAL = 128


@njit(nogil=True, cache=True, parallel=True)
def value_plane(pixels: Bytes, value: Bytes) -> None:
    """`value` (H, W) uint8 = the largest of three colours; `pixels` (H, channels * W) uint8."""
    four = pixels.shape[1] == 4 * value.shape[1]
    for y in prange(value.shape[0]):
        if four:
            _value_row(pixels[y], 4, value[y])
        else:
            _value_row(pixels[y], 3, value[y])


@njit(nogil=True, cache=True, parallel=True)
def luma_plane(pixels: Bytes, red_first: bool, luma: Bytes) -> None:
    """`luma` (H, W) uint8 = full-range BT.601 Y; `pixels` (H, channels * W) uint8."""
    four = pixels.shape[1] == 4 * luma.shape[1]
    for y in prange(luma.shape[0]):
        if four:
            _luma_row(pixels[y], 4, red_first, luma[y])
        else:
            _luma_row(pixels[y], 3, red_first, luma[y])


@njit(nogil=True, cache=True, parallel=True, error_model="numpy")
def recolor_value(pixels: Bytes, value: Bytes, mapped: Bytes, window: Window, out: Bytes) -> None:
    """Scale every colour as its pixel's value was scaled: hue kept, never out of gamut; alpha kept.

    pixels, out : (H, channels * W) uint8
    value, mapped : (H, W) uint8, the value plane before and after its mapping
    window : left, top, right, bottom of what is written
    """
    left, top, right, bottom = window
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
    window: Window,
    out: Bytes,
) -> None:
    """Exchange the luma and keep the chroma, as cv2's YCrCb does both ways; alpha kept.

    pixels, out : (H, channels * W) uint8
    luma, mapped : (H, W) uint8, the luma plane before and after its mapping
    window : left, top, right, bottom of what is written
    """
    left, top, right, bottom = window
    four = pixels.shape[1] == 4 * luma.shape[1]
    for y in prange(top, bottom):
        before, after = luma[y, left:right], mapped[y, left:right]
        if four:
            _exchange_row(
                pixels[y, 4 * left : 4 * right], 4, before, after, red_first, out[y, 4 * left : 4 * right]
            )
        else:
            _exchange_row(
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
            # At 8 bits float32 rounds as the exact quotient does, for every triple (spec 9).
            level = np.rint(np.float32(np.int32(np.int32(row[step * x + channel]) * after)) / divisor)
            out[step * x + channel] = np.uint8(np.int32(level) if value[x] > 0 else after)
        if step == 4:
            out[step * x + 3] = row[step * x + 3]


@njit(nogil=True)
def _exchange_row(row: Bytes, step: int, luma: Bytes, mapped: Bytes, red_first: bool, out: Bytes) -> None:
    for x in range(luma.size):
        before, after = np.int32(luma[x]), np.int32(mapped[x])
        first, third = np.int32(row[step * x]), np.int32(row[step * x + 2])
        cr = _chroma(11682 * ((first if red_first else third) - before))
        cb = _chroma(9241 * ((third if red_first else first) - before))
        blue, red = _shifted(after, 29049 * cb), _shifted(after, 22987 * cr)
        out[step * x] = red if red_first else blue
        out[step * x + 1] = _shifted(after, -5636 * cb - 11698 * cr)
        out[step * x + 2] = blue if red_first else red
        if step == 4:
            out[step * x + 3] = row[step * x + 3]


@njit(nogil=True)
def _chroma(product: np.int32) -> np.int32:
    """A chroma value, saturated to 8 bits and less its neutral 128."""
    chroma = np.int32(product + (NEUTRAL << SHIFT) + HALF) >> SHIFT
    return np.int32(_saturated(np.int32(chroma)) - NEUTRAL)


@njit(nogil=True)
def _shifted(luma: np.int32, product: np.int32) -> np.uint8:
    return np.uint8(_saturated(np.int32(luma + (np.int32(product + HALF) >> SHIFT))))


@njit(nogil=True)
def _saturated(level: np.int32) -> np.int32:
    return np.int32(np.minimum(np.maximum(level, np.int32(0)), np.int32(255)))
