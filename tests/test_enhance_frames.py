"""`enhance_frames`: the same results as a lane driven by hand, in order, with lanes opened and closed."""

import numpy as np
import pytest

import lumaflow.enhance
from lane_helpers import copy_result, enhance_all
from lumaflow import (
    DeviceError,
    Equalization,
    Frame,
    FrameError,
    Geometry,
    Hog,
    LaneConfig,
    Lbp,
    LutKind,
    Mode,
    OptionError,
    Options,
    PixelFormat,
    StateError,
    enhance_frames,
    open_lane,
)
from synthetic_frames import synthetic_frame

OPTIONS = Options(Equalization(tiles=(3, 2)), hog=Hog(), lbp=Lbp(labels=True), heatmap=True)


@pytest.fixture
def opened(monkeypatch):
    """The lanes that `enhance_frames` opens."""
    lanes = []

    def record(*arguments):
        lanes.append(open_lane(*arguments))
        return lanes[-1]

    monkeypatch.setattr(lumaflow.enhance, "open_lane", record)
    return lanes


def closed(lane):
    try:
        lane.next_input()
    except StateError:
        return True
    return False


def video(rng, pixel_format=PixelFormat.GRAY8, count=7):
    geometry = Geometry(53, 41, pixel_format)
    return [
        Frame.from_numpy(synthetic_frame(rng, geometry, kind).pixels, pixel_format, pts=kind)
        for kind in range(count)
    ]


def assert_equal(found, wanted):
    assert [one.sequence for one in found] == [one.sequence for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert (one.lut_kind, one.lut_age, one.frame.pts) == (other.lut_kind, other.lut_age, other.frame.pts)
        for name in ("bins", "lut", "hog", "lbp", "lbp_labels"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(one.frame.pixels, other.frame.pixels)


@pytest.mark.parametrize("slots", [1, 3, 10])
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.BGR24])
def test_results_equal_those_of_submit_and_collect(device, rng, pixel_format, slots):
    frames = video(rng, pixel_format)
    results = enhance_frames(frames, OPTIONS, device=device, config=LaneConfig(slots))
    assert_equal([copy_result(result) for result in results], enhance_all(device, frames, OPTIONS))


def test_results_have_the_order_of_the_frames(device, rng):
    frames = video(rng, count=12)
    assert [result.frame.pts for result in enhance_frames(frames, device=device)] == list(range(12))


def test_slots_frames_are_taken_before_the_first_result(device, rng):
    taken = []

    def frames():
        for frame in video(rng):
            taken.append(frame.pts)
            yield frame

    results = enhance_frames(frames(), device=device, config=LaneConfig(slots=2))
    assert taken == []
    next(results)
    assert taken == [0, 1, 2]
    assert [result.frame.pts for result in results] == list(range(1, 7))


def test_a_new_geometry_opens_another_lane_after_the_frames_in_flight(device, rng, opened):
    first, second = video(rng, PixelFormat.GRAY8, 4), video(rng, PixelFormat.BGR24, 2)
    frames = [*first, *second, *first[:1]]
    found = [copy_result(result) for result in enhance_frames(frames, OPTIONS, device=device)]
    wanted = [*enhance_all(device, first, OPTIONS), *enhance_all(device, second, OPTIONS)]
    assert_equal(found, [*wanted, *enhance_all(device, first[:1], OPTIONS)])
    assert [result.lut_kind for result in found].count(LutKind.OWN) == 3
    assert [lane.geometry.pixel_format for lane in opened] == ["gray8", "bgr24", "gray8"]
    assert all(map(closed, opened))


def test_arrays_are_frames(device, rng):
    arrays = [frame.pixels for frame in video(rng, PixelFormat.BGR24)]
    wanted = enhance_all(device, map(Frame.from_numpy, arrays), OPTIONS)
    assert_equal([copy_result(result) for result in enhance_frames(arrays, OPTIONS, device=device)], wanted)


def test_arrays_with_dlpack_are_frames(rng):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    arrays = [frame.pixels for frame in video(rng)]
    found = [copy_result(result) for result in enhance_frames(map(torch.from_numpy, arrays), device="cpu")]
    assert_equal(found, enhance_all("cpu", map(Frame.from_numpy, arrays), Options()))


def test_closing_early_closes_the_lane(device, rng, opened):
    results = enhance_frames(video(rng), device=device)
    next(results)
    assert not closed(opened[0])
    results.close()
    assert closed(opened[0])
    assert list(results) == []


def test_no_frames_open_no_lane(device, opened):
    assert list(enhance_frames([], device=device)) == []
    assert opened == []


def test_an_error_of_the_source_closes_the_lane(device, rng, opened):
    def frames():
        yield from video(rng, count=5)
        raise OSError("camera unplugged")

    results = enhance_frames(frames(), device=device, config=LaneConfig(slots=2))
    with pytest.raises(OSError, match="camera unplugged"):
        list(results)
    assert closed(opened[0])


def test_an_unusable_frame_raises_frame_error(device, rng, opened):
    good = video(rng, count=1)
    for bad in (np.zeros((4, 4), np.float32), "frame.png"):
        with pytest.raises(FrameError):
            list(enhance_frames([*good, bad], device=device))
    too_high = Frame(np.full((8, 8), 4096, np.uint16), PixelFormat.GRAY12)
    with pytest.raises(FrameError, match="4096"):
        list(enhance_frames([too_high], device=device))
    assert all(map(closed, opened))


def test_wrong_arguments_are_errors_at_the_call():
    with pytest.raises(OptionError, match="expected Options, got"):
        enhance_frames([], Mode.CLAHE)
    with pytest.raises(OptionError, match="expected LaneConfig, got 3"):
        enhance_frames([], config=3)
    with pytest.raises(DeviceError):
        enhance_frames([], device="tpu")
