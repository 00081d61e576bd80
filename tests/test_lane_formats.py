"""Lanes on every device: pixel formats, bit depths, ranges, orientations and regions."""

from dataclasses import replace
from itertools import product

import av
import numpy as np
import pytest

import oracle
import oracle_frames
from lane_helpers import copy_result, enhance_all
from lumaflow import (
    Alignment,
    Color,
    ColorMode,
    Equalization,
    Frame,
    FrameError,
    Geometry,
    Hog,
    Lbp,
    LbpMapping,
    LutKind,
    Matrix,
    Mode,
    OptionError,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
    open_lane,
)
from synthetic_frames import PLAIN_MODES, copy_frame, pitched, synthetic_frame

DEEP = [PixelFormat.GRAY10, PixelFormat.GRAY12, PixelFormat.GRAY14, PixelFormat.GRAY16]
PLANAR = [PixelFormat.NV12, PixelFormat.I420, PixelFormat.P010]
PACKED = [PixelFormat.YUYV, PixelFormat.UYVY]
COLOUR = [PixelFormat.BGR24, PixelFormat.RGB24, PixelFormat.BGRA32]
SIZES = [(1, 1), (1, 33), (33, 1), (7, 5), (16, 16), (61, 47), (48, 64)]
SMALL_TILES = (3, 2)


def geometry_of(pixel_format, size, **how):
    """Geometry of a size (height, width)."""
    return Geometry(size[1], size[0], pixel_format, **how)


def assert_enhanced(device, frame, options):
    """A first frame is the oracle's, to the last byte of every plane."""
    result = enhance_all(device, [copy_frame(frame)], options)[0]
    expected = oracle_frames.enhance(frame, options)
    where = f"{frame.geometry} {options}"
    for plane, wanted in zip(result.frame.planes, expected.planes, strict=True):
        np.testing.assert_array_equal(plane, wanted, where)
    np.testing.assert_array_equal(result.bins, expected.bins, where)
    np.testing.assert_array_equal(result.lut, expected.lut, where)
    assert (result.lut.dtype, result.clamped) == (expected.lut.dtype, expected.clamped)
    if result.lbp_labels is not None:
        labels = oracle.lbp_labels(expected.display, False, LbpMapping.RAW)
        np.testing.assert_array_equal(result.lbp_labels, labels, where)
    return result


def send_and_wait(lane, frame):
    """A device may find out about the values of a frame only while it computes."""
    lane.submit(frame)
    return lane.collect()


# Every format


@pytest.mark.parametrize("mode", PLAIN_MODES)
@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_every_format_in_every_mode_equals_the_oracle(device, rng, pixel_format, mode):
    options = Options(Equalization(mode, tiles=SMALL_TILES), lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    for kind, size in enumerate(SIZES):
        assert_enhanced(device, synthetic_frame(rng, geometry_of(pixel_format, size), kind), options)


@pytest.mark.parametrize("mode", PLAIN_MODES)
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.GRAY12, *PLANAR, *PACKED])
def test_both_ranges_equal_the_oracle(device, rng, pixel_format, mode):
    other = Range.LIMITED if pixel_format in (PixelFormat.GRAY8, PixelFormat.GRAY12) else Range.FULL
    options = Options(Equalization(mode, tiles=SMALL_TILES))
    for kind in range(5):
        assert_enhanced(
            device, synthetic_frame(rng, geometry_of(pixel_format, (31, 22), range=other), kind), options
        )


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
@pytest.mark.parametrize("pixel_format", COLOUR)
def test_luma_mode_of_every_rgb_format_equals_the_oracle(device, rng, pixel_format, mode):
    options = Options(Equalization(mode, tiles=SMALL_TILES, color=ColorMode.LUMA))
    for kind in range(6):
        assert_enhanced(device, synthetic_frame(rng, geometry_of(pixel_format, (27, 31)), kind), options)


@pytest.mark.parametrize("color", ColorMode)
def test_alpha_is_unchanged(device, rng, color):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.BGRA32, (27, 31)), 2)
    shown = enhance_all(device, [copy_frame(frame)], Options(Equalization(color=color)))[0].frame.pixels
    np.testing.assert_array_equal(shown[..., 3], frame.pixels[..., 3])
    assert (shown[..., :3] != frame.pixels[..., :3]).any()


def test_rgb24_and_bgr24_give_the_same_result(device, rng):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.BGR24, (27, 31)), 3)
    swapped = Frame(np.ascontiguousarray(frame.pixels[..., ::-1]), PixelFormat.RGB24)
    for color in ColorMode:
        options = Options(Equalization(color=color))
        one, other = (enhance_all(device, [each], options)[0].frame.pixels for each in (frame, swapped))
        np.testing.assert_array_equal(one, other[..., ::-1])


@pytest.mark.parametrize("pixel_format", COLOUR)
def test_equal_channels_stay_equal(device, rng, pixel_format):
    geometry = geometry_of(pixel_format, (64, 48))
    frame = Frame(np.empty(geometry.shape, np.uint8), pixel_format)
    frame.pixels[...] = rng.integers(0, 200, (64, 48, 1))
    shown = enhance_all(device, [frame], Options())[0].frame.pixels
    assert (shown[..., :1] == shown[..., 1:3]).all()


# Luma beside chroma


@pytest.mark.parametrize("pixel_format", PLANAR)
def test_in_place_enhancement_changes_only_the_luma_of_planar_formats(device, rng, pixel_format):
    frame = synthetic_frame(rng, geometry_of(pixel_format, (47, 61)), 2)
    before = copy_frame(frame)
    with open_lane(device, frame.geometry, Options()) as lane:
        lane.submit(frame, frame)
        shown = lane.collect().frame
    assert shown.pixels is frame.pixels
    assert (frame.pixels != before.pixels).any()
    for plane, untouched in zip(frame.chroma, before.chroma, strict=True):
        np.testing.assert_array_equal(plane, untouched)
    np.testing.assert_array_equal(frame.pixels, oracle_frames.enhance(before, Options()).planes[0])


@pytest.mark.parametrize("pixel_format", PACKED)
@pytest.mark.parametrize("width", [30, 31])
def test_enhancement_changes_only_the_luma_of_packed_formats(device, rng, pixel_format, width):
    frame = synthetic_frame(rng, Geometry(width, 20, pixel_format), 2)
    shown = assert_enhanced(device, frame, Options(Equalization(Mode.EQUALIZE))).frame
    chroma = 1 if pixel_format is PixelFormat.YUYV else 0
    np.testing.assert_array_equal(shown.pixels[..., chroma], frame.pixels[..., chroma])
    np.testing.assert_array_equal(shown.pixels[:, width:], frame.pixels[:, width:])
    assert shown.geometry.width == width


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (5, 7), (6, 7), (7, 6)])
@pytest.mark.parametrize("pixel_format", PLANAR)
def test_chroma_of_odd_sizes_is_rounded_up_as_ffmpeg_does(pixel_format, size):
    name = {"i420": "yuv420p", "p010": "p010le"}.get(pixel_format, str(pixel_format))
    picture = av.VideoFrame(size[1], size[0], name)
    geometry = geometry_of(pixel_format, size)
    samples = [plane.shape[0] * int(np.prod(plane.shape[1:])) for plane in Frame.empty(geometry).planes]
    theirs = [plane.height * plane.width * (2 if len(picture.planes) == 2 and n else 1)
              for n, plane in enumerate(picture.planes)]  # fmt: skip
    assert samples == theirs


@pytest.mark.parametrize("mode", [mode for mode in PLAIN_MODES if mode is not Mode.IDENTITY])
@pytest.mark.parametrize("pixel_format", [*PLANAR, *PACKED])
def test_luts_stay_in_limited_range(device, rng, pixel_format, mode):
    geometry = geometry_of(pixel_format, (48, 62))
    frame = Frame.empty(geometry)
    for plane in frame.planes:  # every level, those out of range included
        plane[...] = rng.integers(0, 1 << geometry.layout.bits, plane.shape) << geometry.shift
    result = enhance_all(device, [frame], Options(Equalization(mode)))[0]
    luma = oracle_frames.luma_of(result.frame.pixels, pixel_format, ColorMode.VALUE) >> geometry.shift
    scale = 1 << (geometry.layout.bits - 8)
    assert luma.min() >= 16 * scale
    assert luma.max() <= 235 * scale
    assert result.lut.min() >= 16 * scale
    assert result.lut.max() <= 235 * scale


@pytest.mark.parametrize("gain", [0.0, 0.5, 1.7, 8.0])
@pytest.mark.parametrize("pixel_format", [*PLANAR, *PACKED])
def test_chroma_gain_equals_the_oracle(device, rng, pixel_format, gain):
    for mode in (Mode.EQUALIZE, Mode.IDENTITY):
        options = Options(Equalization(mode, chroma_gain=gain))
        assert_enhanced(device, synthetic_frame(rng, geometry_of(pixel_format, (13, 18)), 3), options)


def test_colour_tags_are_unchanged(device, rng):
    color = Color(Range.FULL, Matrix.BT2020, "bt2020", "smpte2084")
    frame = replace(
        synthetic_frame(rng, Geometry(16, 16, PixelFormat.NV12, Range.FULL), 2), color=color, pts=7
    )
    shown = enhance_all(device, [frame], Options())[0].frame
    assert (shown.color, shown.pts, shown.geometry) == (color, 7, frame.geometry)


# Depth


@pytest.mark.parametrize("alignment", Alignment)
@pytest.mark.parametrize("output", Output)
@pytest.mark.parametrize("mode", PLAIN_MODES)
@pytest.mark.parametrize("pixel_format", DEEP)
def test_gray_above_8_bits_equals_the_oracle(device, rng, pixel_format, mode, output, alignment):
    options = Options(
        Equalization(mode, tiles=SMALL_TILES),
        lbp=Lbp(mapping=LbpMapping.RAW, labels=True),
        output=output,
    )
    for kind in range(6):
        geometry = geometry_of(pixel_format, (37, 41), alignment=alignment)
        result = assert_enhanced(device, synthetic_frame(rng, geometry, kind), options)
        assert result.frame.pixels.dtype == (np.uint8 if output is Output.DISPLAY else np.uint16)
        assert result.bins.sum() == 37 * 41


def test_hog_above_8_bits_is_computed_from_the_display_luma(device, rng):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.GRAY12, (48, 64)), 4)
    result = enhance_all(device, [frame], Options(hog=Hog()))[0]
    luma = oracle_frames.enhance(frame, Options()).display
    np.testing.assert_allclose(result.hog, oracle.hog_blocks(luma), rtol=0, atol=2e-6)


def test_heatmap_above_8_bits_is_in_8_bit_levels(device, rng):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.GRAY12, (48, 64)), 4)
    deep = enhance_all(device, [frame], Options(heatmap=True))[0].heatmap
    deviation, _ = oracle.heatmap((frame.pixels >> 4).astype(np.uint8), (8, 8))
    np.testing.assert_array_equal(deep.deviation, deviation)


def test_features_above_8_bits_use_the_lut_of_the_previous_frame(device, rng):
    geometry = geometry_of(PixelFormat.GRAY12, (48, 64))
    first, second = synthetic_frame(rng, geometry, 2), synthetic_frame(rng, geometry, 4)
    options = Options(Equalization(Mode.EQUALIZE), lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    result = enhance_all(device, [first, second], options)[1]
    assert result.lut_kind is LutKind.PREVIOUS
    deep = oracle_frames.equalize_lut(first.pixels, 12, False, 12)
    shown = oracle_frames.equalize_lut(first.pixels, 12, False, 8)[second.pixels]
    np.testing.assert_array_equal(result.frame.pixels, deep[second.pixels])
    np.testing.assert_array_equal(result.lbp_labels, oracle.lbp_labels(shown, False, LbpMapping.RAW))


@pytest.mark.parametrize("pixel_format", DEEP[:3])
def test_a_value_above_the_bit_depth_is_rejected_and_changes_no_state(device, rng, pixel_format):
    geometry = geometry_of(pixel_format, (16, 24))
    good, bad = synthetic_frame(rng, geometry, 3), synthetic_frame(rng, geometry, 3)
    bad.pixels[7, 11] = 1 << geometry.layout.bits
    with open_lane(device, geometry, Options(Equalization(Mode.EQUALIZE))) as lane:
        with pytest.raises(FrameError, match=f"got {1 << geometry.layout.bits}; .*clamp"):
            send_and_wait(lane, bad)
        lane.submit(good)
        result = copy_result(lane.collect())
    assert result.lut_kind is LutKind.OWN
    expected = oracle_frames.enhance(good, lane.options)
    np.testing.assert_array_equal(result.frame.pixels, expected.planes[0])


@pytest.mark.parametrize("mode", PLAIN_MODES)
def test_values_above_the_bit_depth_are_clamped_and_counted_on_request(device, rng, mode):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.GRAY10, (24, 32)), 3)
    frame.pixels[3:5, 4:9] = 1024
    frame.pixels[6, 6] = 65535
    result = assert_enhanced(device, frame, Options(Equalization(mode), clamp=True))
    assert result.clamped == 11
    assert result.frame.pixels.max() <= 1023


def test_nothing_is_clamped_in_a_valid_frame(device, rng):
    geometry = geometry_of(PixelFormat.GRAY10, (24, 32))
    bad = synthetic_frame(rng, geometry, 3)
    bad.pixels[0, 0] = 2000
    results = enhance_all(device, [bad, synthetic_frame(rng, geometry, 3)], Options(clamp=True))
    assert [result.clamped for result in results] == [1, 0]


# Orientation


@pytest.mark.parametrize(
    ("pixel_format", "orientation"),
    # Woven chroma cannot be transposed: see the refusals.
    [
        (form, turn)
        for form, turn in product(PixelFormat, Orientation)
        if not (form in PACKED and turn.swaps_sides)
    ],
)
def test_reoriented_frames_equal_the_oracle(device, rng, pixel_format, orientation):
    packed = pixel_format in PACKED
    sizes = [(3, 8), (47, 62)] if packed else [(1, 1), (1, 97), (97, 1), (7, 8), (47, 61), (64, 129)]
    for kind, size in enumerate(sizes):
        options = Options(Equalization(Mode.EQUALIZE), orientation=orientation)
        result = assert_enhanced(
            device, synthetic_frame(rng, geometry_of(pixel_format, size), kind + 1), options
        )
        sides = result.frame.geometry.width, result.frame.geometry.height
        assert sides == (size if orientation.swaps_sides else size[::-1])


@pytest.mark.parametrize("orientation", Orientation)
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.GRAY16, PixelFormat.BGR24])
def test_orientation_alone_moves_every_pixel_exactly(device, rng, pixel_format, orientation):
    for size in [(1, 31), (31, 1), (101, 103), (64, 64)]:
        frame = synthetic_frame(rng, geometry_of(pixel_format, size), 3)
        options = Options(Equalization(Mode.IDENTITY), orientation=orientation)
        shown = enhance_all(device, [frame], options)[0].frame.pixels
        np.testing.assert_array_equal(shown, oracle_frames.reoriented(frame.pixels, orientation))


def test_an_orientation_and_its_inverse_restore_the_frame(device, rng):
    frame = synthetic_frame(rng, geometry_of(PixelFormat.I420, (31, 45)), 3)
    turned = frame
    for orientation in (Orientation.ROTATE90, Orientation.ROTATE270):
        options = Options(Equalization(Mode.IDENTITY), orientation=orientation)
        turned = enhance_all(device, [turned], options)[0].frame
    for plane, original in zip(turned.planes, frame.planes, strict=True):
        np.testing.assert_array_equal(plane, original)


# Regions


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.CLAHE, Mode.STRETCH])
@pytest.mark.parametrize("offset", range(1, 8))
def test_a_region_at_any_offset_counts_only_its_pixels(device, rng, mode, everywhere, offset):
    region = Region(offset, 8 - offset, 23, 17, everywhere)
    options = Options(Equalization(mode, tiles=SMALL_TILES), region=region)
    result = assert_enhanced(device, synthetic_frame(rng, Geometry(53, 31, PixelFormat.GRAY8), 3), options)
    assert result.bins.sum() == 23 * 17


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("color", ColorMode)
@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_a_region_of_every_format_equals_the_oracle(device, rng, pixel_format, color, everywhere):
    options = Options(
        Equalization(Mode.CLAHE, tiles=SMALL_TILES, color=color),
        lbp=Lbp(mapping=LbpMapping.RAW, labels=True),
        region=Region(5, 3, 21, 30, everywhere),
    )
    for size in ((40, 46), (33, 26)):
        assert_enhanced(device, synthetic_frame(rng, geometry_of(pixel_format, size), 3), options)


def test_pixels_outside_a_mapped_region_are_unchanged(device, rng):
    for pixel_format, color in product((PixelFormat.GRAY8, PixelFormat.BGR24), ColorMode):
        frame = synthetic_frame(rng, Geometry(40, 30, pixel_format), 2)
        options = Options(Equalization(color=color), region=Region(8, 6, 20, 12, apply_to_whole_frame=False))
        shown = enhance_all(device, [frame], options)[0].frame.pixels
        changed = (shown != frame.pixels).reshape(30, 40, -1).any(axis=2)
        assert changed[6:18, 8:28].any()
        changed[6:18, 8:28] = False
        assert not changed.any()


def test_a_region_is_in_pixels_of_the_reoriented_frame(device, rng):
    frame = synthetic_frame(rng, Geometry(40, 20, PixelFormat.GRAY8), 3)
    options = Options(
        Equalization(Mode.EQUALIZE), orientation=Orientation.ROTATE90, region=Region(0, 25, 20, 15)
    )
    assert_enhanced(device, frame, options)


# What goes in and out


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_row_padding_of_every_plane_does_not_change_the_result(device, rng, pixel_format):
    frame = synthetic_frame(rng, geometry_of(pixel_format, (31, 46)), 3)
    expected = oracle_frames.enhance(frame, Options()).planes
    out = pitched(Frame.empty(frame.geometry))
    with open_lane(device, frame.geometry, Options()) as lane:
        lane.submit(pitched(frame), out)
        shown = lane.collect().frame
    for plane, mine, wanted in zip(shown.planes, out.planes, expected, strict=True):
        assert plane is mine
        np.testing.assert_array_equal(plane, wanted)
        mine[...] = 77
        assert (mine.base == 77).all()


@pytest.mark.parametrize("mode", [Mode.IDENTITY, Mode.EQUALIZE, Mode.CLAHE])
@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_every_format_can_be_enhanced_in_place(device, rng, pixel_format, mode):
    region = Region(4, 2, 31, 20, apply_to_whole_frame=False)
    options = Options(Equalization(mode), lbp=Lbp(mapping=LbpMapping.RAW, labels=True), region=region)
    frame = synthetic_frame(rng, geometry_of(pixel_format, (31, 46)), 3)
    expected = oracle_frames.enhance(copy_frame(frame), options)
    with open_lane(device, frame.geometry, options) as lane:
        lane.submit(frame, frame)
        result = lane.collect()
    for plane, mine, wanted in zip(result.frame.planes, frame.planes, expected.planes, strict=True):
        assert plane is mine
        np.testing.assert_array_equal(plane, wanted)
    labels = oracle.lbp_labels(expected.display, False, LbpMapping.RAW)
    np.testing.assert_array_equal(result.lbp_labels, labels)


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_a_frame_of_any_format_written_to_the_slot_is_enhanced(device, rng, pixel_format):
    geometry = geometry_of(pixel_format, (31, 46))
    with open_lane(device, geometry, Options()) as lane:
        for kind in range(2, 4):
            sent, born = synthetic_frame(rng, geometry, 3), lane.next_input()
            assert born.geometry == geometry
            for plane, source in zip(born.planes, sent.planes, strict=True):
                plane[...] = source
            lane.submit(replace(born, pts=kind))
            result = lane.collect()
            np.testing.assert_array_equal(result.bins, oracle_frames.enhance(sent, Options()).bins)
            assert result.frame.pts == kind


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_the_lut_of_n_minus_1_is_applied_to_n_in_every_format(device, rng, pixel_format):
    geometry = geometry_of(pixel_format, (31, 46))
    frames = [synthetic_frame(rng, geometry, kind) for kind in (2, 3, 4)]
    results = enhance_all(device, map(copy_frame, frames), Options(Equalization(Mode.EQUALIZE)))
    for number, result in enumerate(results):
        lut_source = oracle_frames.enhance(frames[max(number - 1, 0)], Options(Equalization(Mode.EQUALIZE)))
        np.testing.assert_array_equal(result.lut, lut_source.lut)


# Refusals


@pytest.mark.parametrize(
    ("geometry", "options", "message"),
    [
        (Geometry(8, 8, PixelFormat.BGR24), Options(output=Output.DISPLAY), "needs gray frames"),
        (Geometry(8, 8, PixelFormat.P010), Options(output=Output.DISPLAY), "needs gray frames"),
        (Geometry(8, 8, PixelFormat.YUYV), Options(orientation=Orientation.ROTATE90), "nv12 or i420"),
        (Geometry(7, 8, PixelFormat.UYVY), Options(orientation=Orientation.FLIP_X), "nv12 or i420"),
        (Geometry(8, 8, PixelFormat.GRAY8), Options(region=Region(1, 0, 8, 8)), "inside the frame of 8x8"),
        (
            Geometry(8, 4, PixelFormat.GRAY8),
            Options(region=Region(0, 0, 8, 4), orientation=Orientation.TRANSPOSE),
            "inside the frame of 4x8",
        ),
        (
            Geometry(8, 8, PixelFormat.NV12),
            Options(Equalization(chroma_gain=2.0), region=Region(0, 0, 4, 4, apply_to_whole_frame=False)),
            "chroma_gain",
        ),
    ],
)
def test_open_lane_rejects_options_that_do_not_fit_the_geometry(device, geometry, options, message):
    with pytest.raises(OptionError, match=message):
        open_lane(device, geometry, options)


def test_a_frame_of_the_other_range_or_alignment_is_another_geometry(device, rng):
    with open_lane(device, Geometry(8, 8, PixelFormat.NV12), Options()) as lane:
        other = synthetic_frame(rng, Geometry(8, 8, PixelFormat.NV12, Range.FULL), 3)
        with pytest.raises(FrameError, match="got 8x8 nv12 full range"):
            lane.submit(other)
    with open_lane(device, Geometry(8, 8, PixelFormat.GRAY12), Options()) as lane:
        other = synthetic_frame(rng, Geometry(8, 8, PixelFormat.GRAY12, alignment=Alignment.MSB), 3)
        with pytest.raises(FrameError, match="got 8x8 gray12 msb"):
            lane.submit(other)


def test_display_output_rejects_an_out_of_the_input_format(device, rng):
    frame = synthetic_frame(rng, Geometry(8, 8, PixelFormat.GRAY12), 3)
    with (
        open_lane(device, frame.geometry, Options(output=Output.DISPLAY)) as lane,
        pytest.raises(FrameError, match="expected out to be 8x8 gray8"),
    ):
        lane.submit(frame, copy_frame(frame))
