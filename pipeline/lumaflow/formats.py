"""How the bytes of a frame are to be read: pixel formats, their depth and planes, and colour tags."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Family(StrEnum):
    """What a pixel consists of: one level, three colours, or a luma with chroma beside it."""

    GRAY = "gray"
    RGB = "rgb"
    YUV = "yuv"


class Chroma(StrEnum):
    """Where the chroma of a YUV frame lies.

    `semi_planar`: one plane of (Cb, Cr) pairs, half as wide and high; `planar`: two such planes, Cb and Cr;
    `packed`: between the luma samples of the first plane, half as wide.
    """

    NONE = "none"
    SEMI_PLANAR = "semi_planar"
    PLANAR = "planar"
    PACKED = "packed"


class Alignment(StrEnum):
    """Where the valid bits of a 16-bit word lie: at its low end or at its high end."""

    LSB = "lsb"
    MSB = "msb"


class Range(StrEnum):
    """Which levels carry the picture: all, or (at 8 bits) luma 16..235."""

    UNSPECIFIED = "unspecified"
    LIMITED = "limited"
    FULL = "full"


class Matrix(StrEnum):
    """How luma and chroma were made of red, green and blue; carried from input to output."""

    UNSPECIFIED = "unspecified"
    BT601 = "bt601"
    BT709 = "bt709"
    BT2020 = "bt2020"


@dataclass(frozen=True, slots=True)
class Color:
    """Colour tags of a frame, carried to its enhanced frame untouched.

    range : an unspecified one means limited for YUV formats, full for all others
    primaries, transfer : names as the source gives them
    """

    range: Range = Range.UNSPECIFIED
    matrix: Matrix = Matrix.UNSPECIFIED
    primaries: str = ""
    transfer: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """What distinguishes one pixel format from another.

    bits : valid bits of a sample
    channels : samples of a pixel in the first plane
    blue : channel of blue (then red is 2 - blue) in RGB formats
    luma : channel of the luma in woven formats
    alignment : fixed by the format; None where the frame says it
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
        """Type of every sample: uint8, or uint16 above 8 bits."""
        return np.dtype(np.uint8) if self.bits == 8 else np.dtype(np.uint16)


class PixelFormat(StrEnum):
    """Names as in FFmpeg, but for the depth of gray, whose bits may lie at either end of the word."""

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
        """Depth, channels and planes of this format."""
        return LAYOUTS[self]

    @property
    def channels(self) -> int:
        """Interleaved samples of a pixel in the first plane."""
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
"""Every pixel format there is."""
