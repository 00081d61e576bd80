"""A decoded picture on its way through a lane: the plane that is enhanced, and the chroma beside it.

YUV stays what it is: its luma goes through the lane as gray of its own depth and range, and its chroma goes
around it untouched. Only RGB video becomes BGR.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from av.video.frame import VideoFrame

import lumaflow.formats
from lumaflow.formats import PixelFormat, Range
from lumaflow.frame import Frame, Plane
from lumaflow.options import Orientation
from lumaflow_service.files.side_by_side import SideBySide
from lumaflow_service.media.codec.orientation import EXIF, turned
from lumaflow_service.media.color import (
    FULL,
    YuvConversion,
    chroma_steps,
    converted,
    from_bgr,
    is_rgb,
    to_bgr,
)
from lumaflow_service.media.yuv import rows

RGB = "bgr24"
_GRAYS = {8: PixelFormat.GRAY8, 10: PixelFormat.GRAY10, 12: PixelFormat.GRAY12}
_CHROMA = {(1, 1): "yuv444p", (2, 1): "yuv422p"}
_SUFFIX = {8: "", 10: "10le", 12: "12le"}


def bits_of(frame: VideoFrame) -> int:
    """Bits of a decoded sample."""
    return max(component.bits for component in frame.format.components)


def worked_as(frame: VideoFrame, turn: Orientation) -> str:
    """The pixel format to work in: the frame's own chroma at 8, 10 or 12 bits; BGR for RGB.

    Chroma that is shared across but not down cannot be turned on its side; it becomes whole.
    """
    if is_rgb(frame):
        return RGB
    bits = next((depth for depth in _GRAYS if depth >= bits_of(frame)), 12)
    steps = chroma_steps(frame)
    if turn.swaps_sides and steps[0] != steps[1]:
        steps = (1, 1)
    return _CHROMA.get(steps, "yuv420p") + _SUFFIX[bits]


@dataclass(frozen=True, slots=True)
class MediaPicture:
    """`planes` of the pixel format `name`: luma, Cb and Cr, or BGR alone."""

    name: str
    planes: tuple[Plane, ...]

    @classmethod
    def of(cls, frame: VideoFrame, color: YuvConversion, name: str, turn: Orientation) -> "MediaPicture":
        """A decoded frame in the format `name`, turned; without a copy where it lies there already."""
        if name == RGB:
            planes: tuple[Plane, ...] = (to_bgr(frame, color),)
        elif frame.format.name.startswith("gray") and _depth(frame.format.name) == _depth(name):
            planes = _with_neutral_chroma(frame, name)
        else:
            same = frame.format.name.replace("yuvj", "yuv") == name
            planes = planes_of(frame if same else converted(frame, color, name))
        return cls(name, tuple(turned(plane, EXIF[turn]) for plane in planes))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.planes[0].shape[:2]
        return width, height

    def frame(self, color: YuvConversion, pts: int, time_base: Fraction, corrupt: bool) -> Frame:
        """What goes through the lane."""
        if self.name == RGB:
            return Frame(self.planes[0], PixelFormat.BGR24, pts, time_base, corrupt)
        range_ = Range.FULL if color.range == FULL else Range.LIMITED
        tags = lumaflow.formats.Color(range_)
        return Frame(self.planes[0], _GRAYS[_depth(self.name)], pts, time_base, corrupt, color=tags)

    def showing(self, enhanced: Plane) -> "MediaPicture":
        """The same picture with its first plane enhanced."""
        return replace(self, planes=(enhanced, *self.planes[1:]))

    def beside(self, enhanced: "MediaPicture", color: YuvConversion, split: SideBySide) -> "MediaPicture":
        """This picture and the enhanced one in one."""
        raw = self
        if self.size[0] % 2 or self.size[1] % 2:  # half chroma samples cannot be put side by side
            raw, enhanced = raw._whole(color), enhanced._whole(color)
        halves = zip(raw.planes, enhanced.planes, strict=True)
        return replace(raw, planes=tuple(split.join(*pair) for pair in halves))

    def to_video(self, color: YuvConversion, pixel_format: str, size: tuple[int, int]) -> VideoFrame:
        """An encoder's frame, scaled to `size` (width, height) where they differ."""
        if self.name == RGB:
            return from_bgr(self.planes[0], color, pixel_format, size)
        frame = VideoFrame(*self.size, self.name)
        for place, plane in zip(planes_of(frame), self.planes, strict=True):
            np.copyto(place, plane)
        color.tag(frame)
        if (self.name, self.size) == (pixel_format, size):
            return frame
        return converted(frame, color, pixel_format, size)

    def _whole(self, color: YuvConversion) -> "MediaPicture":
        """The same with a chroma sample for every pixel."""
        name = _CHROMA[1, 1] + _SUFFIX[_depth(self.name)]
        if self.name in (RGB, name):
            return self
        return MediaPicture(name, planes_of(self.to_video(color, name, self.size)))


def planes_of(frame: VideoFrame) -> tuple[Plane, ...]:
    """The planes of a planar YUV or gray frame, 8 to 16 bits, without a copy."""
    dtype = np.dtype(np.uint8) if bits_of(frame) == 8 else np.dtype(np.uint16)
    return tuple(rows(plane, (plane.height, plane.width), dtype) for plane in frame.planes)


def _with_neutral_chroma(frame: VideoFrame, name: str) -> tuple[Plane, ...]:
    (luma,) = planes_of(frame)
    half = ((frame.height + 1) // 2, (frame.width + 1) // 2)
    neutral = np.full(half, 128 << _depth(name) - 8, luma.dtype)
    return luma, neutral, neutral


def _depth(name: str) -> int:
    return next((bits for bits, suffix in _SUFFIX.items() if suffix and name.endswith(suffix)), 8)
