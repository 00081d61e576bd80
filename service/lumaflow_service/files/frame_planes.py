"""The planes of a decoded video frame, and the part of them that passes the lane.

YUV stays YUV. In a plain mode its luma passes the lane as gray of the same depth and range, and its chroma
is unchanged. In an adaptive mode, which changes colours too, all of it passes, as NV12 or P010. RGB video
becomes BGR.
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
from lumaflow_service.media.color import FULL, ColorTags, matrix_of_number
from lumaflow_service.media.convert import convert_yuv, from_bgr, plane_arrays, to_bgr
from lumaflow_service.media.pixel_format import (
    PIXEL_FORMATS,
    bit_depth,
    chroma_subsampling,
    is_gray,
    is_rgb,
    planar_yuv,
)

BGR = "bgr24"
_COLOR_FORMATS = (BGR, "nv12", "p010le")
"""The formats whose frames pass the lane with their colours."""
_GRAY_FORMATS = {8: PixelFormat.GRAY8, 10: PixelFormat.GRAY10, 12: PixelFormat.GRAY12}


def working_format(frame: VideoFrame, orientation: Orientation, with_chroma: bool) -> str:
    """The pixel format to enhance in: planar YUV of the frame's subsampling at 8, 10 or 12 bits, or BGR.

    A 4:2:2 frame whose orientation exchanges width and height becomes 4:4:4. `with_chroma` gives a format
    whose chroma passes the lane too: NV12, P010 above 8 bits, or BGR for 8 bits of other subsamplings.
    """
    if is_rgb(frame):
        return BGR
    if with_chroma and not is_gray(frame):
        if bit_depth(frame) > 8:
            return "p010le"
        return "nv12" if chroma_subsampling(frame) == (2, 2) else BGR
    bits = next((bits for bits in _GRAY_FORMATS if bits >= bit_depth(frame)), 12)
    subsampling = chroma_subsampling(frame)
    if orientation.swaps_sides and subsampling[0] != subsampling[1]:
        subsampling = (1, 1)
    return planar_yuv(subsampling, bits)


@dataclass(frozen=True, slots=True)
class FramePlanes:
    """`planes` of FFmpeg's `pixel_format`: luma, then Cb and Cr in one or two planes, or BGR (H, W, 3)."""

    pixel_format: str
    planes: tuple[Plane, ...]

    @classmethod
    def of(
        cls, frame: VideoFrame, tags: ColorTags, pixel_format: str, orientation: Orientation
    ) -> "FramePlanes":
        """A decoded frame in `pixel_format`, reoriented; without a copy where neither changes it."""
        if pixel_format == BGR:
            planes: tuple[Plane, ...] = (to_bgr(frame, tags),)
        elif is_gray(frame) and _bits(frame.format.name) == _bits(pixel_format):
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
        """The frame for the lane: luma as gray, or all planes of NV12, P010 and BGR."""
        if self.pixel_format == BGR:
            return Frame(self.planes[0], PixelFormat.BGR24, pts, time_base, corrupt)
        color = Color(Range.FULL if tags.range == FULL else Range.LIMITED, matrix_of_number(tags.matrix))
        if self.pixel_format in _COLOR_FORMATS:
            pixel_format, (luma, chroma) = PIXEL_FORMATS[self.pixel_format], self.planes
            return Frame(luma, pixel_format, pts, time_base, corrupt, color=color, chroma=(chroma,))
        gray = _GRAY_FORMATS[_bits(self.pixel_format)]
        return Frame(self.planes[0], gray, pts, time_base, corrupt, color=color)

    def with_planes(self, planes: tuple[Plane, ...]) -> "FramePlanes":
        """The same frame with its first planes, or all of them, replaced."""
        return replace(self, planes=(*planes, *self.planes[len(planes) :]))

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
