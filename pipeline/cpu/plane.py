"""The plane of a frame that is counted and mapped: its pixels, or a part of its colour (spec 9)."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.cpu.color import luma_plane, recolor_luma, recolor_value, value_plane
from pipeline.frame import Geometry, PixelFormat
from pipeline.options import ColorMode

Pixels = NDArray[np.uint8]


class Plane(Protocol):
    """How a lane gets at the plane of one pixel format, and back."""

    def split(self, pixels: Pixels) -> Pixels:
        """The (H, W) plane of `pixels` that is counted and mapped."""

    def mapped(self, out: Pixels) -> Pixels:
        """Where the mapped plane goes, before `join` makes the frame's `out` of it."""

    def join(self, pixels: Pixels, out: Pixels) -> None:
        """Make `out` of `pixels` and the mapped plane."""

    def luma(self, out: Pixels) -> Pixels:
        """The (H, W) luma of the enhanced frame, for the features."""


def open_plane(geometry: Geometry, color: ColorMode) -> Plane:
    """The plane of this geometry; scratch is taken here."""
    if geometry.pixel_format is PixelFormat.GRAY8:
        return GrayPlane()
    return ColorPlane(geometry, color)


class GrayPlane:
    """A gray frame is its own plane: nothing is copied."""

    def split(self, pixels: Pixels) -> Pixels:
        return pixels

    def mapped(self, out: Pixels) -> Pixels:
        return out

    def join(self, pixels: Pixels, out: Pixels) -> None:
        """The mapped plane already lies in `out`."""

    def luma(self, out: Pixels) -> Pixels:
        return out


class ColorPlane:
    """The value or the luma of a BGR frame."""

    def __init__(self, geometry: Geometry, color: ColorMode) -> None:
        self._split, self._join = {
            ColorMode.VALUE: (value_plane, recolor_value),
            ColorMode.LUMA: (luma_plane, recolor_luma),
        }[color]
        shape = (geometry.height, geometry.width)
        self._raw, self._mapped, self._luma = (np.empty(shape, np.uint8) for _ in range(3))

    def split(self, pixels: Pixels) -> Pixels:
        self._split(_flat(pixels), self._raw)
        return self._raw

    def mapped(self, out: Pixels) -> Pixels:
        return self._mapped

    def join(self, pixels: Pixels, out: Pixels) -> None:
        self._join(_flat(pixels), self._raw, self._mapped, _flat(out))

    def luma(self, out: Pixels) -> Pixels:
        luma_plane(_flat(out), self._luma)
        return self._luma


def _flat(pixels: Pixels) -> Pixels:
    """Packed BGR as rows of 3 * W channels; a view."""
    return pixels.reshape(pixels.shape[0], -1)
