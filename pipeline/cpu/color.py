"""The plane that is mapped in a colour frame, and the way back to colour (spec 9)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

SHIFT = 14
HALF = 1 << (SHIFT - 1)
NEUTRAL = 128


@njit(nogil=True, cache=True, parallel=True)
def value_plane(pixels: NDArray[np.uint8], value: NDArray[np.uint8]) -> None:
    """`value` (H, W) uint8 = the largest channel of `pixels` (H, W, 3) uint8 BGR."""
    for y in prange(value.shape[0]):
        for x in range(value.shape[1]):
            value[y, x] = max(pixels[y, x, 0], pixels[y, x, 1], pixels[y, x, 2])


@njit(nogil=True, cache=True, parallel=True)
def luma_plane(pixels: NDArray[np.uint8], luma: NDArray[np.uint8]) -> None:
    """`luma` (H, W) uint8 = full-range BT.601 Y of `pixels` (H, W, 3) uint8 BGR."""
    for y in prange(luma.shape[0]):
        for x in range(luma.shape[1]):
            blue, green, red = np.int32(pixels[y, x, 0]), np.int32(pixels[y, x, 1]), np.int32(pixels[y, x, 2])
            luma[y, x] = np.uint8((4899 * red + 9617 * green + 1868 * blue + HALF) >> SHIFT)


@njit(nogil=True, cache=True, parallel=True, error_model="numpy")
def recolor_value(
    pixels: NDArray[np.uint8], value: NDArray[np.uint8], mapped: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    """Scale every channel as its pixel's value was scaled: hue kept, never out of gamut.

    pixels, out : (H, W, 3) uint8 BGR
    value, mapped : (H, W) uint8, the value plane before and after its mapping
    """
    for y in prange(value.shape[0]):
        for x in range(value.shape[1]):
            for channel in range(3):
                # At 8 bits float32 rounds as the exact quotient does, for every triple (spec 9).
                product = np.float32(np.int32(pixels[y, x, channel]) * np.int32(mapped[y, x]))
                level = np.rint(product / np.float32(np.int32(max(value[y, x], np.uint8(1)))))
                out[y, x, channel] = mapped[y, x] if value[y, x] == 0 else np.uint8(level)


@njit(nogil=True, cache=True, parallel=True)
def recolor_luma(
    pixels: NDArray[np.uint8], luma: NDArray[np.uint8], mapped: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    """Exchange the luma and keep the chroma, as cv2's YCrCb does both ways.

    pixels, out : (H, W, 3) uint8 BGR
    luma, mapped : (H, W) uint8, the luma plane before and after its mapping
    """
    for y in prange(luma.shape[0]):
        for x in range(luma.shape[1]):
            before, after = np.int32(luma[y, x]), np.int32(mapped[y, x])
            cr = _chroma(11682, np.int32(pixels[y, x, 2]) - before)
            cb = _chroma(9241, np.int32(pixels[y, x, 0]) - before)
            out[y, x, 0] = _saturate(after + ((29049 * cb + HALF) >> SHIFT))
            out[y, x, 1] = _saturate(after + ((-5636 * cb - 11698 * cr + HALF) >> SHIFT))
            out[y, x, 2] = _saturate(after + ((22987 * cr + HALF) >> SHIFT))


@njit(nogil=True)
def _chroma(factor, difference):  # type: ignore[no-untyped-def]
    """A saturated chroma value, less its neutral 128."""
    chroma = (factor * difference + (NEUTRAL << SHIFT) + HALF) >> SHIFT
    return np.int32(min(max(chroma, 0), 255)) - np.int32(NEUTRAL)


@njit(nogil=True)
def _saturate(level):  # type: ignore[no-untyped-def]
    return np.uint8(min(max(level, 0), 255))
