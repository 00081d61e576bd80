"""Pixels to BGR and back by the matrix and range that the video says."""

import numpy as np
import pytest
from av.video.frame import VideoFrame

from lumaflow_service.media.color import FULL, LIMITED, YuvConversion, from_bgr, stored_as, to_bgr


def yuv_frame(
    width: int, height: int, rng: np.random.Generator, pixel_format: str = "yuv420p", limited: bool = True
) -> VideoFrame:
    """Smooth YUV whose BGR is well inside 0..255, so that the way back can be exact."""
    frame = VideoFrame(width, height, pixel_format)
    for index, plane in enumerate(frame.planes):
        middle = int(rng.integers(90, 130)) if index == 0 else int(rng.integers(120, 137))
        plane.update(np.full((plane.height, plane.line_size), middle, np.uint8).tobytes())
    frame.color_range = LIMITED if limited else FULL
    return frame


@pytest.mark.parametrize("matrix", [1, 2, 5, 6, 7, 9])
@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize("size", [(64, 48), (62, 722)])
def test_there_and_back_is_the_same_picture(
    matrix: int, limited: bool, size: tuple[int, int], rng: np.random.Generator
) -> None:
    frame = yuv_frame(*size, rng, limited=limited)
    frame.colorspace = matrix
    color = YuvConversion.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", size)
    for before, after in zip(frame.planes, back.planes, strict=True):
        a, b = (np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, : p.width] for p in (before, after))
        assert np.abs(a.astype(int) - b.astype(int)).max() <= 1


@pytest.mark.parametrize(("lines", "green"), [(480, 0), (720, 24)])
def test_an_unsaid_matrix_is_what_players_assume_of_the_size(lines: int, green: int) -> None:
    """The YUV of BT.601's pure red has some green by BT.709."""
    frame = VideoFrame(64, lines, "yuv444p")
    for plane, value in zip(frame.planes, (81, 90, 240), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    _, made, red = map(int, to_bgr(frame, YuvConversion.of(frame))[4, 4])
    assert red > 250
    assert abs(made - green) <= 2


@pytest.mark.parametrize(("range_", "white"), [(LIMITED, 235), (FULL, 255)])
def test_white_is_white_in_either_range(range_: int, white: int) -> None:
    frame = VideoFrame(32, 32, "yuv420p")
    for plane, value in zip(frame.planes, (white, 128, 128), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    frame.color_range = range_
    assert to_bgr(frame, YuvConversion.of(frame)).min() >= 254


def test_rows_of_a_padded_picture_are_read_without_the_padding() -> None:
    wanted = np.arange(37 * 5 * 3, dtype=np.uint8).reshape(5, 37, 3)
    frame = VideoFrame.from_ndarray(wanted[..., ::-1].copy(), "rgb24")
    assert np.array_equal(to_bgr(frame, YuvConversion.of(frame)), wanted)


def test_tags_travel_with_the_frame(rng: np.random.Generator) -> None:
    frame = yuv_frame(32, 32, rng)
    frame.colorspace, frame.color_primaries, frame.color_trc = 9, 9, 18
    color = YuvConversion.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", (32, 32))
    assert (back.colorspace, back.color_range, back.color_primaries, back.color_trc) == (9, LIMITED, 9, 18)


def test_another_size_is_scaled(rng: np.random.Generator) -> None:
    frame = yuv_frame(64, 48, rng)
    color = YuvConversion.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", (32, 40))
    assert (back.width, back.height) == (32, 40)


@pytest.mark.parametrize(
    ("source", "size", "even_only", "stored"),
    [
        ("yuv420p", (64, 48), True, "yuv420p"),
        ("yuv420p", (63, 48), True, "yuv444p"),
        ("yuv420p", (64, 47), True, "yuv444p"),
        ("yuv420p", (63, 47), False, "yuv420p"),
        ("yuv422p10le", (64, 47), True, "yuv422p"),
        ("yuv444p", (63, 47), True, "yuv444p"),
        ("gray", (64, 48), True, "yuv420p"),
        ("rgb24", (64, 48), True, "yuv420p"),
        ("rgb24", (63, 48), True, "yuv444p"),
    ],
)
def test_the_chroma_of_the_source_is_kept_where_the_size_allows(
    source: str, size: tuple[int, int], even_only: bool, stored: str
) -> None:
    assert stored_as(VideoFrame(*size, source), even_only) == stored
