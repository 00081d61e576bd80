"""How a decoded picture lies in a slot: as it is where the pipeline has its format, else converted once."""

import numpy as np
from av.video.frame import VideoFrame

from lumaflow.formats import Family, Matrix, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow_service.media.color import (
    BT601,
    BT709,
    BT2020,
    FULL,
    LIMITED,
    YuvConversion,
    chroma_steps,
    converted,
    is_rgb,
    to_bgr,
)
from lumaflow_service.media.yuv import rows

FORMATS = {
    "gray": PixelFormat.GRAY8,
    "gray10le": PixelFormat.GRAY10,
    "gray12le": PixelFormat.GRAY12,
    "gray14le": PixelFormat.GRAY14,
    "gray16le": PixelFormat.GRAY16,
    "bgr24": PixelFormat.BGR24,
    "rgb24": PixelFormat.RGB24,
    "nv12": PixelFormat.NV12,
    "yuv420p": PixelFormat.I420,
    "yuvj420p": PixelFormat.I420,
    "p010le": PixelFormat.P010,
    "yuyv422": PixelFormat.YUYV,
    "uyvy422": PixelFormat.UYVY,
}
"""FFmpeg's formats that the pipeline has: their planes are copied as they are."""
BT470BG, BT2020_CONSTANT = 5, 10
_WOVEN = ("yuyv422", "uyvy422")
_RANGES = {LIMITED: Range.LIMITED, FULL: Range.FULL}
_MATRICES = {
    BT709: Matrix.BT709,
    BT470BG: Matrix.BT601,
    BT601: Matrix.BT601,
    BT2020: Matrix.BT2020,
    BT2020_CONSTANT: Matrix.BT2020,
}


def slot_geometry(frame: VideoFrame, turned: bool = False) -> Geometry:
    """Size, format and range of a decoded frame in a slot.

    `turned` says that it will be turned: pixels that share their chroma in pairs along a row cannot be.
    """
    pixel_format = FORMATS[_laid_as(frame, turned)]
    range_ = _RANGES.get(YuvConversion.of(frame).range, Range.UNSPECIFIED)
    if pixel_format.layout.family is Family.RGB:
        range_ = Range.FULL
    return Geometry(frame.width, frame.height, pixel_format, range_)


def matrix_of(frame: VideoFrame) -> Matrix:
    """The matrix of a decoded frame, as the pipeline names it."""
    return _MATRICES.get(int(frame.colorspace), Matrix.UNSPECIFIED)


def write_to_slot(frame: VideoFrame, geometry: Geometry, buffer: memoryview) -> None:
    """Write a decoded frame into a buffer of `geometry.frame_bytes`, by what `slot_geometry` said."""
    laid = Frame.from_buffer(buffer, geometry)
    name = next(name for name in (frame.format.name, *FORMATS) if FORMATS.get(name) is geometry.pixel_format)
    if name == "bgr24":
        np.copyto(laid.pixels, to_bgr(frame, YuvConversion.of(frame)))
        return
    picture = frame if frame.format.name == name else converted(frame, YuvConversion.of(frame), name)
    for plane, samples in zip(picture.planes, laid.planes, strict=True):
        np.copyto(samples, rows(plane, samples.shape, samples.dtype))


def _laid_as(frame: VideoFrame, turned: bool) -> str:
    """FFmpeg's name of the format: the frame's own, or the one that loses least."""
    name, steps = frame.format.name, chroma_steps(frame)
    woven = steps == (2, 1) and _bits(frame) == 8 and not turned and frame.width % 2 == 0
    if name in FORMATS and (woven or name not in _WOVEN):
        return name
    if is_rgb(frame):
        return "bgr24"
    if name.startswith(("gray", "ya")):
        return "gray" if _bits(frame) == 8 else "gray16le"
    if _bits(frame) > 8:
        return "p010le"
    if woven:
        return "yuyv422"
    return "bgr24" if steps == (1, 1) else "yuv420p"


def _bits(frame: VideoFrame) -> int:
    return max(component.bits for component in frame.format.components)
