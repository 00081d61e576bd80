"""YUV frames by way of FFmpeg's: their planes as arrays, and their way to it and to BGR."""

from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from numpy.typing import NDArray

from lumaflow.formats import Matrix, PixelFormat, Range
from lumaflow.frame import Frame, Plane
from lumaflow_service.media.color import BT601, BT709, BT2020, FULL, LIMITED, UNSAID, YuvConversion
from lumaflow_service.media.color import to_bgr as converted

_NAMES = {
    PixelFormat.NV12: "nv12",
    PixelFormat.I420: "yuv420p",
    PixelFormat.P010: "p010le",
    PixelFormat.YUYV: "yuyv422",
    PixelFormat.UYVY: "uyvy422",
}
_MATRICES = {
    Matrix.UNSPECIFIED: UNSAID,
    Matrix.BT601: BT601,
    Matrix.BT709: BT709,
    Matrix.BT2020: BT2020,
}


def to_bgr(frame: Frame) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 of a YUV frame, by its own range and matrix.

    A matrix that is not said is that of BT.601 below 720 lines, of BT.709 from there, as in players.
    """
    geometry = frame.geometry
    range_ = FULL if geometry.range is Range.FULL else LIMITED
    color = YuvConversion(_MATRICES[frame.color.matrix], range_, UNSAID, UNSAID, geometry.height)
    return converted(to_video(frame), color)[:, : geometry.width]


def to_video(frame: Frame) -> VideoFrame:
    """A YUV frame as FFmpeg's, without tags; a woven one in whole pairs of pixels."""
    geometry = frame.geometry
    width = frame.pixels.shape[1]
    picture = VideoFrame(width, geometry.height, _NAMES[geometry.pixel_format])
    for plane, samples in zip(picture.planes, frame.planes, strict=True):
        np.copyto(rows(plane, samples.shape, samples.dtype), samples)
    return picture


def rows(plane: VideoPlane, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Plane:
    """The samples of one plane of FFmpeg's, without a copy and without the padding of its rows."""
    steps = (dtype.itemsize,) if len(shape) == 2 else (shape[2] * dtype.itemsize, dtype.itemsize)
    return np.ndarray(shape, dtype, buffer=memoryview(plane), strides=(plane.line_size, *steps))
