"""Kernels that map the pixels of a frame: load, filter, remove haze, multiply, store (spec 16, 17)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.adaptive import KNOTS
from lumaflow.cpu.adaptive.haze_removal import remove_haze, remove_haze_bgr, write_haze_gains
from lumaflow.cpu.adaptive.store import (
    store_bgr,
    store_levels,
    store_native,
    write_chroma_gains,
    write_gains,
    write_knots,
)
from lumaflow.cpu.adaptive.strips import STRIP, filter_strip_in_time, load_strip

F = np.float32
Samples = NDArray[np.int16]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Levels = NDArray[Any]
Rect = tuple[int, int, int, int]


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
            base, current = load_strip(
                pixels, layout, rect, table, spatial, first, last, scratch[band, 0],
                scratch[band, 1], rows[band],
            )  # fmt: skip
            samples = scratch[band, current]
            if temporal[0] > 0:
                filter_strip_in_time(
                    samples, base, first, last, top, components, temporal, history, ints[band]
                )
            for y in range(first, last):
                row = samples[y - base]
                haze_row = floats[band, 0, : right - left]
                if haze[0]:
                    write_haze_gains(haze_gains, y, haze_y, haze_x, left, small, haze_row)
                    if components == 3:
                        remove_haze_bgr(row, haze_row, haze)
                    else:
                        remove_haze(row, haze_row, haze[1], table[table.size - 1])
                write_knots(gains, cells_y[0][y], cells_y[1][y], knots)
                gain_row, value_row = ints[band, 0, : right - left], ints[band, 1, : right - left]
                write_gains(row, components, black, knots, cells_x[0][left:right],
                            cells_x[1][left:right], gain_row, value_row)  # fmt: skip
                if components == 3:
                    store_bgr(
                        pixels[y, layout[0] * left : layout[0] * right], row, layout[0], layout[2], black,
                        gain_row, value_row, saturation, out[y, layout[0] * left : layout[0] * right],
                    )  # fmt: skip
                elif depth[3] == 1:
                    store_native(pixels[y, left:right], black, gain_row, out[y, left:right])
                else:
                    store_levels(row, black, gain_row, depth[0], depth[1], depth[2], out[y, left:right])
                if display.size > 0:
                    low, span = (16, 219) if depth[1] != (1 << depth[2]) - 1 else (0, 255)
                    store_levels(row, black, gain_row, low, span, 8, display[y, left:right])
                if chroma_rows > 0 and y % chroma_rows == 0:
                    write_chroma_gains(
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
