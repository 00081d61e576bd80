"""Kernels that map the pixels of a frame: load, filter, remove haze, multiply, store (spec 16, 17)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.adaptive import KNOTS, MAX_CHROMA_HAZE_GAIN
from lumaflow.cpu.adaptive.filters import add_columns, block_weights, filter_row, recurse_row

F = np.float32
Samples = NDArray[np.int16]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Levels = NDArray[Any]
Rect = tuple[int, int, int, int]

STRIP = 32
"""Rows that are filtered together; a multiple of the 8 rows of a block."""
HALO = 7
"""Rows that the three passes of the spatial filter reach: 1 + 2 + 4."""


@njit(nogil=True, cache=True, parallel=True)
def map_pixels(
    pixels: Levels,
    layout: tuple[int, int, bool],
    rect: Rect,
    table: Samples,
    spatial: tuple[int, int],
    temporal: tuple[int, int, int, int],
    history: Samples,
    haze: tuple[bool, np.float32, np.float32, np.float32, np.float32],
    haze_gains: Floats,
    haze_x: tuple[Ints, Ints, Floats, Floats],
    haze_y: tuple[Ints, Ints, Floats, Floats],
    gains: Ints,
    black: int,
    cells_x: tuple[Ints, Ints],
    cells_y: tuple[Ints, Ints],
    saturation: Ints,
    depth: tuple[int, int, int, int],
    scratch: Samples,
    rows: Samples,
    ints: Ints,
    floats: Floats,
    out: Levels,
    display: NDArray[np.uint8],
    chroma_rows: int,
    chroma_gains: Samples,
    chroma_haze: Floats,
) -> None:
    """Map the pixels inside the rectangle.

    pixels, out : (H, channels * W)
    layout : channels of `pixels`, components (1, or 3 in the order B, G, R), red first
    rect : left, top, right, bottom
    table : (2^b,) the working sample of each level
    spatial : limit and slope of the first pass; (0, 0): off
    temporal : 0 off, 1 start, 2 on; noise, slope, strength of the spatial filter
    history : (bottom - top, components * (right - left)), of the last frame
    haze : on, airlight (3) and its luma as working samples
    haze_x, haze_y, cells_x, cells_y : `TileAxis` and `cell_axis` of the frame
    depth : lowest level, span and bits of `out`, which is LSB-aligned; 1 for gains of native 16-bit levels
    scratch : (bands, 2, STRIP + 2 * HALO, columns), rows : (bands, 2, columns), ints : (bands, 5, columns)
    floats : (bands, 3, columns)
    display : (H, W) uint8 luma for features, or (0, 0)
    chroma_rows : luma rows of a row of chroma samples, 1 or 2; 0 without chroma
    chroma_gains, chroma_haze : (chroma rows, columns), written for chroma samples whose first pixel is mapped
    """
    left, top, right, bottom = rect
    components = layout[1]
    strips, bands = (bottom - top + STRIP - 1) // STRIP, scratch.shape[0]
    for band in prange(bands):
        knots = np.empty(gains.shape[1] * KNOTS, np.int32)
        small = np.empty(haze_gains.shape[1], np.float32)
        for strip in range(strips * band // bands, strips * (band + 1) // bands):
            first = top + strip * STRIP
            last = min(first + STRIP, bottom)
            base, current = _filtered(
                pixels, layout, rect, table, spatial, first, last, scratch[band, 0],
                scratch[band, 1], rows[band],
            )  # fmt: skip
            samples = scratch[band, current]
            if temporal[0] > 0:
                _filter_in_time(samples, base, first, last, top, components, temporal, history, ints[band])
            for y in range(first, last):
                row = samples[y - base]
                haze_row = floats[band, 0, : right - left]
                if haze[0]:
                    _haze_gain_row(haze_gains, y, haze_y, haze_x, left, small, haze_row)
                    if components == 3:
                        _remove_haze_bgr(row, haze_row, haze)
                    else:
                        _remove_haze(row, haze_row, haze[1], table[table.size - 1])
                _gain_table(gains, cells_y[0][y], cells_y[1][y], knots)
                gain_row, value_row = ints[band, 0, : right - left], ints[band, 1, : right - left]
                _gain_row(row, components, black, knots, cells_x[0][left:right], cells_x[1][left:right],
                          gain_row, value_row)  # fmt: skip
                if components == 3:
                    _store_bgr(
                        pixels[y, layout[0] * left : layout[0] * right], row, layout[0], layout[2], black,
                        gain_row, value_row, saturation, out[y, layout[0] * left : layout[0] * right],
                    )  # fmt: skip
                elif depth[3] == 1:
                    _store_native(pixels[y, left:right], black, gain_row, out[y, left:right])
                else:
                    _store(row, black, gain_row, depth[0], depth[1], depth[2], out[y, left:right])
                if display.size > 0:
                    low, span = (16, 219) if depth[1] != (1 << depth[2]) - 1 else (0, 255)
                    _store(row, black, gain_row, low, span, 8, display[y, left:right])
                if chroma_rows > 0 and y % chroma_rows == 0:
                    _chroma_row(
                        gain_row, value_row, saturation, haze[0], haze_row, left, right,
                        chroma_gains[y // chroma_rows], chroma_haze[y // chroma_rows],
                    )  # fmt: skip


@njit(nogil=True, cache=True, parallel=True)
def map_chroma(
    chroma: Levels,
    sampling: tuple[int, int],
    depth: tuple[int, int],
    gains: Samples,
    haze_on: bool,
    haze_gains: Floats,
    airlight: np.float32,
    out: Levels,
) -> None:
    """Multiply the distance of one chroma component from neutral by the gain of its first pixel (spec 16.8).

    chroma, out : (rows, samples)
    sampling : offset of the component in a row, and the distance of its samples
    depth : bits, and left shift of the samples
    airlight : of the component, less neutral, as a working sample
    """
    offset, step = sampling
    bits, shift = depth
    neutral, top = np.int32(1 << (bits - 1)), np.int32((1 << bits) - 1)
    up = 15 - bits
    half = np.int32(512 << up)
    for y in prange(gains.shape[0]):
        row, target, factors, haze_row = chroma[y], out[y], gains[y], haze_gains[y]
        for i in range(factors.size):
            sample = np.int32(np.int32(np.int32(row[offset + i * step]) >> shift) - neutral) << up
            if haze_on:
                moved = F(F(F(F(np.int32(sample)) - airlight) * haze_row[i]) + airlight)
                sample = np.int32(min(max(np.rint(moved), F(-32768)), F(32767)))
            level = neutral + np.int32(np.int32(np.int32(sample * np.int32(factors[i])) + half) >> (10 + up))
            target[offset + i * step] = min(max(np.int32(level), np.int32(0)), top) << shift


@njit(nogil=True)
def _filtered(
    pixels: Levels,
    layout: tuple[int, int, bool],
    rect: Rect,
    table: Samples,
    spatial: tuple[int, int],
    first: int,
    last: int,
    one: Samples,
    other: Samples,
    rows: Samples,
) -> tuple[int, int]:
    """Load rows first..last-1 and filter them; return the row that index 0 holds, and the buffer in use."""
    left, top, right, bottom = rect
    on = spatial[0] + spatial[1] > 0
    halo = HALO if on else 0
    base, end = max(first - halo, top), min(last + halo, bottom)
    for y in range(base, end):
        _load(
            pixels[y, layout[0] * left : layout[0] * right],
            layout[0],
            layout[1],
            layout[2],
            table,
            one[y - base],
        )
    if not on:
        return base, 0
    current, reach = 0, HALO
    for number in range(3):
        step = 1 << number
        reach -= step
        factor = 1 if number == 0 else (3 if number == 1 else 9)
        limit, slope = (spatial[0] * factor) >> (2 * number), (spatial[1] * factor) >> (2 * number)
        if limit + slope == 0:
            continue
        source, target = (one, other) if current == 0 else (other, one)
        for y in range(max(first - reach, top), min(last + reach, bottom)):
            filter_row(
                source[max(y - step, top) - base],
                source[y - base],
                source[min(y + step, bottom - 1) - base],
                step,
                layout[1],
                limit,
                slope,
                rows[0],
                rows[1],
                target[y - base],
            )
        current = 1 - current
    return base, current


@njit(nogil=True)
def _filter_in_time(
    samples: Samples,
    base: int,
    first: int,
    last: int,
    top: int,
    components: int,
    temporal: tuple[int, int, int, int],
    history: Samples,
    ints: Ints,
) -> None:
    if temporal[0] == 1:
        for y in range(first, last):
            history[y - top] = samples[y - base]
        return
    for start in range(first, last, 8):
        end = min(start + 8, last)
        ints[0], ints[1] = 0, 0
        for y in range(start, end):
            add_columns(samples[y - base], history[y - top], ints[0], ints[1])
        block_weights(
            ints[0], ints[1], end - start, components, temporal[1], temporal[2], temporal[3],
            ints[2], ints[3], ints[4],
        )  # fmt: skip
        for y in range(start, end):
            recurse_row(samples[y - base], history[y - top], ints[2], ints[3], ints[4])


@njit(nogil=True)
def _load(row: Levels, step: int, components: int, red_first: bool, table: Samples, samples: Samples) -> None:
    if components == 1:
        for x in range(samples.size):
            samples[x] = table[row[x]]
    elif step == 3 and not red_first:
        for x in range(samples.size):
            samples[x] = np.int16(np.int16(row[x]) << np.int16(7))
    else:
        blue, red = (2, 0) if red_first else (0, 2)
        for x in range(samples.size // 3):
            samples[3 * x] = np.int16(np.int16(row[step * x + blue]) << np.int16(7))
            samples[3 * x + 1] = np.int16(np.int16(row[step * x + 1]) << np.int16(7))
            samples[3 * x + 2] = np.int16(np.int16(row[step * x + red]) << np.int16(7))


@njit(nogil=True)
def _haze_gain_row(
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
def _remove_haze(row: Samples, gains: Floats, airlight: np.float32, top: np.int16) -> None:
    for x in range(row.size):
        level = np.rint(F(F(F(F(np.int32(row[x])) - airlight) * gains[x]) + airlight))
        row[x] = np.int16(np.int32(min(max(level, F(0)), F(top))))


@njit(nogil=True)
def _remove_haze_bgr(
    row: Samples, gains: Floats, haze: tuple[bool, np.float32, np.float32, np.float32, np.float32]
) -> None:
    """Luma by the gain, differences from luma by at most MAX_CHROMA_HAZE_GAIN."""
    for x in range(gains.size):
        blue, green, red = np.int32(row[3 * x]), np.int32(row[3 * x + 1]), np.int32(row[3 * x + 2])
        luma = F(np.int32(_luma(blue, green, red)))
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
def _luma(blue: np.int32, green: np.int32, red: np.int32) -> np.int32:
    return np.int32(4899 * red + 9617 * green + 1868 * blue + 8192) >> np.int32(14)


@njit(nogil=True)
def _gain_table(gains: Ints, cell: int, weight: int, knots: Ints) -> None:
    """Interpolate the gains of two rows of cells: knots (16 * 33,)."""
    above, below = gains[cell].reshape(-1), gains[cell + 1].reshape(-1)
    for k in range(knots.size):
        knots[k] = (above[k] * (256 - weight) + below[k] * weight + 128) >> 8


@njit(nogil=True)
def _gain_row(
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
def _store(row: Samples, black: int, gains: Ints, low: int, span: int, bits: int, out: Levels) -> None:
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
def _store_native(pixels: Levels, black: int, gains: Ints, out: Levels) -> None:
    """Write 16-bit levels of full range without the loss of a bit in the working sample."""
    for x in range(out.size):
        level = max(np.int64(pixels[x]) - 2 * black, 0)
        out[x] = min((level * gains[x] + 512) >> 10, 65535)


@njit(nogil=True)
def _store_bgr(
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
        luma, factor, gain = _luma(blue, green, red), saturation[values[x] >> 7], gains[x]
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
def _chroma_row(
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
