"""The planes of a decoded video frame: the first is enhanced, chroma is copied.

YUV stays YUV: its luma passes the lane as gray of the same depth and range, and its chroma is unchanged.
RGB video becomes BGR.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from av.video.frame import VideoFrame

from lumaflow.formats import Color, PixelFormat, Range
from lumaflow.frame import Frame, Plane
from lumaflow.options import Orientation
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.media.codec.exif_orientation import EXIF_NUMBERS, exif_transpose
from lumaflow_service.media.color import FULL, ColorTags
from lumaflow_service.media.convert import convert_yuv, from_bgr, plane_arrays, to_bgr
from lumaflow_service.media.pixel_format import bit_depth, chroma_subsampling, is_rgb, planar_yuv

BGR = "bgr24"
_GRAY_FORMATS = {8: PixelFormat.GRAY8, 10: PixelFormat.GRAY10, 12: PixelFormat.GRAY12}


def working_format(frame: VideoFrame, orientation: Orientation) -> str:
    """The pixel format to enhance in: planar YUV of the frame's subsampling at 8, 10 or 12 bits, or BGR.

    A 4:2:2 frame whose orientation exchanges width and height becomes 4:4:4.
    """
    if is_rgb(frame):
        return BGR
    bits = next((bits for bits in _GRAY_FORMATS if bits >= bit_depth(frame)), 12)
    subsampling = chroma_subsampling(frame)
    if orientation.swaps_sides and subsampling[0] != subsampling[1]:
        subsampling = (1, 1)
    return planar_yuv(subsampling, bits)


@dataclass(frozen=True, slots=True)
class FramePlanes:
    """`planes` of FFmpeg's `pixel_format`: luma, Cb and Cr, or (H, W, 3) BGR alone."""

    pixel_format: str
    planes: tuple[Plane, ...]

    @classmethod
    def of(
        cls, frame: VideoFrame, tags: ColorTags, pixel_format: str, orientation: Orientation
    ) -> "FramePlanes":
        """A decoded frame in `pixel_format`, reoriented; without a copy where neither changes it."""
        if pixel_format == BGR:
            planes: tuple[Plane, ...] = (to_bgr(frame, tags),)
        elif frame.format.name.startswith("gray") and _bits(frame.format.name) == _bits(pixel_format):
            planes = _with_neutral_chroma(frame, pixel_format)
        else:
            is_same = frame.format.name.replace("yuvj", "yuv") == pixel_format
            planes = plane_arrays(frame if is_same else convert_yuv(frame, tags, pixel_format))
        number = EXIF_NUMBERS[orientation]
        return cls(pixel_format, tuple(exif_transpose(plane, number) for plane in planes))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.planes[0].shape[:2]
        return width, height

    def lane_frame(self, tags: ColorTags, pts: int, time_base: Fraction, corrupt: bool) -> Frame:
        """The frame for the lane: luma as gray, or BGR."""
        if self.pixel_format == BGR:
            return Frame(self.planes[0], PixelFormat.BGR24, pts, time_base, corrupt)
        color = Color(Range.FULL if tags.range == FULL else Range.LIMITED)
        gray = _GRAY_FORMATS[_bits(self.pixel_format)]
        return Frame(self.planes[0], gray, pts, time_base, corrupt, color=color)

    def with_first_plane(self, plane: Plane) -> "FramePlanes":
        """The same frame with its first plane replaced."""
        return replace(self, planes=(plane, *self.planes[1:]))

    def side_by_side(self, enhanced: "FramePlanes", tags: ColorTags, layout: SideBySide) -> "FramePlanes":
        """This frame and the enhanced one in one frame."""
        raw = self
        if self.size[0] % 2 or self.size[1] % 2:  # the halves would share a chroma sample
            raw, enhanced = raw._to_444(tags), enhanced._to_444(tags)
        pairs = zip(raw.planes, enhanced.planes, strict=True)
        return replace(raw, planes=tuple(layout.join(*pair) for pair in pairs))

    def to_video_frame(self, tags: ColorTags, pixel_format: str, size: tuple[int, int]) -> VideoFrame:
        """A tagged frame for an encoder, scaled to `size` (width, height) where it differs."""
        if self.pixel_format == BGR:
            return from_bgr(self.planes[0], tags, pixel_format, size)
        frame = VideoFrame(*self.size, self.pixel_format)
        for target, plane in zip(plane_arrays(frame), self.planes, strict=True):
            np.copyto(target, plane)
        tags.apply_to(frame)
        if (self.pixel_format, self.size) == (pixel_format, size):
            return frame
        return convert_yuv(frame, tags, pixel_format, size)

    def _to_444(self, tags: ColorTags) -> "FramePlanes":
        name = planar_yuv((1, 1), _bits(self.pixel_format))
        if self.pixel_format in (BGR, name):
            return self
        return FramePlanes(name, plane_arrays(self.to_video_frame(tags, name, self.size)))


def _with_neutral_chroma(frame: VideoFrame, pixel_format: str) -> tuple[Plane, ...]:
    (luma,) = plane_arrays(frame)
    shape = ((frame.height + 1) // 2, (frame.width + 1) // 2)
    neutral = np.full(shape, 128 << _bits(pixel_format) - 8, luma.dtype)
    return luma, neutral, neutral


def _bits(name: str) -> int:
    """The depth of a planar YUV or gray format by its name."""
    return next((bits for bits in (10, 12) if name.endswith(f"{bits}le")), 8)
