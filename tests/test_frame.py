"""Frames and geometries: valid ones, and the errors for invalid ones."""

import numpy as np
import pytest

from lumaflow import Alignment, Color, Frame, FrameError, Geometry, Orientation, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX

GRAY, BGR = PixelFormat.GRAY8, PixelFormat.BGR24


@pytest.mark.parametrize("side", [0, -1, MAX_SIDE_PX + 1])
def test_a_geometry_with_an_invalid_side_is_rejected(side):
    with pytest.raises(FrameError, match=f"1..{MAX_SIDE_PX}"):
        Geometry(side, 10, GRAY)
    with pytest.raises(FrameError):
        Geometry(10, side, GRAY)


def test_shape_and_bytes_of_a_geometry():
    assert Geometry(7, 5, GRAY).shape == (5, 7)
    assert Geometry(7, 5, BGR).shape == (5, 7, 3)
    assert Geometry(7, 5, GRAY).frame_bytes == 35
    assert Geometry(7, 5, BGR).frame_bytes == 105
    assert str(Geometry(1920, 1080, BGR)) == "1920x1080 bgr24"


@pytest.mark.parametrize(
    ("pixels", "pixel_format"),
    [
        (np.zeros((4, 6), np.uint8), GRAY),
        (np.zeros((4, 6, 3), np.uint8), BGR),
        (np.zeros((4, 8), np.uint8)[:, 1:7], GRAY),
        (np.zeros((8, 8, 3), np.uint8)[::2, 2:], BGR),
        (np.zeros((1, 1), np.uint8), GRAY),
        (np.zeros((4, 1, 3), np.uint8), BGR),
    ],
)
def test_a_frame_accepts_padded_rows_of_packed_pixels(pixels, pixel_format):
    frame = Frame(pixels, pixel_format)
    assert frame.pixels is pixels
    assert frame.geometry == Geometry(pixels.shape[1], pixels.shape[0], pixel_format)


@pytest.mark.parametrize(
    ("pixels", "pixel_format", "message"),
    [
        ([[1, 2]], GRAY, "got list; pass a NumPy or CuPy array"),
        (np.zeros((4, 6), np.uint16), GRAY, "uint16"),
        (np.zeros((4, 6), np.float32), GRAY, "got .* float32 .*; convert the values to 8 bits"),
        (np.zeros((4, 6, 3), np.uint8), GRAY, r"expected \(H, W\) uint8 for gray8"),
        (np.zeros((4, 6), np.uint8), BGR, r"expected \(H, W, 3\) uint8 for bgr24"),
        (np.zeros((4, 6, 4), np.uint8), BGR, r"\(4, 6, 4\)"),
        (np.zeros(24, np.uint8), GRAY, r"\(24,\)"),
        (np.zeros((0, 6), np.uint8), GRAY, "at least one pixel"),
        (np.zeros((4, 0, 3), np.uint8), BGR, "at least one pixel"),
        (np.zeros((4, 12), np.uint8)[:, ::2], GRAY, "ascontiguousarray"),
        (np.zeros((6, 4), np.uint8).T, GRAY, "ascontiguousarray"),
        (np.zeros((4, 6, 3), np.uint8)[..., ::-1], BGR, "ascontiguousarray"),
        (np.zeros((4, 6), np.uint8)[::-1], GRAY, "ascontiguousarray"),
        (np.broadcast_to(np.zeros(6, np.uint8), (4, 6)), GRAY, "ascontiguousarray"),
    ],
)
def test_unsuitable_pixels_are_rejected_with_advice(pixels, pixel_format, message):
    with pytest.raises(FrameError, match=message):
        Frame(pixels, pixel_format)


def test_a_frame_error_is_a_value_error():
    assert issubclass(FrameError, ValueError)


def test_frames_are_immutable():
    frame = Frame(np.zeros((2, 2), np.uint8), GRAY)
    with pytest.raises(AttributeError):
        frame.pts = 3


# Formats


@pytest.mark.parametrize(
    ("pixel_format", "width", "height", "shapes", "size"),
    [
        (PixelFormat.GRAY12, 7, 5, ((5, 7),), 70),
        (PixelFormat.BGRA32, 7, 5, ((5, 7, 4),), 140),
        (PixelFormat.NV12, 6, 4, ((4, 6), (2, 3, 2)), 36),
        (PixelFormat.NV12, 7, 5, ((5, 7), (3, 4, 2)), 59),
        (PixelFormat.I420, 7, 5, ((5, 7), (3, 4), (3, 4)), 59),
        (PixelFormat.P010, 7, 5, ((5, 7), (3, 4, 2)), 118),
        (PixelFormat.YUYV, 7, 5, ((5, 8, 2),), 80),
        (PixelFormat.UYVY, 8, 5, ((5, 8, 2),), 80),
    ],
)
def test_planes_of_every_format(pixel_format, width, height, shapes, size):
    geometry = Geometry(width, height, pixel_format)
    frame = Frame.from_buffer(bytearray(size), geometry)
    assert geometry.plane_shapes == shapes
    assert geometry.frame_bytes == size
    assert tuple(plane.shape for plane in frame.planes) == shapes
    assert frame.geometry == geometry


def test_from_buffer_reads_the_planes_one_after_the_other():
    memory = np.arange(6 * 4 * 3 // 2, dtype=np.uint8)
    frame = Frame.from_buffer(memory, Geometry(6, 4, PixelFormat.I420))
    assert [plane.ravel()[0] for plane in frame.planes] == [0, 24, 30]


def test_a_geometry_takes_defaults_from_its_format():
    assert Geometry(8, 8, PixelFormat.NV12).range is Range.LIMITED
    assert Geometry(8, 8, GRAY).range is Range.FULL
    assert Geometry(8, 8, PixelFormat.P010).alignment is Alignment.MSB
    assert Geometry(8, 8, GRAY, alignment=Alignment.MSB) == Geometry(8, 8, GRAY)
    assert Geometry(8, 8, PixelFormat.NV12, Range.LIMITED) == Geometry(8, 8, PixelFormat.NV12)
    assert str(Geometry(8, 6, PixelFormat.GRAY12, alignment=Alignment.MSB)) == "8x6 gray12 msb"
    assert str(Geometry(8, 6, PixelFormat.NV12, Range.FULL)) == "8x6 nv12 full range"
    assert str(Geometry(8, 6, PixelFormat.NV12)) == "8x6 nv12"


def test_limited_range_of_rgb_is_rejected():
    with pytest.raises(FrameError, match="expand it to full range"):
        Geometry(8, 8, BGR, Range.LIMITED)


def test_only_rotations_by_90_degrees_and_transposes_exchange_the_sides():
    geometry = Geometry(8, 6, PixelFormat.NV12)
    assert geometry.reoriented(Orientation.ROTATE90) == Geometry(6, 8, PixelFormat.NV12)
    assert geometry.reoriented(Orientation.ROTATE180) == geometry


LUMA = np.zeros((6, 8), np.uint8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Frame(LUMA, PixelFormat.NV12), r"expected 2 planes for nv12: \(6, 8\), \(3, 4, 2\), got 1"),
        (lambda: Frame(LUMA, GRAY, chroma=(LUMA,)), "expected 1 planes for gray8: .* got 2"),
        (
            lambda: Frame(LUMA, PixelFormat.NV12, chroma=(np.zeros((3, 4), np.uint8),)),
            r"expected \(3, 4, 2\) uint8 for the chroma of nv12",
        ),
        (
            lambda: Frame(LUMA, PixelFormat.I420, chroma=(np.zeros((3, 4), np.uint8), LUMA)),
            r"expected \(3, 4\) uint8 for the chroma of i420, got \(6, 8\) uint8",
        ),
        (
            lambda: Frame(LUMA, PixelFormat.NV12, chroma=(np.zeros((2, 4, 2), np.uint8),)),
            r"expected \(3, 4, 2\)",
        ),
        (lambda: Frame(LUMA, PixelFormat.GRAY12), "expected .* uint16 for gray12, got .* uint8 .*; convert"),
        (lambda: Frame(LUMA.astype(np.uint16), PixelFormat.P010), "expected 2 planes for p010"),
        (lambda: Frame(LUMA.astype(np.float32), PixelFormat.GRAY16), "got .* float32"),
        (lambda: Frame(np.zeros((6, 7, 2), np.uint8), PixelFormat.YUYV), "even number of pixels"),
        (lambda: Frame(np.zeros((6, 8, 2), np.uint8), PixelFormat.YUYV, width=6), "got 8 pixels for width 6"),
        (lambda: Frame(LUMA, GRAY, width=7), "leave it out"),
        (lambda: Frame(np.zeros((6, 16), np.uint16)[:, ::2], PixelFormat.GRAY16), "ascontiguousarray"),
        (lambda: Frame.from_numpy(LUMA.astype(np.float32)), "float32 .* has no default pixel format"),
        (lambda: Frame.from_numpy([[1]]), "list has no default pixel format"),
        (lambda: Frame.from_dlpack([[1]]), "with DLPack in host memory, got list"),
    ],
)
def test_unsuitable_planes_are_rejected_with_advice(make, message):
    with pytest.raises(FrameError, match=message):
        make()


@pytest.mark.parametrize(
    ("shape", "dtype", "pixel_format"),
    [
        ((4, 6), np.uint8, GRAY),
        ((4, 6), np.uint16, PixelFormat.GRAY16),
        ((4, 6, 3), np.uint8, BGR),
        ((4, 6, 4), np.uint8, PixelFormat.BGRA32),
    ],
)
def test_arrays_have_a_default_format_and_are_not_copied(shape, dtype, pixel_format):
    pixels = np.zeros(shape, dtype)
    one, other = Frame.from_numpy(pixels), Frame.from_dlpack(pixels, pts=3)
    assert one.pixel_format is other.pixel_format is pixel_format
    assert one.pixels is pixels
    assert np.shares_memory(other.pixels, pixels)
    assert other.pts == 3
    named = Frame.from_numpy(pixels, pixel_format, color=Color(Range.FULL))
    assert named.color.range is Range.FULL
