"""Lanes on every device: slots, the LUT of the previous frame, and results equal to the oracle."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import oracle
from lane_helpers import copy_result, enhance, enhance_all, make_frame
from lumaflow import (
    ColorMode,
    DeviceError,
    Equalization,
    Frame,
    FrameError,
    Geometry,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    LutKind,
    Mode,
    Neighborhood,
    OptionError,
    Options,
    PixelFormat,
    Stage,
    StateError,
    open_lane,
)
from synthetic_images import gray_image

EQUALIZE, CLAHE = Options(Equalization(Mode.EQUALIZE)), Options(Equalization(Mode.CLAHE))
FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
GEOMETRY = Geometry(40, 24, PixelFormat.GRAY8)
SIZES = [(1, 1), (1, 33), (33, 1), (5, 7), (16, 16), (47, 61), (64, 48), (120, 257)]


@pytest.fixture
def lane(device):
    with open_lane(device, GEOMETRY, EQUALIZE) as lane:
        yield lane


@pytest.fixture
def gray(rng):
    """Pictures of the lane's geometry, one after another of another kind."""
    kinds = iter(range(1000))
    return lambda: gray_image(rng, (GEOMETRY.height, GEOMETRY.width), next(kinds) % 4 + 2)


def lut_of(pixels):
    return oracle.equalize_lut(oracle.histogram(pixels))


# Arguments of the wrong type


def test_submit_rejects_an_array_with_advice(lane, gray):
    with pytest.raises(
        FrameError, match=r"expected a Frame, got ndarray; wrap it with Frame\.from_numpy\(array\)"
    ):
        lane.submit(gray())
    with pytest.raises(FrameError, match="expected a Frame, got ndarray"):
        lane.submit(Frame(gray(), PixelFormat.GRAY8), out=gray())
    lane.submit(Frame(gray(), PixelFormat.GRAY8))
    assert lane.collect().sequence == 0


def test_open_lane_rejects_arguments_of_the_wrong_type():
    with pytest.raises(FrameError, match=r"expected a Geometry, got \(10, 10\); pass Geometry\("):
        open_lane("cpu", (10, 10))
    with pytest.raises(OptionError, match=r"expected Options, got .*; pass Options\("):
        open_lane("cpu", GEOMETRY, Mode.EQUALIZE)
    with pytest.raises(OptionError, match="expected LaneConfig, got 3"):
        open_lane("cpu", GEOMETRY, EQUALIZE, 3)
    with pytest.raises(DeviceError, match=r"expected auto, cpu, .* got 0"):
        open_lane(0, GEOMETRY)


# The ring


def test_results_have_the_order_of_the_frames(lane, gray):
    for number in range(lane.config.slots):
        lane.submit(Frame(gray(), PixelFormat.GRAY8, pts=100 + number, time_base=Fraction(1, 25)))
    assert lane.in_flight == 3
    results = [lane.collect() for _ in range(3)]
    assert [result.sequence for result in results] == [0, 1, 2]
    assert [result.frame.pts for result in results] == [100, 101, 102]
    assert results[0].frame.time_base == Fraction(1, 25)
    assert lane.in_flight == 0


def test_frames_in_flight_do_not_affect_each_other(device, gray):
    sent = [gray() for _ in range(12)]
    alone = enhance_all(device, map(make_frame, sent), EQUALIZE)
    with open_lane(device, GEOMETRY, EQUALIZE) as lane:
        results = []
        for number, pixels in enumerate(sent):
            lane.submit(make_frame(pixels))
            if number >= 2:
                results.append(copy_result(lane.collect()))
        while lane.in_flight:
            results.append(copy_result(lane.collect()))
    for one, other in zip(alone, results, strict=True):
        np.testing.assert_array_equal(one.frame.pixels, other.frame.pixels)
        np.testing.assert_array_equal(one.lut, other.lut)


def test_submit_raises_while_all_slots_are_in_flight(lane, gray):
    for _ in range(lane.config.slots):
        lane.submit(make_frame(gray()))
    with pytest.raises(StateError, match="collect a frame first"):
        lane.submit(make_frame(gray()))
    with pytest.raises(StateError):
        lane.next_input()
    lane.collect()
    lane.submit(make_frame(gray()))


def test_collect_raises_without_a_frame_in_flight(lane, gray):
    with pytest.raises(StateError, match="no frame is in flight"):
        lane.collect()
    lane.submit(make_frame(gray()))
    lane.collect()
    with pytest.raises(StateError):
        lane.collect()


def test_a_closed_lane_raises_on_every_call(device, gray):
    lane = open_lane(device, GEOMETRY, EQUALIZE)
    lane.submit(make_frame(gray()))
    lane.close()
    lane.close()
    assert lane.in_flight == 0
    for call in (lambda: lane.submit(make_frame(gray())), lane.collect, lane.next_input):
        with pytest.raises(StateError, match="closed"):
            call()


# What goes in and out


def test_a_frame_written_to_the_input_of_the_slot_is_enhanced(lane, gray):
    for _ in range(2 * lane.config.slots):
        born = lane.next_input()
        assert born.geometry == GEOMETRY
        born.pixels[:] = gray()
        expected = lut_of(born.pixels.copy())
        lane.submit(born)
        bins = lane.collect().bins
        np.testing.assert_array_equal(oracle.equalize_lut(bins), expected)


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("packed", [True, False])
def test_out_receives_the_pixels_and_its_padding_stays(device, rng, pixel_format, packed):
    geometry = Geometry(37, 21, pixel_format)
    pixels = rng.integers(0, 256, geometry.shape, dtype=np.uint8)
    expected = enhance(device, pixels, CLAHE).frame.pixels
    sheet = np.full((25, 41, *geometry.shape[2:]), 77, np.uint8)
    out = np.empty(geometry.shape, np.uint8) if packed else sheet[3:24, 1:38]
    with open_lane(device, geometry, CLAHE) as lane:
        lane.submit(make_frame(pixels), make_frame(out))
        assert lane.collect().frame.pixels is out
    np.testing.assert_array_equal(out, expected)
    if not packed:
        out[:] = 77
        assert (sheet == 77).all()


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("offset", range(1, 8))
def test_row_padding_at_any_offset_does_not_change_the_result(device, rng, pixel_format, offset):
    geometry = Geometry(53, 31, pixel_format)
    sheet = rng.integers(0, 256, (40, 64, *geometry.shape[2:]), dtype=np.uint8)
    region = sheet[offset : offset + 31, offset : offset + 53]
    pitched, packed = enhance(device, region, CLAHE), enhance(device, region.copy(), CLAHE)
    np.testing.assert_array_equal(pitched.frame.pixels, packed.frame.pixels)
    np.testing.assert_array_equal(pitched.bins, packed.bins)
    assert pitched.bins.sum() == 31 * 53


def test_read_only_pixels_are_accepted(lane, gray):
    pixels = gray()
    expected = lut_of(pixels)[pixels]
    pixels.flags.writeable = False
    lane.submit(make_frame(pixels))
    np.testing.assert_array_equal(lane.collect().frame.pixels, expected)


def test_the_submitted_frame_is_not_changed(lane, gray):
    pixels = gray()
    before = pixels.copy()
    lane.submit(make_frame(pixels))
    lane.collect()
    np.testing.assert_array_equal(pixels, before)


@pytest.mark.parametrize(
    "pixels", [np.zeros((24, 41), np.uint8), np.zeros((23, 40), np.uint8), np.zeros((24, 40, 3), np.uint8)]
)
def test_a_frame_of_another_geometry_is_rejected(lane, pixels):
    with pytest.raises(FrameError, match="expected a frame of 40x24 gray8"):
        lane.submit(make_frame(pixels))
    assert lane.in_flight == 0


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((24, 39), np.uint8),
        np.zeros((24, 40), np.uint16),
        np.zeros((24, 40, 3), np.uint8),
        np.zeros((24, 80), np.uint8)[:, ::2],
        np.frombuffer(bytes(24 * 40), np.uint8).reshape(24, 40),
    ],
    ids=["size", "dtype", "channels", "stride", "read-only"],
)
def test_an_unsuitable_out_is_rejected(lane, gray, out):
    with pytest.raises(FrameError):
        lane.submit(make_frame(gray()), make_frame(out))
    assert lane.in_flight == 0


def test_a_rejected_frame_changes_no_state(lane, gray):
    first, second = gray(), gray()
    lane.submit(make_frame(first))
    lane.collect()
    with pytest.raises(FrameError):
        lane.submit(make_frame(np.zeros((2, 2), np.uint8)))
    lane.submit(make_frame(second))
    result = lane.collect()
    assert (result.sequence, result.lut_kind) == (1, LutKind.PREVIOUS)
    np.testing.assert_array_equal(result.frame.pixels, lut_of(first)[second])


# The LUT of the previous frame


def test_lut_of_n_minus_1_is_applied_to_n(device, gray):
    sent = [gray() for _ in range(6)]
    results = enhance_all(device, map(make_frame, sent), EQUALIZE)
    assert [result.lut_kind for result in results] == [LutKind.OWN] + [LutKind.PREVIOUS] * 5
    assert [result.lut_age for result in results] == [0, 1, 1, 1, 1, 1]
    for number, result in enumerate(results):
        lut = lut_of(sent[max(number - 1, 0)])
        np.testing.assert_array_equal(result.frame.pixels, lut[sent[number]])
        np.testing.assert_array_equal(result.lut[0, 0], lut)
        np.testing.assert_array_equal(result.bins, oracle.histogram(sent[number]))


def test_clahe_luts_of_n_minus_1_are_applied_to_n(device, gray):
    sent = [gray() for _ in range(4)]
    results = enhance_all(device, map(make_frame, sent), CLAHE)
    for number, result in enumerate(results):
        luts = oracle.clahe_luts(sent[max(number - 1, 0)], 2.0, (8, 8))
        np.testing.assert_array_equal(result.lut, luts)
        np.testing.assert_array_equal(result.frame.pixels, oracle.apply_clahe(sent[number], luts))


def test_the_lut_of_a_corrupt_frame_is_not_applied_to_others(device, gray):
    sent = [gray() for _ in range(5)]
    flags = [False, True, True, False, False]
    results = enhance_all(device, map(make_frame, sent, flags), EQUALIZE)
    assert [result.lut_age for result in results] == [0, 1, 2, 3, 1]
    for result, pixels, lut_source in zip(results, sent, (0, 0, 0, 0, 3), strict=True):
        np.testing.assert_array_equal(result.frame.pixels, lut_of(sent[lut_source])[pixels])
        np.testing.assert_array_equal(result.bins, oracle.histogram(pixels))
    assert [result.frame.corrupt for result in results] == flags


def test_corrupt_frames_at_the_start_use_their_own_luts(device, gray):
    sent = [gray() for _ in range(4)]
    results = enhance_all(device, map(make_frame, sent, [True, True, False, False]), EQUALIZE)
    kinds = [result.lut_kind for result in results]
    assert kinds == [LutKind.OWN, LutKind.OWN, LutKind.OWN, LutKind.PREVIOUS]
    for number, lut_source in enumerate((0, 1, 2, 2)):
        np.testing.assert_array_equal(results[number].frame.pixels, lut_of(sent[lut_source])[sent[number]])


def test_the_frame_after_a_black_frame_is_not_black(device, gray):
    black, image = np.zeros((24, 40), np.uint8), gray()
    shown = enhance_all(device, map(make_frame, [black, image]), EQUALIZE)[1].frame.pixels
    np.testing.assert_array_equal(shown, image)


@pytest.mark.parametrize("shape", [(24, 40), (24, 40, 3)])
def test_identity_changes_no_frame(device, rng, shape):
    sent = [rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(3)]
    for pixels, result in zip(
        sent, enhance_all(device, map(make_frame, sent), Options(Equalization(Mode.IDENTITY))), strict=True
    ):
        assert (result.lut_kind, result.lut_age) == (LutKind.IDENTITY, 0)
        np.testing.assert_array_equal(result.frame.pixels, pixels)
        np.testing.assert_array_equal(result.lut, np.arange(256).reshape(1, 1, 256))


# Results


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.CLAHE])
def test_gray_frames_of_odd_sizes_equal_the_oracle(device, rng, mode):
    for kind, size in enumerate(SIZES):
        luma = gray_image(rng, size, kind)
        result = enhance(device, luma, Options(Equalization(mode), heatmap=True))
        assert_mapped(result, luma, mode)
        deviation, distance = oracle.heatmap(luma, (8, 8))
        np.testing.assert_array_equal(result.heatmap.deviation, deviation)
        np.testing.assert_array_equal(result.heatmap.distance, distance)


def assert_mapped(result, luma, mode):
    """The shown plane and its LUTs are those of the frame itself."""
    np.testing.assert_array_equal(result.frame.pixels, mapped(luma, mode), f"{luma.shape}")
    np.testing.assert_array_equal(result.bins, oracle.histogram(luma))


def mapped(luma, mode):
    if mode is Mode.EQUALIZE:
        return lut_of(luma)[luma]
    return oracle.apply_clahe(luma, oracle.clahe_luts(luma, 2.0, (8, 8) if mode is Mode.CLAHE else (1, 1)))


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
@pytest.mark.parametrize("color", ColorMode)
def test_colour_frames_of_odd_sizes_equal_the_oracle(device, rng, mode, color):
    split, join = {
        ColorMode.VALUE: (oracle.value, oracle.recolor_value),
        ColorMode.LUMA: (oracle.luma_of, oracle.recolor_luma),
    }[color]
    for kind, size in enumerate(SIZES):
        pixels = np.ascontiguousarray(np.stack([gray_image(rng, size, kind + k) for k in range(3)], axis=2))
        result = enhance(device, pixels, Options(Equalization(mode, color=color)))
        np.testing.assert_array_equal(result.frame.pixels, join(pixels, mapped(split(pixels), mode)))


@pytest.mark.parametrize("shape", [(47, 61), (64, 48), (33, 70, 3)])
@pytest.mark.parametrize("layout", HogLayout)
def test_hog_is_computed_from_the_enhanced_luma(device, rng, shape, layout):
    result = enhance(device, rng.integers(0, 256, shape, dtype=np.uint8), Options(hog=Hog(layout)))
    luma = luma_shown(result)
    if layout is HogLayout.OPENCV:
        np.testing.assert_allclose(result.hog, oracle.hog_blocks(luma), rtol=0, atol=2e-6)
    else:
        np.testing.assert_allclose(result.hog, oracle.hog_cells(luma), rtol=2e-6, atol=2e-4)


def luma_shown(result):
    pixels = result.frame.pixels
    return pixels if pixels.ndim == 2 else oracle.luma_of(pixels)


@pytest.mark.parametrize(("neighborhood", "mapping"), list(product(Neighborhood, LbpMapping)))
def test_lbp_is_computed_from_the_enhanced_luma(device, rng, neighborhood, mapping):
    options = Options(lbp=Lbp(neighborhood, mapping, labels=True))
    for shape in ((1, 1), (47, 61), (33, 70, 3)):
        result = enhance(device, rng.integers(0, 256, shape, dtype=np.uint8), options)
        labels = oracle.lbp_labels(luma_shown(result), neighborhood is Neighborhood.CIRCLE, mapping)
        np.testing.assert_array_equal(result.lbp_labels, labels)
        np.testing.assert_array_equal(result.lbp, oracle.lbp_cells(labels, mapping.labels))


def test_results_not_requested_are_none(lane, gray):
    lane.submit(make_frame(gray()))
    result = lane.collect()
    assert (result.heatmap, result.hog, result.lbp, result.lbp_labels) == (None, None, None, None)
    assert (result.bins.dtype, result.lut.dtype) == (np.uint32, np.uint8)


def test_every_stage_that_ran_has_a_time(device, gray):
    plain = {Stage.UPLOAD, Stage.HISTOGRAM, Stage.LUT, Stage.APPLY, Stage.DOWNLOAD}
    if device != "cpu":
        plain.remove(Stage.LUT)  # the histogram kernel also builds the LUT
    for options, stages in [
        (EQUALIZE, plain),
        (Options(hog=Hog()), plain | {Stage.HOG}),
        (Options(hog=Hog(), lbp=Lbp(), heatmap=True), plain | {Stage.HOG, Stage.LBP}),
    ]:
        seconds = enhance(device, gray(), options).stage_seconds
        fused = set() if device == "cpu" else {Stage.LUT}  # the GPU's last block to count builds the LUT
        assert set(seconds) == stages - fused
        assert all(0 <= time < 60 for time in seconds.values())


def test_lanes_do_not_affect_each_other(device, rng):
    wanted = Options(Equalization(Mode.CLAHE, tiles=(3, 5)), hog=Hog(), lbp=Lbp())
    other = Options(Equalization(Mode.EQUALIZE), hog=Hog(HogLayout.COMPACT), lbp=Lbp(Neighborhood.CIRCLE))
    sent = [rng.integers(0, 256, (47, 61), dtype=np.uint8) for _ in range(5)]
    disturbing = [rng.integers(0, 256, (80, 33, 3), dtype=np.uint8) for _ in range(5)]
    alone = enhance_all(device, map(make_frame, sent), wanted)
    with (
        open_lane(device, make_frame(sent[0]).geometry, wanted) as lane,
        open_lane(device, make_frame(disturbing[0]).geometry, other) as second,
    ):
        for pixels, disturbance, expected in zip(sent, disturbing, alone, strict=True):
            second.submit(make_frame(disturbance))
            lane.submit(make_frame(pixels))
            second.collect()
            result = lane.collect()
            np.testing.assert_array_equal(result.frame.pixels, expected.frame.pixels)
            np.testing.assert_array_equal(result.hog, expected.hog)
            np.testing.assert_array_equal(result.lbp, expected.lbp)


def test_the_same_frames_give_the_same_bits(device, rng):
    options = Options(hog=Hog(), lbp=Lbp(), heatmap=True)
    sent = [rng.integers(0, 256, (300, 257), dtype=np.uint8) for _ in range(2)]
    first = enhance_all(device, map(make_frame, sent), options)[1]
    for _ in range(5):
        again = enhance_all(device, map(make_frame, sent), options)[1]
        for name in ("bins", "lut", "hog", "lbp"):
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
        np.testing.assert_array_equal(again.frame.pixels, first.frame.pixels)
