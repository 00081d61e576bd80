"""Decoded frames in slots: their pixel format, range and matrix."""

import numpy as np
import pytest
from av.video.frame import VideoFrame

from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import FrameReady
from lumaflow_service.ipc.transport import pack, unpack
from lumaflow_service.media.codec import display_pixels
from lumaflow_service.media.color import BT601, BT709, BT2020, FULL, LIMITED, UNSPECIFIED
from lumaflow_service.media.convert import plane_array
from lumaflow_service.media.slot_format import matrix_of, slot_geometry, write_to_slot

SIZE = (48, 32)
UNCHANGED = {
    "yuv420p": PixelFormat.I420,
    "yuvj420p": PixelFormat.I420,
    "nv12": PixelFormat.NV12,
    "p010le": PixelFormat.P010,
    "yuyv422": PixelFormat.YUYV,
    "uyvy422": PixelFormat.UYVY,
    "gray": PixelFormat.GRAY8,
    "gray10le": PixelFormat.GRAY10,
    "gray12le": PixelFormat.GRAY12,
    "gray16le": PixelFormat.GRAY16,
    "rgb24": PixelFormat.RGB24,
    "bgr24": PixelFormat.BGR24,
}
CONVERTED = {
    "yuv420p10le": PixelFormat.P010,
    "yuv422p10le": PixelFormat.P010,
    "yuv444p12le": PixelFormat.P010,
    "yuv422p": PixelFormat.YUYV,
    "yuvj422p": PixelFormat.YUYV,
    "yuv411p": PixelFormat.I420,
    "yuv440p": PixelFormat.I420,
    "nv21": PixelFormat.I420,
    "yuv444p": PixelFormat.BGR24,
    "gbrp": PixelFormat.BGR24,
    "bgra": PixelFormat.BGR24,
    "ya8": PixelFormat.GRAY8,
}


def decoded(name: str, size: tuple[int, int] = SIZE) -> VideoFrame:
    """A smooth frame of this pixel format without tags, like one from a decoder."""
    width, height = size
    red, green = np.meshgrid(np.linspace(60, 190, width), np.linspace(70, 180, height))
    pixels = np.stack([np.full_like(red, 110), green, red], axis=-1).astype(np.uint8)
    made = VideoFrame.from_ndarray(pixels, "bgr24").reformat(format=name)
    made.colorspace, made.color_range = UNSPECIFIED, FULL if name.startswith("yuvj") else 0
    return made


def in_slot(frame: VideoFrame, swaps_sides: bool = False) -> Frame:
    """The frame that a worker reads from the slot of a decoded frame."""
    geometry = slot_geometry(frame, swaps_sides)
    buffer = bytearray(geometry.frame_bytes)
    write_to_slot(frame, geometry, memoryview(buffer))
    return Frame.from_buffer(buffer, geometry)


@pytest.mark.parametrize("size", [SIZE, (46, 31)])
@pytest.mark.parametrize("name", UNCHANGED)
def test_a_format_of_the_pipeline_is_copied_without_conversion(name: str, size: tuple[int, int]) -> None:
    frame = decoded(name, size)
    found = in_slot(frame)
    assert found.pixel_format is UNCHANGED[name]
    for plane, samples in zip(frame.planes, found.planes, strict=True):
        assert np.array_equal(plane_array(plane, samples.shape, samples.dtype), samples)
    assert len(np.unique(found.pixels)) > 20


@pytest.mark.parametrize("name", CONVERTED)
def test_any_other_format_is_converted_to_the_same_colours(name: str) -> None:
    frame = decoded(name)
    found = in_slot(frame)
    assert found.pixel_format is CONVERTED[name]
    wanted = frame.to_ndarray(format="bgr24").astype(int)
    shown = display_pixels(found).astype(int)
    if shown.ndim == 2:
        wanted, shown = frame.to_ndarray(format="gray").astype(int), shown
    assert np.abs(wanted - shown).mean() < 3


def test_a_palette_becomes_bgr() -> None:
    assert slot_geometry(VideoFrame(*SIZE, "pal8")).pixel_format is PixelFormat.BGR24


def test_ten_bits_keep_every_level() -> None:
    frame = decoded("yuv420p10le")
    found = in_slot(frame)
    for plane, samples in zip(frame.planes[:1], found.planes[:1], strict=True):
        assert np.array_equal(plane_array(plane, samples.shape, samples.dtype) << 6, samples)
    assert len(np.unique(found.pixels)) > 256


@pytest.mark.parametrize("name", ["yuv422p", "yuyv422", "uyvy422"])
def test_packed_422_is_converted_if_sides_are_swapped_or_odd(name: str) -> None:
    assert in_slot(decoded(name), swaps_sides=True).pixel_format is PixelFormat.I420
    assert in_slot(decoded("yuv422p", (47, 32))).pixel_format is PixelFormat.I420


@pytest.mark.parametrize(("tag", "wanted"), [(LIMITED, Range.LIMITED), (FULL, Range.FULL), (0, None)])
@pytest.mark.parametrize("name", ["yuv420p", "yuv420p10le", "yuv422p", "gray", "yuv444p", "bgr24"])
def test_the_range_is_in_the_geometry(name: str, tag: int, wanted: Range | None) -> None:
    frame = decoded(name)
    frame.color_range = tag
    geometry = slot_geometry(frame)
    if name in ("yuv444p", "bgr24"):
        wanted = Range.FULL
    untagged = Range.FULL if name == "gray" else Range.LIMITED
    assert geometry.range is (wanted or untagged)


@pytest.mark.parametrize(
    ("tag", "matrix"),
    [(BT709, Matrix.BT709), (BT601, Matrix.BT601), (5, Matrix.BT601), (BT2020, Matrix.BT2020)],
)
def test_the_matrix_is_that_of_the_frame(tag: int, matrix: Matrix) -> None:
    frame = decoded("yuv420p")
    assert matrix_of(frame) is Matrix.UNSPECIFIED
    frame.colorspace = tag
    assert matrix_of(frame) is matrix


def test_range_and_matrix_are_in_the_message() -> None:
    geometry = Geometry(4, 4, PixelFormat.GRAY12, Range.LIMITED, Alignment.LSB)
    message = FrameReady(1, 2, GeometryJson.of(geometry, Matrix.BT709))
    unpacked = unpack(pack(message))
    assert isinstance(unpacked, FrameReady)
    assert unpacked.geometry == message.geometry
    assert unpacked.geometry.geometry == geometry
