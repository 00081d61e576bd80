"""Frames and geometries: what fits a format, and what is said about what does not."""

import numpy as np
import pytest

from pipeline import Frame, FrameError, Geometry, PixelFormat
from pipeline.frame import MAX_SIDE_PX

GRAY, BGR = PixelFormat.GRAY8, PixelFormat.BGR24


@pytest.mark.parametrize("side", [0, -1, MAX_SIDE_PX + 1])
def test_a_geometry_with_an_impossible_side_is_refused(side):
    with pytest.raises(FrameError, match=f"1..{MAX_SIDE_PX}"):
        Geometry(side, 10, GRAY)
    with pytest.raises(FrameError):
        Geometry(10, side, GRAY)


def test_a_geometry_knows_its_shape_and_bytes():
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
def test_packed_pixels_in_pitched_rows_make_a_frame(pixels, pixel_format):
    frame = Frame(pixels, pixel_format)
    assert frame.pixels is pixels
    assert frame.geometry == Geometry(pixels.shape[1], pixels.shape[0], pixel_format)


@pytest.mark.parametrize(
    ("pixels", "pixel_format", "said"),
    [
        ([[1, 2]], GRAY, "a list came"),
        (np.zeros((4, 6), np.uint16), GRAY, "uint16"),
        (np.zeros((4, 6), np.float32), GRAY, "convert the values to 8 bits"),
        (np.zeros((4, 6, 3), np.uint8), GRAY, r"needs \(H, W\) uint8"),
        (np.zeros((4, 6), np.uint8), BGR, r"needs \(H, W, 3\) uint8"),
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
def test_pixels_that_do_not_fit_are_refused_with_the_way_out(pixels, pixel_format, said):
    with pytest.raises(FrameError, match=said):
        Frame(pixels, pixel_format)


def test_a_frame_error_is_a_value_error():
    assert issubclass(FrameError, ValueError)


def test_frames_cannot_be_changed():
    frame = Frame(np.zeros((2, 2), np.uint8), GRAY)
    with pytest.raises(AttributeError):
        frame.pts = 3
