"""The plane that is mapped in a colour frame, and the way back to colour (spec 9).

Colour rows are taken flat, (H, 3 * W): that is what compiles to vectors. So do the casts to int32, without
which Numba's integers grow to 64 bits.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

SHIFT = 14
HALF = 1 << (SHIFT - 1)
NEUTRAL = 128


@njit(nogil=True, cache=True, parallel=True)
def value_plane(pixels: Bytes, value: Bytes) -> None:
    """`value` (H, W) uint8 = the largest channel of `pixels` (H, 3 * W) uint8 BGR."""
    for y in prange(value.shape[0]):
        row, levels = pixels[y], value[y]
        for x in range(levels.size):
            levels[x] = max(row[3 * x], row[3 * x + 1], row[3 * x + 2])


@njit(nogil=True, cache=True, parallel=True)
def luma_plane(pixels: Bytes, luma: Bytes) -> None:
    """`luma` (H, W) uint8 = full-range BT.601 Y of `pixels` (H, 3 * W) uint8 BGR."""
    for y in prange(luma.shape[0]):
        row, levels = pixels[y], luma[y]
        for x in range(levels.size):
            blue, green, red = np.int32(row[3 * x]), np.int32(row[3 * x + 1]), np.int32(row[3 * x + 2])
            levels[x] = np.uint8(np.int32(4899 * red + 9617 * green + 1868 * blue + HALF) >> SHIFT)


@njit(nogil=True, cache=True, parallel=True)
def recolor_value(pixels: Bytes, value: Bytes, mapped: Bytes, out: Bytes) -> None:
    """Scale every channel as its pixel's value was scaled: hue kept, never out of gamut.

    pixels, out : (H, 3 * W) uint8 BGR
    value, mapped : (H, W) uint8, the value plane before and after its mapping
    """
    for y in prange(value.shape[0]):
        _scale_row(pixels[y], value[y], mapped[y], out[y])


@njit(nogil=True, cache=True, parallel=True)
def recolor_luma(pixels: Bytes, luma: Bytes, mapped: Bytes, out: Bytes) -> None:
    """Exchange the luma and keep the chroma, as cv2's YCrCb does both ways.

    pixels, out : (H, 3 * W) uint8 BGR
    luma, mapped : (H, W) uint8, the luma plane before and after its mapping
    """
    for y in prange(luma.shape[0]):
        _exchange_row(pixels[y], luma[y], mapped[y], out[y])


@njit(nogil=True, error_model="numpy")
def _scale_row(row: Bytes, value: Bytes, mapped: Bytes, out: Bytes) -> None:
    for x in range(value.size):
        after = np.int32(mapped[x])
        divisor = np.float32(max(np.int32(value[x]), np.int32(1)))
        for channel in range(3):
            # At 8 bits float32 rounds as the exact quotient does, for every triple (spec 9).
            level = np.rint(np.float32(np.int32(np.int32(row[3 * x + channel]) * after)) / divisor)
            out[3 * x + channel] = np.uint8(np.int32(level) if value[x] > 0 else after)


@njit(nogil=True)
def _exchange_row(row: Bytes, luma: Bytes, mapped: Bytes, out: Bytes) -> None:
    for x in range(luma.size):
        before, after = np.int32(luma[x]), np.int32(mapped[x])
        cr = _chroma(11682 * (np.int32(row[3 * x + 2]) - before))
        cb = _chroma(9241 * (np.int32(row[3 * x]) - before))
        out[3 * x] = _shifted(after, 29049 * cb)
        out[3 * x + 1] = _shifted(after, -5636 * cb - 11698 * cr)
        out[3 * x + 2] = _shifted(after, 22987 * cr)


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
