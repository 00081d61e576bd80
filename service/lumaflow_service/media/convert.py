"""Conversion between FFmpeg's frames, the pipeline's frames and BGR, by the frame's matrix and range."""

from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import ColorRange, Colorspace, Interpolation
from numpy.typing import NDArray

from lumaflow.formats import Matrix, Range
from lumaflow.frame import Frame, Plane
from lumaflow_service.media.color import FULL, LIMITED, MATRIX_NUMBERS, UNSPECIFIED, ColorTags, default_matrix
from lumaflow_service.media.pixel_format import FFMPEG_NAMES, bit_depth, is_rgb

# Rounded to nearest, with interpolated chroma. The default conversion is off by up to 3 levels.
_EXACT = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT

_COLORSPACES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}
"""swscale's matrix of each number of H.273."""


def to_bgr(frame: VideoFrame, tags: ColorTags) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 BGR of a decoded frame. Rows may be pitched."""
    if is_rgb(frame):
        converted = frame.reformat(format="bgr24")
    else:
        converted = frame.reformat(
            format="bgr24",
            src_colorspace=_colorspace(tags),
            src_color_range=_color_range(tags),
            dst_color_range=ColorRange.JPEG,
            interpolation=_EXACT,
        )
    return plane_array(converted.planes[0], (frame.height, frame.width, 3), np.dtype(np.uint8))


def from_bgr(
    pixels: NDArray[np.uint8], tags: ColorTags, pixel_format: str, size: tuple[int, int]
) -> VideoFrame:
    """A tagged frame for an encoder from (H, W, 3) BGR pixels, scaled to `size` (width, height)."""
    converted = VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "bgr24").reformat(
        *size,
        format=pixel_format,
        src_color_range=ColorRange.JPEG,
        dst_colorspace=_colorspace(tags),
        dst_color_range=_color_range(tags),
        interpolation=_EXACT,
    )
    tags.apply_to(converted)
    return converted


def convert_yuv(
    frame: VideoFrame, tags: ColorTags, pixel_format: str, size: tuple[int, int] | None = None
) -> VideoFrame:
    """A YUV frame in another YUV format, of the same matrix and range, scaled to `size` if given."""
    converted = frame.reformat(
        *(size or (frame.width, frame.height)),
        format=pixel_format,
        src_colorspace=_colorspace(tags),
        dst_colorspace=_colorspace(tags),
        src_color_range=_color_range(tags),
        dst_color_range=_color_range(tags),
        interpolation=_EXACT,
    )
    tags.apply_to(converted)
    return converted


def yuv_to_bgr(frame: Frame) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 of a YUV frame of the pipeline, by its range and its matrix or the default one."""
    geometry = frame.geometry
    range_ = FULL if geometry.range is Range.FULL else LIMITED
    matrix = MATRIX_NUMBERS[frame.color.matrix]
    tags = ColorTags(matrix, range_, UNSPECIFIED, UNSPECIFIED, geometry.height)
    return to_bgr(to_video_frame(frame), tags)[:, : geometry.width]


def to_video_frame(frame: Frame) -> VideoFrame:
    """A copy of a YUV frame of the pipeline, without tags. A packed one has an even width."""
    geometry = frame.geometry
    video_frame = VideoFrame(frame.pixels.shape[1], geometry.height, FFMPEG_NAMES[geometry.pixel_format])
    for plane, samples in zip(video_frame.planes, frame.planes, strict=True):
        np.copyto(plane_array(plane, samples.shape, samples.dtype), samples)
    return video_frame


def plane_arrays(frame: VideoFrame) -> tuple[Plane, ...]:
    """The planes of a planar or semi-planar YUV or gray frame, 8 to 16 bits, without a copy."""
    dtype = np.dtype(np.uint8) if bit_depth(frame) == 8 else np.dtype(np.uint16)
    shapes: list[tuple[int, ...]] = [(plane.height, plane.width) for plane in frame.planes]
    if len(shapes) == 2:
        shapes[1] = (*shapes[1], 2)  # Cb and Cr interleaved
    return tuple(plane_array(plane, shape, dtype) for plane, shape in zip(frame.planes, shapes, strict=True))


def plane_array(plane: VideoPlane, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Plane:
    """The samples of one plane without the padding of its rows, without a copy."""
    pixel_strides = (dtype.itemsize,) if len(shape) == 2 else (shape[2] * dtype.itemsize, dtype.itemsize)
    return np.ndarray(shape, dtype, buffer=memoryview(plane), strides=(plane.line_size, *pixel_strides))


def _colorspace(tags: ColorTags) -> Colorspace:
    default = Colorspace.ITU709 if default_matrix(tags.height) is Matrix.BT709 else Colorspace.ITU601
    return _COLORSPACES.get(tags.matrix, default)


def _color_range(tags: ColorTags) -> ColorRange:
    return ColorRange.JPEG if tags.range == FULL else ColorRange.MPEG
