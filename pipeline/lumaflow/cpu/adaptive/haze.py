"""Kernels that measure haze on a map of block means (spec 17). Units: quarters of a level, 0 to 1020.

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
"""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.adaptive import (
    CLEAR_DARK,
    HAZE_LAG,
    HAZE_WEIGHT,
    HAZY_DARK,
    OMEGA,
    TEXTURE_FALL,
    UNTEXTURED_FLOOR,
)

F = np.float32
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Wide = NDArray[np.int64]
Floats = NDArray[np.float32]

TOP = 1020
TEXTURED = 32
"""Least range of luma in 5 x 5 blocks, in quarters, of a textured block."""
SMOOTH = 8
WHITE = 1000
FAR = 1 << 20


@njit(nogil=True, cache=True, parallel=True)
def block_means(
    plane: Bytes,
    channels: int,
    order: tuple[int, ...],
    bounds_y: Ints,
    bounds_x: Ints,
    lines: NDArray[np.uint16],
    means: Ints,
) -> None:
    """Write the means of blocks, rounded half up to quarters.

    plane : (H, channels * W) uint8
    order : the channel of each component of `means` (rows, columns, components)
    bounds : (rows, 2) and (columns, 2), the first pixel of each block and the one after its last
    lines : (rows, at least channels * W) scratch
    """
    rows, columns = means.shape[0], means.shape[1]
    for j in prange(rows):
        top, bottom = bounds_y[j, 0], bounds_y[j, 1]
        left, right = bounds_x[0, 0] * channels, bounds_x[columns - 1, 1] * channels
        line = lines[j, : right - left]
        _add_rows(plane, top, bottom, left, right, line)
        for i in range(columns):
            start, end = bounds_x[i, 0], bounds_x[i, 1]
            count = np.uint32((bottom - top) * (end - start))
            for c in range(len(order)):
                total = np.uint32(0)
                for x in range(start * channels + order[c] - left, end * channels - left, channels):
                    total += np.uint32(line[x])
                means[j, i, c] = np.int32(
                    np.uint32(np.uint32(8) * total + count) // np.uint32(np.uint32(2) * count)
                )


@njit(nogil=True, cache=True)
def gray_maps(means: Ints, luma: Ints, dark: Ints) -> None:
    """Luma and least component of gray means (rows, columns, 1)."""
    for j in range(luma.shape[0]):
        for i in range(luma.shape[1]):
            luma[j, i] = dark[j, i] = means[j, i, 0]


@njit(nogil=True, cache=True)
def bgr_maps(means: Ints, luma: Ints, dark: Ints) -> None:
    """Luma and least component of BGR means (rows, columns, 3)."""
    for j in range(luma.shape[0]):
        for i in range(luma.shape[1]):
            blue, green, red = means[j, i, 0], means[j, i, 1], means[j, i, 2]
            luma[j, i] = (1868 * blue + 9617 * green + 4899 * red + 8192) >> 14
            dark[j, i] = min(blue, min(green, red))


@njit(nogil=True, cache=True)
def yuv_maps(means: Ints, matrix: tuple[int, int, int, int], luma: Ints, dark: Ints) -> None:
    """Luma and least of R, G and B of means (rows, columns, 3) of full-range luma, Cb and Cr."""
    for j in range(luma.shape[0]):
        for i in range(luma.shape[1]):
            luma[j, i] = means[j, i, 0]
            dark[j, i] = _least_of_yuv(means[j, i, 0], means[j, i, 1], means[j, i, 2], matrix)


@njit(nogil=True, cache=True, parallel=True)
def window_rows(source: Ints, radius: int, sign: int, scratch: Ints, out: Ints) -> None:
    """Write the least (sign 1) or greatest (-1) of columns i - radius .. i + radius, cut at the border.

    scratch : (rows, columns + 2 * radius)
    """
    rows, size = source.shape
    for j in prange(rows):
        line = scratch[j, : size + 2 * radius]
        line[:] = FAR
        for i in range(size):
            line[radius + i] = sign * source[j, i]
        width, goal = 1, 2 * radius + 1
        while width < goal:  # after each step line[i] is the least of `width` values
            step = min(width, goal - width)
            for i in range(line.size - step):
                line[i] = min(line[i], line[i + step])
            width += step
        for i in range(size):
            out[j, i] = sign * line[i]


@njit(nogil=True, cache=True, parallel=True)
def window_columns(source: Ints, radius: int, sign: int, scratch: Ints, out: Ints) -> None:
    """As `window_rows` along the columns; scratch : (rows + 2 * radius, columns)."""
    size, columns = source.shape
    bands = (columns + 63) // 64
    for band in prange(bands):
        left, right = 64 * band, min(64 * band + 64, columns)
        for j in range(size + 2 * radius):
            for i in range(left, right):
                inside = radius <= j < size + radius
                scratch[j, i] = sign * source[j - radius, i] if inside else FAR
        width, goal = 1, 2 * radius + 1
        while width < goal:
            step = min(width, goal - width)
            for j in range(size + 2 * radius - step):
                line, other = scratch[j, left:right], scratch[j + step, left:right]
                for i in range(line.size):
                    line[i] = min(line[i], other[i])
            width += step
        for j in range(size):
            for i in range(left, right):
                out[j, i] = sign * scratch[j, i]


@njit(nogil=True, cache=True)
def tile_sums(dark: Ints, highest: Ints, lowest: Ints, spread: Ints, sums: Wide) -> None:
    """Write the spread of luma, and sums (rows, columns, 5) of each tile.

    sums : blocks, their dark channel, textured blocks, their dark channel, steps of texture
    """
    height, width = dark.shape
    rows, columns = sums.shape[0], sums.shape[1]
    sums[:] = 0
    for row in range(rows):
        for column in range(columns):
            here = sums[row, column]
            for j in range(row * height // rows, (row + 1) * height // rows):
                for i in range(column * width // columns, (column + 1) * width // columns):
                    value = highest[j, i] - lowest[j, i]
                    spread[j, i] = value
                    here[0] += 1
                    here[1] += dark[j, i]
                    here[4] += min(max(value - SMOOTH, 0), TEXTURED - SMOOTH)
                    if value >= TEXTURED:
                        here[2] += 1
                        here[3] += dark[j, i]


@njit(nogil=True, cache=True)
def tile_darkness(sums: Wide, dark: Floats, texture: Floats) -> None:
    """Write the dark channel of each tile in quarters, and its share of texture.

    An untextured tile (a sky or a wall) takes the dark channel of the textured tiles around it, if lower.
    """
    rows, columns = dark.shape
    for row in range(rows):
        for column in range(columns):
            above, below = np.int64(0), np.int64(0)
            for j in range(max(row - 2, 0), min(row + 3, rows)):
                for i in range(max(column - 2, 0), min(column + 3, columns)):
                    weight = (3 - abs(j - row)) * (3 - abs(i - column))
                    above += weight * (50 * sums[j, i, 3] + sums[j, i, 1])
                    below += weight * (50 * sums[j, i, 2] + sums[j, i, 0])
            here = sums[row, column]
            texture[row, column] = F(F(here[4]) / F((TEXTURED - SMOOTH) * here[0]))
            own = F(F(here[1]) / F(here[0]))
            excess = max(F(own - F(F(above) / F(below))), F(0))
            dark[row, column] = F(own - F(F(F(1) - texture[row, column]) * excess))


@njit(nogil=True, cache=True)
def airlight_and_score(
    means: Ints,
    luma: Ints,
    dark: Ints,
    raw_dark: Ints,
    spread: Ints,
    color: int,
    careful: bool,
    airlight: Floats,
) -> np.float32:
    """Write the airlight of a frame (components,) in quarters; return its haze score, 0 to 1.

    raw_dark : least component of each block, before the window of the dark channel
    color : 0 gray, 1 BGR, 2 YUV
    careful : the score of AUTO, which is 0 for dark scenes and for white ones
    """
    height, width = luma.shape
    blocks, parts = height * width, means.shape[2]
    level = _level_of_share(dark, 100)
    sums = np.zeros(3, np.int64)
    count = textured = textured_dark = white = np.int64(0)
    for j in range(height):
        for i in range(width):
            white += raw_dark[j, i] >= WHITE
            if spread[j, i] >= TEXTURED:
                textured += 1
                textured_dark += dark[j, i]
            if dark[j, i] >> 2 >= level:
                count += 1
                for c in range(parts):
                    sums[c] += means[j, i, c]
    for c in range(parts):
        sums[c] = (2 * sums[c] + count) // (2 * count)
    own = sums[0]
    if color == 1:
        own = (1868 * sums[0] + 9617 * sums[1] + 4899 * sums[2] + 8192) >> 14
    lift = max(4 * _level_of_share(luma, 10) - own, 0)
    for c in range(parts):
        neutral = 512 if color == 2 else own
        airlight[c] = F(neutral + ((sums[c] - neutral) >> 1) + (lift if color == 1 else 0))
    if color != 1:
        airlight[0] = F(own + lift)
    if 200 * textured < blocks or own + lift == 0:
        return F(0)
    share = F(F(textured_dark) / F(F(textured) * F(own + lift)))
    if not careful:
        return _ramp(share, F(0.15), F(0.30))
    bright = _ramp(F(own + lift), F(680), F(760))
    colored = F(F(1) - _ramp(F(F(white) / F(blocks)), F(0.05), F(0.10)))
    return F(F(_ramp(share, F(0.28), F(0.45)) * bright) * colored)


@njit(nogil=True, cache=True)
def score_without_dark_pixels(score: np.float32, darkest: int) -> np.float32:
    """Return the haze score of AUTO: 0 for a frame with dark pixels. darkest : level in 1/16 level."""
    return F(score * _ramp(F(darkest), F(16 * CLEAR_DARK), F(16 * HAZY_DARK)))


@njit(nogil=True, cache=True)
def advance_haze(state: Floats, own: Floats, parts: int) -> None:
    """Smooth the state (airlight, score, tiles): state = (1 - w) * state + w * own (spec 17.6).

    The airlight stays within HAZE_LAG quarters of that of the frame.
    """
    weight = F(HAZE_WEIGHT)
    rest = F(F(1) - weight)
    for k in range(state.size):
        state[k] = F(F(rest * state[k]) + F(weight * own[k]))
    for c in range(parts):
        state[c] = min(max(state[c], F(own[c] - F(HAZE_LAG))), F(own[c] + F(HAZE_LAG)))


@njit(nogil=True, cache=True)
def haze_gains(
    state: Floats, color: int, matrix: tuple[int, int, int, int], strength: np.float32, gains: Floats
) -> np.float32:
    """Write the gain of each tile, 1 / transmission; return the strength in use.

    state : airlight (3,), score, dark channel of the tiles, texture of the tiles
    gains : (rows, columns)
    """
    rows, columns = gains.shape
    used = F(strength * state[3])
    weight = F(F(OMEGA) * used)
    least = state[0]
    if color == 1:
        least = min(state[0], min(state[1], state[2]))
    elif color == 2:
        levels = np.rint(state[:3])
        least = F(_least_of_yuv(np.int32(levels[0]), np.int32(levels[1]), np.int32(levels[2]), matrix))
    least = max(least, F(4))
    tiles = rows * columns
    for k in range(tiles):
        dark, texture = state[4 + k], state[4 + tiles + k]
        transmission = F(F(1) - F(weight * F(dark / least)))
        floor = F(F(UNTEXTURED_FLOOR) - F(texture * F(TEXTURE_FALL)))
        gains[k // columns, k % columns] = F(F(1) / min(max(transmission, floor), F(1)))
    return used


@njit(nogil=True)
def _add_rows(plane: Bytes, top: int, bottom: int, left: int, right: int, line: NDArray[np.uint16]) -> None:
    source = plane[top, left:right]
    for x in range(line.size):
        line[x] = source[x]
    for y in range(top + 1, bottom):
        source = plane[y, left:right]
        for x in range(line.size):
            line[x] += source[x]


@njit(nogil=True)
def _least_of_yuv(luma: Any, blue: Any, red: Any, matrix: tuple[int, int, int, int]) -> Any:
    """Return the least of R, G and B: the matrix has the factors of R(Cr), G(Cb), G(Cr), B(Cb) in 1/16384."""
    cb, cr = blue - 512, red - 512
    least = min(
        luma + ((matrix[0] * cr + 8192) >> 14),
        min(luma + ((matrix[1] * cb + matrix[2] * cr + 8192) >> 14), luma + ((matrix[3] * cb + 8192) >> 14)),
    )
    return np.int32(min(max(least, 0), TOP))


@njit(nogil=True)
def _level_of_share(plane: Ints, part: int) -> int:
    """Return the highest level, in whole levels, that at least 1/part of the blocks reach."""
    counts = np.zeros(256, np.int64)
    for j in range(plane.shape[0]):
        for i in range(plane.shape[1]):
            counts[plane[j, i] >> 2] += 1
    reached = np.int64(0)
    for level in range(255, -1, -1):
        reached += counts[level]
        if part * reached >= plane.size:
            return level
    return 0


@njit(nogil=True)
def _ramp(value: np.float32, low: np.float32, high: np.float32) -> np.float32:
    return min(max(F(F(value - low) / F(high - low)), F(0)), F(1))
