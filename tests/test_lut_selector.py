"""The rule of the previous LUT (spec 5) on every frame of real videos."""

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import av
import numpy as np

import oracle
from lane_helpers import enhance_all
from lumaflow import Enhanced, Equalization, Frame, LutKind, Mode, Options, PixelFormat

FRAMES = 40
CLAHE_FRAMES = 3


def test_every_frame_of_every_video_uses_the_lut_of_the_previous_good_frame(shared_data):
    decoded = 0
    for path in sorted((shared_data / "videos").iterdir()):
        for _, shot in groupby(gray_frames(path), key=lambda frame: frame.geometry):
            frames = list(shot)
            decoded += len(frames)
            assert_equalized(frames, f"{path.name} {frames[0].geometry}")
            assert_clahe(frames[:CLAHE_FRAMES], f"{path.name} {frames[0].geometry}")
    assert decoded > 1000


def gray_frames(path: Path) -> Iterator[Frame]:
    """Yield the first frames of a video, until decoding fails."""
    try:
        with av.open(path) as container:
            for shot in islice(container.decode(container.streams.video[0]), FRAMES):
                pixels = np.ascontiguousarray(shot.to_ndarray(format="gray"))
                yield Frame(pixels, PixelFormat.GRAY8, pts=shot.pts, corrupt=shot.is_corrupt)
    except (av.FFmpegError, IndexError):
        return


def lut_sources(frames: list[Frame]) -> list[int]:
    """Return for each frame the number of the frame whose LUT it uses; its own before any good frame."""
    numbers, last = [], None
    for number, frame in enumerate(frames):
        numbers.append(number if last is None else last)
        if not frame.corrupt:
            last = number
    return numbers


def assert_rule(frames: list[Frame], results: list[Enhanced], where: str) -> list[int]:
    """Kind, age and pts of every result; returns the lut_sources."""
    numbers = lut_sources(frames)
    for number, (lut_source, frame, result) in enumerate(zip(numbers, frames, results, strict=True)):
        assert result.lut_age == number - lut_source, where
        assert result.lut_kind == (LutKind.OWN if lut_source == number else LutKind.PREVIOUS), where
        assert (result.sequence, result.frame.pts) == (number, frame.pts), where
    return numbers


def assert_equalized(frames: list[Frame], where: str) -> None:
    results = enhance_all("cpu", frames, Options(Equalization(Mode.EQUALIZE)))
    luts = [oracle.equalize_lut(oracle.histogram(frame.pixels)) for frame in frames]
    for lut_source, frame, result in zip(assert_rule(frames, results, where), frames, results, strict=True):
        np.testing.assert_array_equal(result.frame.pixels, luts[lut_source][frame.pixels], where)


def assert_clahe(frames: list[Frame], where: str) -> None:
    results = enhance_all("cpu", frames, Options(Equalization(Mode.CLAHE)))
    luts = [oracle.clahe_luts(frame.pixels, 2.0, (8, 8)) for frame in frames]
    for lut_source, frame, result in zip(assert_rule(frames, results, where), frames, results, strict=True):
        shown = oracle.apply_clahe(frame.pixels, luts[lut_source])
        np.testing.assert_array_equal(result.frame.pixels, shown, where)
