"""Rows of working samples without haze (spec 17.8).

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import MAX_CHROMA_HAZE_GAIN

F = np.float32
Samples = NDArray[np.int16]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]


@njit(nogil=True)
def write_haze_gains(
    gains: Floats,
    y: int,
    axis_y: tuple[Ints, Ints, Floats, Floats],
    axis_x: tuple[Ints, Ints, Floats, Floats],
    left: int,
    small: Floats,
    out: Floats,
) -> None:
    """Interpolate the gains of the tiles along the rows, then along the columns."""
    above, below, rest, weight = gains[axis_y[0][y]], gains[axis_y[1][y]], axis_y[2][y], axis_y[3][y]
    for i in range(small.size):
        small[i] = F(F(above[i] * rest) + F(below[i] * weight))
    first, second = axis_x[0][left : left + out.size], axis_x[1][left : left + out.size]
    rest_x, weight_x = axis_x[2][left : left + out.size], axis_x[3][left : left + out.size]
    for x in range(out.size):
        out[x] = F(F(small[first[x]] * rest_x[x]) + F(small[second[x]] * weight_x[x]))


@njit(nogil=True)
def remove_haze(row: Samples, gains: Floats, airlight: np.float32, top: np.int16) -> None:
    for x in range(row.size):
        level = np.rint(F(F(F(F(np.int32(row[x])) - airlight) * gains[x]) + airlight))
        row[x] = np.int16(np.int32(min(max(level, F(0)), F(top))))


@njit(nogil=True)
def remove_haze_bgr(
    row: Samples, gains: Floats, haze: tuple[bool, np.float32, np.float32, np.float32, np.float32]
) -> None:
    """Luma by the gain, differences from luma by at most MAX_CHROMA_HAZE_GAIN."""
    for x in range(gains.size):
        blue, green, red = np.int32(row[3 * x]), np.int32(row[3 * x + 1]), np.int32(row[3 * x + 2])
        luma = F(np.int32(luma_of(blue, green, red)))
        color = min(gains[x], F(MAX_CHROMA_HAZE_GAIN))
        extra = F(F(luma - haze[4]) * F(gains[x] - color))
        row[3 * x] = _hazeless(blue, haze[1], color, extra)
        row[3 * x + 1] = _hazeless(green, haze[2], color, extra)
        row[3 * x + 2] = _hazeless(red, haze[3], color, extra)


@njit(nogil=True, inline="always")
def _hazeless(level: np.int32, airlight: np.float32, gain: np.float32, extra: np.float32) -> np.int16:
    moved = np.rint(F(F(F(F(F(level) - airlight) * gain) + airlight) + extra))
    return np.int16(np.int32(min(max(moved, F(0)), F(32640))))


@njit(nogil=True, inline="always")
def luma_of(blue: np.int32, green: np.int32, red: np.int32) -> np.int32:
    return np.int32(4899 * red + 9617 * green + 1868 * blue + 8192) >> np.int32(14)
