"""Pixel formats and colour tags: how the bytes of a frame are read."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Family(StrEnum):
    """The components of a pixel."""

    GRAY = "gray"
    RGB = "rgb"
    YUV = "yuv"


class Chroma(StrEnum):
    """How a YUV format stores its chroma.

    `semi_planar`: 4:2:0, one plane of (Cb, Cr) pairs (nv12, p010); `planar`: 4:2:0, a Cb and a Cr plane
    (i420); `packed`: 4:2:2, interleaved with the luma in the first plane (yuyv, uyvy).
    """

    NONE = "none"
    SEMI_PLANAR = "semi_planar"
    PLANAR = "planar"
    PACKED = "packed"


class Alignment(StrEnum):
    """The position of the valid bits in a 16-bit sample: the low or the high bits."""

    LSB = "lsb"
    MSB = "msb"


class Range(StrEnum):
    """The levels that carry the image: all of them (full), or at 8 bits luma 16..235 (limited)."""

    UNSPECIFIED = "unspecified"
    LIMITED = "limited"
    FULL = "full"


class Matrix(StrEnum):
    """The YUV matrix; carried from the frame to the enhanced frame."""

    UNSPECIFIED = "unspecified"
    BT601 = "bt601"
    BT709 = "bt709"
    BT2020 = "bt2020"


@dataclass(frozen=True, slots=True)
class Color:
    """Colour tags of a frame; the enhanced frame has the same.

    range : unspecified means limited for YUV formats, full for all others
    primaries, transfer : names as in the source
    """

    range: Range = Range.UNSPECIFIED
    matrix: Matrix = Matrix.UNSPECIFIED
    primaries: str = ""
    transfer: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The properties of a pixel format.

    bits : bit depth of a sample
    channels : samples of a pixel in the first plane
    blue : channel of blue in RGB formats; red is channel 2 - blue
    luma : channel of the luma in packed 4:2:2 formats
    alignment : None where the frame specifies it
    """

    family: Family
    bits: int
    channels: int = 1
    chroma: Chroma = Chroma.NONE
    blue: int = 0
    luma: int = 0
    alignment: Alignment | None = Alignment.LSB

    @property
    def dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """dtype of every sample: uint8, or uint16 above 8 bits."""
        return np.dtype(np.uint8) if self.bits == 8 else np.dtype(np.uint16)


class PixelFormat(StrEnum):
    """Pixel formats, named as in FFmpeg; gray10 to gray16 are uint16, aligned as `Alignment` says."""

    GRAY8 = "gray8"
    GRAY10 = "gray10"
    GRAY12 = "gray12"
    GRAY14 = "gray14"
    GRAY16 = "gray16"
    BGR24 = "bgr24"
    RGB24 = "rgb24"
    BGRA32 = "bgra32"
    NV12 = "nv12"
    I420 = "i420"
    P010 = "p010"
    YUYV = "yuyv"
    UYVY = "uyvy"

    @property
    def layout(self) -> Layout:
        """Bit depth, channels and planes of this format."""
        return LAYOUTS[self]

    @property
    def channels(self) -> int:
        """Samples of a pixel in the first plane."""
        return self.layout.channels


LAYOUTS = {
    PixelFormat.GRAY8: Layout(Family.GRAY, 8),
    PixelFormat.GRAY10: Layout(Family.GRAY, 10, alignment=None),
    PixelFormat.GRAY12: Layout(Family.GRAY, 12, alignment=None),
    PixelFormat.GRAY14: Layout(Family.GRAY, 14, alignment=None),
    PixelFormat.GRAY16: Layout(Family.GRAY, 16),
    PixelFormat.BGR24: Layout(Family.RGB, 8, 3, blue=0),
    PixelFormat.RGB24: Layout(Family.RGB, 8, 3, blue=2),
    PixelFormat.BGRA32: Layout(Family.RGB, 8, 4, blue=0),
    PixelFormat.NV12: Layout(Family.YUV, 8, chroma=Chroma.SEMI_PLANAR),
    PixelFormat.I420: Layout(Family.YUV, 8, chroma=Chroma.PLANAR),
    PixelFormat.P010: Layout(Family.YUV, 10, chroma=Chroma.SEMI_PLANAR, alignment=Alignment.MSB),
    PixelFormat.YUYV: Layout(Family.YUV, 8, 2, chroma=Chroma.PACKED, luma=0),
    PixelFormat.UYVY: Layout(Family.YUV, 8, 2, chroma=Chroma.PACKED, luma=1),
}
"""The properties of every pixel format."""
