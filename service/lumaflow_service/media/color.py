"""From a decoder's pixels to BGR and back, by the same matrix and range both ways.

The numbers are those of H.273, as FFmpeg and PyAV use them; range 0 and the others 2 mean "not said".
"""

from dataclasses import dataclass

import numpy as np
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from numpy.typing import NDArray

BT709, BT601, BT2020, UNSAID = 1, 6, 9, 2
LIMITED, FULL = 1, 2
HD_LINES = 720
# Rounded to the nearest and with chroma interpolated; the plain conversion is off by up to 3 levels.
_EXACTLY = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT

_MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}


@dataclass(frozen=True, slots=True)
class YuvConversion:
    """What the numbers of a video mean: its tags, carried through untouched."""

    matrix: int
    range: int
    primaries: int
    transfer: int
    lines: int

    @classmethod
    def of(cls, frame: VideoFrame) -> "YuvConversion":
        """The tags of a decoded frame; for RGB those of the YUV that it is stored as."""
        matrix, range_ = frame.colorspace, frame.color_range
        if is_rgb(frame):
            matrix, range_ = (BT709 if frame.height >= HD_LINES else BT601), LIMITED
        elif frame.format.name.startswith(("yuvj", "gray")):
            range_ = range_ or FULL
        return cls(matrix, range_, frame.color_primaries, frame.color_trc, frame.height)

    def tag(self, target: VideoCodecContext | VideoFrame) -> None:
        """Write the tags to an encoder or to a frame for it."""
        target.colorspace, target.color_range = self.matrix, self.range
        target.color_primaries, target.color_trc = self.primaries, self.transfer

    @property
    def _matrix(self) -> Colorspace:
        """The matrix to compute with: where none is said, what players assume from the size."""
        assumed = Colorspace.ITU709 if self.lines >= HD_LINES else Colorspace.ITU601
        return _MATRICES.get(self.matrix, assumed)

    @property
    def _range(self) -> ColorRange:
        return ColorRange.JPEG if self.range == FULL else ColorRange.MPEG


def to_bgr(frame: VideoFrame, color: YuvConversion) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 BGR of a decoded frame; rows may be pitched."""
    if is_rgb(frame):
        picture = frame.reformat(format="bgr24")
    else:
        picture = frame.reformat(
            format="bgr24",
            src_colorspace=color._matrix,
            src_color_range=color._range,
            dst_color_range=ColorRange.JPEG,
            interpolation=_EXACTLY,
        )
    plane = picture.planes[0]
    shape, strides = (frame.height, frame.width, 3), (plane.line_size, 3, 1)
    return np.ndarray(shape, np.uint8, buffer=memoryview(plane), strides=strides)


def from_bgr(
    pixels: NDArray[np.uint8], color: YuvConversion, pixel_format: str, size: tuple[int, int]
) -> VideoFrame:
    """An encoder's frame of (H, W, 3) BGR pixels, scaled to `size` (width, height) where they differ."""
    picture = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "bgr24")
    frame = picture.reformat(
        *size,
        format=pixel_format,
        src_color_range=ColorRange.JPEG,
        dst_colorspace=color._matrix,
        dst_color_range=color._range,
        interpolation=_EXACTLY,
    )
    color.tag(frame)
    return frame


def converted(
    frame: VideoFrame, color: YuvConversion, pixel_format: str, size: tuple[int, int] | None = None
) -> VideoFrame:
    """A YUV frame in another YUV format, scaled to `size` where given; its levels mean what they meant."""
    made = frame.reformat(
        *(size or (frame.width, frame.height)),
        format=pixel_format,
        src_colorspace=color._matrix,
        dst_colorspace=color._matrix,
        src_color_range=color._range,
        dst_color_range=color._range,
        interpolation=_EXACTLY,
    )
    color.tag(made)
    return made


def stored_as(frame: VideoFrame, even_only: bool) -> str:
    """The 8-bit pixel format to encode with: the source's chroma, or whole chroma where its size is odd.

    `even_only` says that the encoder takes subsampled chroma of even sizes only.
    """
    across, down = chroma_steps(frame)
    if even_only and (frame.width % across or frame.height % down):
        across = down = 1
    return {(1, 1): "yuv444p", (2, 1): "yuv422p"}.get((across, down), "yuv420p")


def chroma_steps(frame: VideoFrame) -> tuple[int, int]:
    """How many luma samples share one chroma sample, across and down."""
    if is_rgb(frame) or len(frame.format.components) < 3:
        return 2, 2
    return 64 // frame.format.chroma_width(64), 64 // frame.format.chroma_height(64)


def is_rgb(frame: VideoFrame) -> bool:
    """Whether a decoded frame is no YUV at all."""
    return frame.format.is_rgb or frame.format.has_palette
