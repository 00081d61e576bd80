"""Reference implementation for whole frames of any format, in plain NumPy: the first frame of a lane.

Based on `oracle`, whose formulas are for 8 bits; this module has every bit depth and range (spec 8, 9).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import oracle
from lumaflow import ColorMode, Mode, Orientation, Output, PixelFormat

F = np.float32
BITS = {"gray10": 10, "gray12": 12, "gray14": 14, "gray16": 16, "p010": 10}
RGB = {PixelFormat.BGR24, PixelFormat.RGB24, PixelFormat.BGRA32}
LUMA_AT = {PixelFormat.YUYV: 0, PixelFormat.UYVY: 1}


@dataclass
class Expected:
    """Planes, counts and LUTs; `display` is the 8-bit luma for the features."""

    planes: list[Any]
    bins: Any
    lut: Any
    display: Any
    clamped: int


def enhance(frame, options):
    """Enhance a frame with its own LUT, as the first frame of a lane."""
    geometry = frame.geometry
    bits, limited, shift = BITS.get(geometry.pixel_format, 8), geometry.limited, geometry.shift
    planes = [reoriented(plane, options.orientation) for plane in frame.planes]
    if geometry.pixel_format in LUMA_AT and options.orientation in ("flip_x", "rotate180"):
        exchange = planes[0][..., 1 - LUMA_AT[geometry.pixel_format]]  # restores Cb before Cr
        exchange[:] = exchange.reshape(len(exchange), -1, 2)[:, :, ::-1].reshape(exchange.shape)
    width = frame.geometry.height if options.orientation.swaps_sides else frame.geometry.width
    raw = luma_of(planes[0], geometry.pixel_format, options.equalization.color)[:, :width] >> shift
    luma = np.minimum(raw, 2**bits - 1)
    box = region_of(luma, options.region)
    counted = luma[box]
    out_bits = 8 if options.output is Output.DISPLAY else bits
    luts = luts_of(counted, options.equalization, bits, limited, out_bits)
    shown = mapped(luma, luts, counted.shape, options, bits, limited, out_bits)
    display = shown
    if out_bits > 8:
        luts8 = luts_of(counted, options.equalization, bits, limited, 8)
        display = mapped(luma, luts8, counted.shape, options, bits, limited, 8)
    planes[0] = joined(planes[0], luma, shown, geometry.pixel_format, options)
    if out_bits > 8:
        planes[0] = planes[0] << shift
    if geometry.pixel_format in RGB:
        display = rgb_luma(planes[0], geometry.pixel_format)
    planes = [planes[0], *(gained(plane, options, bits, limited, shift) for plane in planes[1:])]
    bins = np.bincount(counted.ravel(), minlength=2**bits)
    return Expected(planes, bins, luts, display, int((raw > luma).sum()))


def reoriented(plane, orientation):
    """Reorient a plane with NumPy."""
    match orientation:
        case Orientation.TRANSPOSE:
            return np.swapaxes(plane, 0, 1).copy()
        case Orientation.ROTATE90:
            return np.rot90(plane, -1).copy()
        case Orientation.ROTATE180:
            return np.rot90(plane, 2).copy()
        case Orientation.ROTATE270:
            return np.rot90(plane, 1).copy()
        case Orientation.FLIP_X:
            return plane[:, ::-1].copy()
        case Orientation.FLIP_Y:
            return plane[::-1].copy()
    return plane.copy()


def luma_of(pixels, pixel_format, color):
    """Return the plane to count: gray or luma, or the value or luma of RGB."""
    if pixel_format in LUMA_AT:
        return pixels[..., LUMA_AT[pixel_format]]
    if pixel_format not in RGB:
        return pixels
    return pixels[..., :3].max(axis=2) if color is ColorMode.VALUE else rgb_luma(pixels, pixel_format)


def bgr(pixels, pixel_format):
    """Return the three colours in BGR order."""
    return pixels[..., 2::-1] if pixel_format is PixelFormat.RGB24 else pixels[..., :3]


def rgb_luma(pixels, pixel_format):
    """Return the luma of BGR pixels."""
    return oracle.luma_of(bgr(pixels, pixel_format))


def region_of(luma, region):
    """Return the slices of the counted pixels."""
    if region is None:
        return (slice(None), slice(None))
    return (slice(region.y, region.y + region.height), slice(region.x, region.x + region.width))


def ends(bits, limited):
    """Return the lowest and highest level of the range."""
    return (16 << (bits - 8), 235 << (bits - 8)) if limited else (0, 2**bits - 1)


def luts_of(counted, equalization, bits, limited, out_bits):
    """Return the LUTs (rows, columns, 2^b) uint8 or uint16 of the counted pixels."""
    clip, mode = equalization.clip_limit, equalization.mode
    if mode is Mode.CLAHE:
        return np.array(
            [
                [clipped_lut(tile, clip, bits, limited, out_bits) for tile in row]
                for row in tiles_of(counted, equalization.tiles)
            ]
        )
    if mode is Mode.IDENTITY:
        lut = unmapped(bits, limited, out_bits)
    elif mode is Mode.CLIPPED:
        lut = clipped_lut(counted, clip, bits, limited, out_bits)
    else:
        make = {Mode.EQUALIZE: equalize_lut, Mode.STRETCH: stretch_lut}[mode]
        lut = make(counted, bits, limited, out_bits)
    return lut[None, None]


def gated(luts, counted, bits, limited, out_bits, equalization):
    """Return the LUTs after the gate (spec 7)."""
    if not equalization.gate:
        return luts
    counts = counts_in_range(counted, bits, limited)
    levels, pixels = len(counts), counted.size
    total = sum(abs(levels * int(c) - pixels * (v + 1)) for v, c in enumerate(np.cumsum(counts)))
    strength = min(max(((total // levels) * 65536 // (levels * pixels) - 1966) * 65536 // 4588, 0), 65536)
    identity = unmapped(bits, limited, out_bits).astype(np.int64)
    return ((identity * (65536 - strength) + luts.astype(np.int64) * strength + 32768) >> 16).astype(
        luts.dtype
    )


def tiles_of(luma, tiles):
    """Return rows of tiles, with the reflected padding."""
    columns, rows = tiles
    height, width = luma.shape
    if width % columns or height % rows:
        height, width = height + rows - height % rows, width + columns - width % columns
    y, x = oracle.reflected(height, luma.shape[0]), oracle.reflected(width, luma.shape[1])
    padded = luma[np.ix_(y, x)]
    return [np.hsplit(row, columns) for row in np.vsplit(padded, rows)]


def levels_of(values, bits, limited, out_bits):
    """Round and saturate levels above the lowest output level, and add that level."""
    low, high = ends(out_bits, limited)
    return (low + np.clip(np.rint(values), 0, high - low)).astype(np.uint8 if out_bits == 8 else np.uint16)


def shown_span(limited, out_bits):
    """Return the number of output levels minus one."""
    low, high = ends(out_bits, limited)
    return high - low


def plain(bits, limited, out_bits):
    """Return the LUT that changes the bit depth only, with levels clamped to the range."""
    low, high = ends(bits, limited)
    above = np.clip(np.arange(2**bits), low, high) - low
    return levels_of(
        above.astype(F) * (F(shown_span(limited, out_bits)) / F(high - low)), bits, limited, out_bits
    )


def unmapped(bits, limited, out_bits):
    """Return the LUT that changes no level, except for another bit depth."""
    if bits == out_bits:
        return np.arange(2**bits).astype(np.uint8 if bits == 8 else np.uint16)
    return plain(bits, limited, out_bits)


def counts_in_range(luma, bits, limited):
    """Return the histogram (high - low + 1,), with levels clamped to the range."""
    low, high = ends(bits, limited)
    return np.bincount(np.clip(luma, low, high).ravel().astype(int) - low, minlength=high - low + 1)


def total(within, bits, limited):
    """Extend a LUT of the range to all levels."""
    low, high = ends(bits, limited)
    return within[np.clip(np.arange(2**bits), low, high) - low]


def equalize_lut(luma, bits, limited, out_bits):
    """Global equalisation."""
    counts = counts_in_range(luma, bits, limited)
    first = np.flatnonzero(counts)[0]
    rest = counts.sum() - counts[first]
    if rest == 0:
        return plain(bits, limited, out_bits)
    after = np.where(np.arange(len(counts)) > first, counts, 0)
    scaled = np.cumsum(after).astype(F) * (F(shown_span(limited, out_bits)) / F(rest))
    return total(levels_of(scaled, bits, limited, out_bits), bits, limited)


def clipped_lut(luma, clip, bits, limited, out_bits):
    """Contrast-limited equalisation of one tile."""
    counts = counts_in_range(luma, bits, limited)
    levels, area = len(counts), luma.size
    if clip > 0:
        limit = max(int(clip * area / levels), 1)
        excess = int(np.maximum(counts - limit, 0).sum())
        counts = np.minimum(counts, limit) + excess // levels
        if excess % levels:
            step = max(levels // (excess % levels), 1)
            counts[: step * (excess % levels) : step] += 1
    scaled = np.cumsum(counts).astype(F) * (F(shown_span(limited, out_bits)) / F(area))
    return total(levels_of(scaled, bits, limited, out_bits), bits, limited)


def stretch_lut(luma, bits, limited, out_bits):
    """Linear stretch between two percentiles."""
    low, _ = ends(bits, limited)
    cumulated = np.cumsum(counts_in_range(luma, bits, limited))
    first = low + int(np.argmax(1000 * cumulated >= luma.size))
    last = low + int(np.argmax(1000 * cumulated >= 999 * luma.size))
    if first == last:
        return plain(bits, limited, out_bits)
    above = np.clip(np.arange(2**bits) - first, 0, last - first)
    return levels_of(
        above.astype(F) * (F(shown_span(limited, out_bits)) / F(last - first)), bits, limited, out_bits
    )


def mapped(luma, luts, counted, options, bits, limited, out_bits):
    """Apply the LUTs to the plane, or only to its region; other pixels keep their level."""
    region = options.region
    if luts.shape[:2] == (1, 1):
        shown = luts[0, 0][luma]
    else:
        shown = blended(luma, luts, counted, (0, 0) if region is None else (region.x, region.y))
    if region is None or region.apply_to_whole_frame:
        return shown
    beside = unmapped(bits, limited, out_bits)[luma]
    box = region_of(luma, region)
    beside[box] = shown[box]
    return beside


def blended(luma, luts, counted, origin):
    """Interpolate between tile centres; pixels outside the tiles use the nearest tile."""
    (height, width), (rows, columns) = counted, luts.shape[:2]
    padded = width % columns or height % rows
    wide = (width + (columns - width % columns if padded else 0)) // columns
    tall = (height + (rows - height % rows if padded else 0)) // rows
    left, right, share_x = axis(luma.shape[1], wide, columns, origin[0])
    above, below, share_y = (a[:, None] for a in axis(luma.shape[0], tall, rows, origin[1]))
    upper = luts[above, left, luma] * (F(1) - share_x) + luts[above, right, luma] * share_x
    lower = luts[below, left, luma] * (F(1) - share_x) + luts[below, right, luma] * share_x
    return np.rint(upper * (F(1) - share_y) + lower * share_y).astype(luts.dtype)


def axis(size, tile, tiles, origin):
    """Return for each pixel of an axis its two tiles and the weight of the second."""
    position = (np.arange(size) - origin).astype(F) * (F(1) / F(tile)) - F(0.5)
    first = np.floor(position)
    index = first.astype(int)
    return np.clip(index, 0, tiles - 1), np.clip(index + 1, 0, tiles - 1), position - first


def joined(pixels, luma, shown, pixel_format, options):
    """Insert the mapped plane in the first plane of the frame."""
    if pixel_format in LUMA_AT:
        at, out = LUMA_AT[pixel_format], pixels.copy()
        neutral = gained(pixels[..., 1 - at], options, 8, True, 0)
        out[:, : luma.shape[1], at], out[..., 1 - at] = shown, neutral
        return out
    if pixel_format not in RGB:
        return shown
    join = {ColorMode.VALUE: oracle.recolor_value, ColorMode.LUMA: oracle.recolor_luma}
    out, colors = pixels.copy(), join[options.equalization.color](bgr(pixels, pixel_format), shown)
    box = (slice(None), slice(None))
    if options.region is not None and not options.region.apply_to_whole_frame:
        box = region_of(luma, options.region)
    out[..., :3][box] = bgr(colors, pixel_format)[box]
    return out


def gained(chroma, options, bits, limited, shift):
    """Multiply the distance of chroma from neutral by the gain."""
    gain = options.equalization.chroma_gain
    if gain == 1:
        return chroma
    low, high = (16 << (bits - 8), 240 << (bits - 8)) if limited else (0, 2**bits - 1)
    neutral = 2 ** (bits - 1)
    levels = np.rint(neutral + ((chroma >> shift).astype(float) - neutral) * gain)
    return (np.clip(levels, low, high).astype(np.int64) << shift).astype(chroma.dtype)
