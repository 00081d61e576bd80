"""Colour tags, and conversion to BGR and back by matrix and range."""

import numpy as np
import pytest
from av.video.frame import VideoFrame

from lumaflow_service.media.color import FULL, LIMITED, ColorTags
from lumaflow_service.media.convert import from_bgr, to_bgr
from lumaflow_service.media.pixel_format import chroma_subsampling, encoder_format


def yuv_frame(
    width: int, height: int, rng: np.random.Generator, pixel_format: str = "yuv420p", limited: bool = True
) -> VideoFrame:
    """Uniform YUV whose BGR is inside 0..255, so the inverse conversion is exact."""
    frame = VideoFrame(width, height, pixel_format)
    for index, plane in enumerate(frame.planes):
        middle = int(rng.integers(90, 130)) if index == 0 else int(rng.integers(120, 137))
        plane.update(np.full((plane.height, plane.line_size), middle, np.uint8).tobytes())
    frame.color_range = LIMITED if limited else FULL
    return frame


@pytest.mark.parametrize("matrix", [1, 2, 5, 6, 7, 9])
@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize("size", [(64, 48), (62, 722)])
def test_conversion_to_bgr_and_back_gives_the_same_frame(
    matrix: int, limited: bool, size: tuple[int, int], rng: np.random.Generator
) -> None:
    frame = yuv_frame(*size, rng, limited=limited)
    frame.colorspace = matrix
    color = ColorTags.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", size)
    for before, after in zip(frame.planes, back.planes, strict=True):
        a, b = (np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, : p.width] for p in (before, after))
        assert np.abs(a.astype(int) - b.astype(int)).max() <= 1


@pytest.mark.parametrize(("lines", "green"), [(480, 0), (720, 24)])
def test_an_unspecified_matrix_is_the_one_players_assume_for_the_height(lines: int, green: int) -> None:
    """The YUV of pure red in BT.601 has some green in BT.709."""
    frame = VideoFrame(64, lines, "yuv444p")
    for plane, value in zip(frame.planes, (81, 90, 240), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    _, actual_green, red = map(int, to_bgr(frame, ColorTags.of(frame))[4, 4])
    assert red > 250
    assert abs(actual_green - green) <= 2


@pytest.mark.parametrize(("range_", "white"), [(LIMITED, 235), (FULL, 255)])
def test_white_is_white_in_both_ranges(range_: int, white: int) -> None:
    frame = VideoFrame(32, 32, "yuv420p")
    for plane, value in zip(frame.planes, (white, 128, 128), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    frame.color_range = range_
    assert to_bgr(frame, ColorTags.of(frame)).min() >= 254


def test_the_padding_of_rows_is_skipped() -> None:
    wanted = np.arange(37 * 5 * 3, dtype=np.uint8).reshape(5, 37, 3)
    frame = VideoFrame.from_ndarray(wanted[..., ::-1].copy(), "rgb24")
    assert np.array_equal(to_bgr(frame, ColorTags.of(frame)), wanted)


def test_tags_are_copied_to_the_frame(rng: np.random.Generator) -> None:
    frame = yuv_frame(32, 32, rng)
    frame.colorspace, frame.color_primaries, frame.color_trc = 9, 9, 18
    color = ColorTags.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", (32, 32))
    assert (back.colorspace, back.color_range, back.color_primaries, back.color_trc) == (9, LIMITED, 9, 18)


def test_another_size_is_scaled(rng: np.random.Generator) -> None:
    frame = yuv_frame(64, 48, rng)
    color = ColorTags.of(frame)
    back = from_bgr(to_bgr(frame, color), color, "yuv420p", (32, 40))
    assert (back.width, back.height) == (32, 40)


@pytest.mark.parametrize(
    ("source", "size", "even_only", "expected"),
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
def test_the_chroma_subsampling_of_the_source_is_kept_if_the_size_allows_it(
    source: str, size: tuple[int, int], even_only: bool, expected: str
) -> None:
    subsampling = chroma_subsampling(VideoFrame(*size, source))
    assert encoder_format(subsampling, size, even_only=even_only) == expected
