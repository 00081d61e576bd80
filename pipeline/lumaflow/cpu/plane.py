"""The working plane of a frame, which is counted and mapped: gray, luma, or V of HSV (spec 8, 9)."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.color import luma_plane, recolor_luma, recolor_value, value_plane
from lumaflow.cpu.packed422 import extract_luma, insert_luma, map_chroma
from lumaflow.cpu.u16 import clamp_samples, max_sample, shift_left, shift_right
from lumaflow.formats import Chroma, Family
from lumaflow.geometry import Geometry
from lumaflow.lane import above_bit_depth
from lumaflow.options import ColorMode, Options
from lumaflow.roi import mapped_rect, outside_rects
from lumaflow.tables import chroma_lut

Levels = NDArray[Any]


class WorkingPlane(Protocol):
    """Extracts the working plane of one pixel format, and inserts it again after mapping.

    `pixels` and `out` are the first planes of a frame.

    clamped : number of values above the bit depth in the last extracted frame
    """

    clamped: int

    def extract(self, pixels: Levels) -> Levels:
        """Return the working plane (H, W). Raises FrameError for a value above the bit depth."""

    def target(self, out: Levels) -> Levels:
        """Return the array for the mapped plane, to be written before `insert`."""

    def insert(self, pixels: Levels, out: Levels) -> None:
        """Write `out` from `pixels` and the mapped plane."""

    def luma(self, out: Levels) -> Levels:
        """Return the luma (H, W) of the enhanced frame, for the features of 8-bit frames."""


def open_working_plane(geometry: Geometry, output: Geometry, options: Options) -> WorkingPlane:
    """Return the working plane of a geometry; allocates its scratch."""
    if geometry.layout.family is Family.RGB:
        return ColorPlane(geometry, options)
    if geometry.layout.chroma is Chroma.PACKED:
        return Packed422Plane(geometry, options.equalization.chroma_gain)
    if geometry.layout.bits > 8:
        return PlaneU16(geometry, output, options.clamp)
    return PlaneU8()


class PlaneU8:
    """8-bit gray, or the luma plane of nv12 and i420: used without a copy."""

    clamped = 0

    def extract(self, pixels: Levels) -> Levels:
        return pixels

    def target(self, out: Levels) -> Levels:
        return out

    def insert(self, pixels: Levels, out: Levels) -> None:
        """Nothing to do: the mapped plane is `out`."""

    def luma(self, out: Levels) -> Levels:
        return out


class PlaneU16:
    """Gray or luma of 10 to 16 bits, LSB-aligned or MSB-aligned."""

    def __init__(self, geometry: Geometry, output: Geometry, clamp: bool) -> None:
        self.clamped = 0
        self._geometry = geometry
        self._clamp = clamp
        self._top = (1 << geometry.layout.bits) - 1
        self._shift = geometry.shift
        self._out_shift = output.shift
        self._scratch = np.empty(geometry.shape if self._shift or clamp else (0, 0), np.uint16)

    def extract(self, pixels: Levels) -> Levels:
        if self._shift:
            shift_right(pixels, self._shift, self._scratch)
            return self._scratch
        if self._clamp:
            self.clamped = int(clamp_samples(pixels, self._top, self._scratch))
            return self._scratch
        value = int(max_sample(pixels))
        if value > self._top:
            raise above_bit_depth(self._geometry, value)
        return pixels

    def target(self, out: Levels) -> Levels:
        return out

    def insert(self, pixels: Levels, out: Levels) -> None:
        if self._out_shift:
            shift_left(out, self._out_shift)

    def luma(self, out: Levels) -> Levels:
        return out


class ColorPlane:
    """V of HSV, or the luma, of an RGB frame with or without alpha."""

    clamped = 0

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self._value = options.equalization.color is ColorMode.VALUE
        self._red_first = geometry.layout.blue == 2
        self._rect = mapped_rect(geometry, options.region)
        self._outside_rects = outside_rects(geometry, self._rect)
        shape = (geometry.height, geometry.width)
        self._raw, self._mapped, self._luma = (np.empty(shape, np.uint8) for _ in range(3))

    def extract(self, pixels: Levels) -> Levels:
        if self._value:
            value_plane(_flat(pixels), self._raw)
        else:
            luma_plane(_flat(pixels), self._red_first, self._raw)
        return self._raw

    def target(self, out: Levels) -> Levels:
        return self._mapped

    def insert(self, pixels: Levels, out: Levels) -> None:
        planes = (_flat(pixels), self._raw, self._mapped)
        if self._value:
            recolor_value(*planes, self._rect, _flat(out))
        else:
            recolor_luma(*planes, self._red_first, self._rect, _flat(out))
        for left, top, right, bottom in self._outside_rects:
            np.copyto(out[top:bottom, left:right], pixels[top:bottom, left:right])

    def luma(self, out: Levels) -> Levels:
        luma_plane(_flat(out), self._red_first, self._luma)
        return self._luma


class Packed422Plane:
    """The luma of yuyv and uyvy."""

    clamped = 0

    def __init__(self, geometry: Geometry, chroma_gain: float) -> None:
        self._channel = geometry.layout.luma
        self._chroma = chroma_lut(geometry, chroma_gain) if chroma_gain != 1.0 else None
        shape = (geometry.height, geometry.width)
        self._raw, self._mapped = (np.empty(shape, np.uint8) for _ in range(2))

    def extract(self, pixels: Levels) -> Levels:
        extract_luma(pixels, self._channel, self._raw)
        return self._raw

    def target(self, out: Levels) -> Levels:
        return self._mapped

    def insert(self, pixels: Levels, out: Levels) -> None:
        if out is not pixels:
            np.copyto(out, pixels)
        insert_luma(self._mapped, self._channel, out)
        if self._chroma is not None:
            map_chroma(self._chroma, 1 - self._channel, out)

    def luma(self, out: Levels) -> Levels:
        extract_luma(out, self._channel, self._mapped)
        return self._mapped


def _flat(pixels: Levels) -> Levels:
    """Return a view of interleaved pixels as rows of channels * W samples."""
    return pixels.reshape(pixels.shape[0], -1)
