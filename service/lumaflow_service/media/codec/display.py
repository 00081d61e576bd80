"""Pixels of any frame for an image file or a screen."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import Family
from lumaflow.frame import Frame, Plane
from lumaflow.geometry import Geometry

Bytes = NDArray[np.uint8]


def display_pixels(frame: Frame) -> Bytes:
    """(H, W) gray or (H, W, 3) BGR uint8 of a frame, without alpha.

    Gray above 8 bits or of limited range is scaled to full-range 8 bits (docs/spec.md, 8). YUV is converted
    by its own matrix and range.
    """
    family = frame.pixel_format.layout.family
    if family is Family.GRAY:
        return _gray(frame)
    if family is Family.YUV:
        from lumaflow_service.media.convert import yuv_to_bgr  # FFmpeg's libraries load slowly

        return yuv_to_bgr(frame)
    channels = frame.pixels[..., :3]
    return channels if frame.pixel_format.layout.blue == 0 else channels[..., ::-1]


def lossless_pixels(frame: Frame) -> Plane:
    """As `display_pixels`, but with alpha, and gray above 8 bits as uint16.

    A level of b bits is scaled to 16 as PNG demands: white is 65535, and the upper b bits are the level.
    """
    layout = frame.pixel_format.layout
    if layout.family is Family.GRAY and layout.bits > 8:
        levels = frame.pixels >> frame.geometry.shift
        return np.asarray(levels << (16 - layout.bits) | levels >> (2 * layout.bits - 16), np.uint16)
    return frame.pixels if layout.channels == 4 else display_pixels(frame)


def _gray(frame: Frame) -> Bytes:
    geometry = frame.geometry
    if geometry.layout.bits == 8 and not geometry.limited:
        return frame.pixels
    return np.asarray(_display_lut(geometry)[frame.pixels >> geometry.shift], np.uint8)


@cache
def _display_lut(geometry: Geometry) -> Bytes:
    """The 8-bit level of every level of this depth and range (docs/spec.md, 8); above the depth: white."""
    bits = geometry.layout.bits
    low, high = (16 << bits - 8, 235 << bits - 8) if geometry.limited else (0, (1 << bits) - 1)
    levels = np.arange(1 << geometry.dtype.itemsize * 8).clip(low, high) - low
    scale = np.float32(255) / np.float32(high - low)
    return np.asarray(np.rint(levels.astype(np.float32) * scale), np.uint8)
