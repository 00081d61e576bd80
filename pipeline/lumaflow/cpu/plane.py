"""The plane of a frame that is counted and mapped: pixels, luma, or a part of colour (spec 8, 9)."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.color import luma_plane, recolor_luma, recolor_value, value_plane
from lumaflow.cpu.packed422 import map_chroma, read_luma, write_luma
from lumaflow.cpu.u16 import clamp_words, highest, lower_words, raise_levels
from lumaflow.formats import Chroma, Family
from lumaflow.geometry import Geometry
from lumaflow.lane import above_bit_depth
from lumaflow.options import ColorMode, Options
from lumaflow.roi import mapped_rect, outside_rects
from lumaflow.tables import chroma_lut

Levels = NDArray[Any]


class Plane(Protocol):
    """How a lane gets at the plane of one pixel format, and back. `pixels` and `out` are first planes.

    clamped : values beyond the depth in the frame split last
    """

    clamped: int

    def split(self, pixels: Levels) -> Levels:
        """The (H, W) plane of `pixels` that is counted and mapped. Raises FrameError (values)."""

    def mapped(self, out: Levels) -> Levels:
        """Where the mapped plane goes, before `join` makes the frame's `out` of it."""

    def join(self, pixels: Levels, out: Levels) -> None:
        """Make `out` of `pixels` and the mapped plane."""

    def luma(self, out: Levels) -> Levels:
        """The (H, W) luma of the enhanced frame, for the features of a frame of 8 bits."""


def open_plane(geometry: Geometry, output: Geometry, options: Options) -> Plane:
    """The plane of this turned geometry; scratch is taken here."""
    if geometry.layout.family is Family.RGB:
        return ColorPlane(geometry, options)
    if geometry.layout.chroma is Chroma.PACKED:
        return Packed422Plane(geometry, options.equalization.chroma_gain)
    if geometry.layout.bits > 8:
        return PlaneU16(geometry, output, options.clamp)
    return PlaneU8()


class PlaneU8:
    """A gray frame of 8 bits, or the luma beside its chroma, is its own plane: nothing is copied."""

    clamped = 0

    def split(self, pixels: Levels) -> Levels:
        return pixels

    def mapped(self, out: Levels) -> Levels:
        return out

    def join(self, pixels: Levels, out: Levels) -> None:
        """The mapped plane already lies in `out`."""

    def luma(self, out: Levels) -> Levels:
        return out


class PlaneU16:
    """Levels of 10 to 16 bits in words, aligned to either end."""

    def __init__(self, geometry: Geometry, output: Geometry, clamp: bool) -> None:
        self.clamped = 0
        self._geometry = geometry
        self._clamp = clamp
        self._top = (1 << geometry.layout.bits) - 1
        self._shift = geometry.shift
        self._raise = output.shift
        self._scratch = np.empty(geometry.shape if self._shift or clamp else (0, 0), np.uint16)

    def split(self, pixels: Levels) -> Levels:
        if self._shift:
            lower_words(pixels, self._shift, self._scratch)
            return self._scratch
        if self._clamp:
            self.clamped = int(clamp_words(pixels, self._top, self._scratch))
            return self._scratch
        value = int(highest(pixels))
        if value > self._top:
            raise above_bit_depth(self._geometry, value)
        return pixels

    def mapped(self, out: Levels) -> Levels:
        return out

    def join(self, pixels: Levels, out: Levels) -> None:
        if self._raise:
            raise_levels(out, self._raise)

    def luma(self, out: Levels) -> Levels:
        return out


class ColorPlane:
    """The value or the luma of a frame of three colours, with or without alpha."""

    clamped = 0

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self._value = options.equalization.color is ColorMode.VALUE
        self._red_first = geometry.layout.blue == 2
        self._window = mapped_rect(geometry, options.region)
        self._beside = outside_rects(geometry, self._window)
        shape = (geometry.height, geometry.width)
        self._raw, self._mapped, self._luma = (np.empty(shape, np.uint8) for _ in range(3))

    def split(self, pixels: Levels) -> Levels:
        if self._value:
            value_plane(_flat(pixels), self._raw)
        else:
            luma_plane(_flat(pixels), self._red_first, self._raw)
        return self._raw

    def mapped(self, out: Levels) -> Levels:
        return self._mapped

    def join(self, pixels: Levels, out: Levels) -> None:
        planes = (_flat(pixels), self._raw, self._mapped)
        if self._value:
            recolor_value(*planes, self._window, _flat(out))
        else:
            recolor_luma(*planes, self._red_first, self._window, _flat(out))
        for left, top, right, bottom in self._beside:
            np.copyto(out[top:bottom, left:right], pixels[top:bottom, left:right])

    def luma(self, out: Levels) -> Levels:
        luma_plane(_flat(out), self._red_first, self._luma)
        return self._luma


class Packed422Plane:
    """The luma between the chroma of yuyv and uyvy."""

    clamped = 0

    def __init__(self, geometry: Geometry, chroma_gain: float) -> None:
        self._channel = geometry.layout.luma
        self._chroma = chroma_lut(geometry, chroma_gain) if chroma_gain != 1.0 else None
        shape = (geometry.height, geometry.width)
        self._raw, self._mapped = (np.empty(shape, np.uint8) for _ in range(2))

    def split(self, pixels: Levels) -> Levels:
        read_luma(pixels, self._channel, self._raw)
        return self._raw

    def mapped(self, out: Levels) -> Levels:
        return self._mapped

    def join(self, pixels: Levels, out: Levels) -> None:
        if out is not pixels:
            np.copyto(out, pixels)
        write_luma(self._mapped, self._channel, out)
        if self._chroma is not None:
            map_chroma(self._chroma, 1 - self._channel, out)

    def luma(self, out: Levels) -> Levels:
        read_luma(out, self._channel, self._mapped)
        return self._mapped


def _flat(pixels: Levels) -> Levels:
    """Interleaved colours as rows of channels * W samples; a view."""
    return pixels.reshape(pixels.shape[0], -1)
