"""The format of a decoded frame in a slot: its own where the pipeline has it, else the nearest."""

import numpy as np
from av.video.frame import VideoFrame

from lumaflow.formats import Family, Matrix, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow_service.media.color import ColorTags, matrix_of_number
from lumaflow_service.media.convert import convert_yuv, plane_array, to_bgr
from lumaflow_service.media.pixel_format import (
    FFMPEG_NAMES,
    PIXEL_FORMATS,
    bit_depth,
    chroma_subsampling,
    is_rgb,
)

_PACKED = ("yuyv422", "uyvy422")


def slot_geometry(frame: VideoFrame, swaps_sides: bool = False) -> Geometry:
    """Size, format and range of a decoded frame in a slot.

    `swaps_sides`: the lane will exchange width and height, which packed 4:2:2 does not allow.
    """
    pixel_format = PIXEL_FORMATS[_slot_format(frame, swaps_sides)]
    is_rgb_format = pixel_format.layout.family is Family.RGB
    range_ = Range.FULL if is_rgb_format else ColorTags.of(frame).pipeline_range
    return Geometry(frame.width, frame.height, pixel_format, range_)


def matrix_of(frame: VideoFrame) -> Matrix:
    """The matrix of a decoded frame, by the pipeline's name."""
    return matrix_of_number(int(frame.colorspace))


def write_to_slot(frame: VideoFrame, geometry: Geometry, buffer: memoryview) -> None:
    """Write a decoded frame into a buffer of `geometry.frame_bytes`; `geometry` is from `slot_geometry`."""
    slot_frame, own_format = Frame.from_buffer(buffer, geometry), frame.format.name
    is_same = PIXEL_FORMATS.get(own_format) is geometry.pixel_format
    name = own_format if is_same else FFMPEG_NAMES[geometry.pixel_format]
    if name == "bgr24":
        np.copyto(slot_frame.pixels, to_bgr(frame, ColorTags.of(frame)))
        return
    source = frame if is_same else convert_yuv(frame, ColorTags.of(frame), name)
    for plane, samples in zip(source.planes, slot_frame.planes, strict=True):
        np.copyto(samples, plane_array(plane, samples.shape, samples.dtype))


def _slot_format(frame: VideoFrame, swaps_sides: bool) -> str:
    """FFmpeg's name of the format: the frame's own, or the one that loses least."""
    name, subsampling, bits = frame.format.name, chroma_subsampling(frame), bit_depth(frame)
    can_be_packed = subsampling == (2, 1) and bits == 8 and not swaps_sides and frame.width % 2 == 0
    if name in PIXEL_FORMATS and (can_be_packed or name not in _PACKED):
        return name
    if is_rgb(frame):
        return "bgr24"
    if name.startswith(("gray", "ya")):
        return "gray" if bits == 8 else "gray16le"
    if bits > 8:
        return "p010le"
    if can_be_packed:
        return "yuyv422"
    return "bgr24" if subsampling == (1, 1) else "yuv420p"
