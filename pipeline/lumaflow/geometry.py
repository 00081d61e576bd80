"""The geometry of frames: size, pixel format, range and alignment."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lumaflow.errors import FrameError
from lumaflow.formats import Alignment, Chroma, Family, Layout, PixelFormat, Range
from lumaflow.options import Orientation

MAX_SIDE_PX = 32768
"""Longest side of a frame; every pixel count and offset then fits in 32 bits."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Size, format, range and alignment of all frames of a lane.

    width, height : in pixels, 1 to MAX_SIDE_PX
    range : as in `Color`; unspecified becomes limited for YUV formats, full for all others
    alignment : of gray10, gray12 and gray14; ignored for the other formats, which define it

    Raises FrameError for a size out of range, and for an RGB format with limited range.
    """

    width: int
    height: int
    pixel_format: PixelFormat
    range: Range = Range.UNSPECIFIED
    alignment: Alignment = Alignment.LSB

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MAX_SIDE_PX and 1 <= self.height <= MAX_SIDE_PX):
            raise FrameError(f"each side must be 1..{MAX_SIDE_PX} pixels, got {self.width}x{self.height}")
        if self.range is Range.LIMITED and self.layout.family is Family.RGB:
            raise FrameError(
                f"expected full range for {self.pixel_format}, got limited; expand it to full range first"
            )
        object.__setattr__(self, "range", self._resolved_range())
        object.__setattr__(self, "alignment", self.layout.alignment or self.alignment)

    def __str__(self) -> str:
        parts = [f"{self.width}x{self.height}", str(self.pixel_format)]
        if self.limited != (self.layout.family is Family.YUV):
            parts.append(f"{self.range} range")
        if self.alignment is not (self.layout.alignment or Alignment.LSB):
            parts.append(str(self.alignment))
        return " ".join(parts)

    @property
    def layout(self) -> Layout:
        """Bit depth, channels and planes of the format."""
        return self.pixel_format.layout

    @property
    def limited(self) -> bool:
        """True for limited range."""
        return self.range is Range.LIMITED

    @property
    def shift(self) -> int:
        """Bits below the valid ones in a 16-bit sample: 0 for LSB alignment."""
        return 16 - self.layout.bits if self.alignment is Alignment.MSB else 0

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """dtype of the samples of all planes."""
        return self.layout.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first plane: (H, W), or (H, W, channels); W is rounded up to even in packed 4:2:2."""
        channels = self.layout.channels
        width = _even(self.width) if self.layout.chroma is Chroma.PACKED else self.width
        return (self.height, width) if channels == 1 else (self.height, width, channels)

    @property
    def plane_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of all planes; chroma planes have half the width and height, rounded up."""
        return _plane_shapes(self)

    @property
    def frame_bytes(self) -> int:
        """Bytes of all planes of a frame without row padding."""
        return sum(int(np.prod(shape)) for shape in self.plane_shapes) * self.dtype.itemsize

    def reoriented(self, orientation: Orientation) -> "Geometry":
        """Return the geometry of a frame after `orientation`."""
        if not orientation.swaps_sides:
            return self
        return replace(self, width=self.height, height=self.width)

    def _resolved_range(self) -> Range:
        if self.range is not Range.UNSPECIFIED:
            return self.range
        return Range.LIMITED if self.layout.family is Family.YUV else Range.FULL


def _even(size: int) -> int:
    return size + size % 2


@lru_cache(256)  # called several times a frame
def _plane_shapes(geometry: Geometry) -> tuple[tuple[int, ...], ...]:
    half = (_even(geometry.height) // 2, _even(geometry.width) // 2)
    chroma: dict[Chroma, tuple[tuple[int, ...], ...]] = {
        Chroma.SEMI_PLANAR: ((*half, 2),),
        Chroma.PLANAR: (half, half),
    }
    return (geometry.shape, *chroma.get(geometry.layout.chroma, ()))
