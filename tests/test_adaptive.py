"""The adaptive modes: equal to the oracle in every format, and useful pictures from drawn scenes."""

import tracemalloc
from dataclasses import replace

import cv2
import numpy as np
import pytest

import oracle_adaptive
from lane_helpers import copy_result, enhance, enhance_all
from lumaflow import (
    Alignment,
    Equalization,
    Geometry,
    Hog,
    Lbp,
    LbpMapping,
    LutKind,
    Mode,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
    Tone,
    open_lane,
)
from lumaflow.lane import output_geometry
from scenes import exposed, frame_of, hazy, room
from synthetic_frames import copy_frame

ADAPTIVE = [mode for mode in Mode if mode.adaptive]
SIZES = [(1, 1), (7, 5), (48, 64), (97, 61)]
YUV = [PixelFormat.NV12, PixelFormat.I420, PixelFormat.P010, PixelFormat.YUYV, PixelFormat.UYVY]
AUTO = Options(Equalization(Mode.AUTO))


def story(size, geometry, seed=0):
    """Return a sequence with every event: dark, corrupt, brighter, cut, haze, a fade to dark, black."""
    height, width = size
    scene, other = room(height, width, seed), room(height, width, seed + 1)[::-1]
    scenes = [
        exposed(scene, 0.12, seed=1),
        exposed(scene, 0.12, seed=2),
        exposed(scene, 0.14, seed=3),
        exposed(scene, 0.9, seed=4),
        scene,
        hazy(other, 2.0),
        exposed(hazy(other, 2.2), 1.0, 2.0, seed=5),
        hazy(other, 0.5) * 0.5 + 60,
        exposed(scene, 0.3, seed=6),
        exposed(scene, 0.26, seed=7),
        exposed(scene, 0.22, seed=8),
        np.zeros_like(scene),
        exposed(other, 0.06, seed=9),
    ]
    corrupt = {1, 5, 9}
    return [frame_of(one, geometry, number in corrupt) for number, one in enumerate(scenes)]


def assert_sequence(device, frames, options):
    """Every frame of a lane is the oracle's, to the last byte."""
    reference = oracle_adaptive.AdaptiveOracle(options)
    results = enhance_all(device, [copy_frame(frame) for frame in frames], options)
    for number, (frame, result) in enumerate(zip(frames, results, strict=True)):
        expected = reference.enhance(frame)
        where = f"frame {number} of {frame.geometry} {options}"
        np.testing.assert_array_equal(result.bins, expected.bins, where)
        assert (result.lut_kind, result.tone.cut, result.tone.denoised) == (
            expected.kind,
            expected.figures["cut"],
            expected.figures["denoised"],
        ), where
        np.testing.assert_array_equal(result.lut, expected.lut, where)
        for plane, wanted in zip(result.frame.planes, expected.planes, strict=True):
            np.testing.assert_array_equal(plane, wanted, where)
        assert result.tone.gain == expected.figures["mapping"][-5] / 1024
        assert result.tone.haze == expected.figures["haze"]
        if result.lbp_labels is not None and expected.display is not None:
            labels = oracle_adaptive.oracle.lbp_labels(expected.display, False, LbpMapping.RAW)
            np.testing.assert_array_equal(result.lbp_labels, labels, where)
    return results


# Equality


@pytest.mark.parametrize("mode", ADAPTIVE)
@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_every_format_equals_the_oracle(device, pixel_format, mode):
    options = Options(Equalization(mode), lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    for height, width in SIZES:
        geometry = Geometry(width, height, pixel_format)
        assert_sequence(device, story((height, width), geometry), options)


@pytest.mark.parametrize("pixel_format", [PixelFormat.BGR24, PixelFormat.GRAY8, PixelFormat.NV12])
def test_a_larger_frame_equals_the_oracle(device, pixel_format):
    assert_sequence(device, story((243, 321), Geometry(321, 243, pixel_format))[:8], AUTO)


@pytest.mark.parametrize("pixel_format", [PixelFormat.BGR24, PixelFormat.NV12])
def test_a_map_of_more_than_one_pixel_a_block_equals_the_oracle(device, pixel_format):
    frames = story((23, 1201), Geometry(1201, 23, pixel_format))
    assert_sequence(device, frames[5:9], Options(Equalization(Mode.DEHAZE)))


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.DEHAZE])
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.GRAY12, *YUV])
def test_the_other_range_equals_the_oracle(device, pixel_format, mode):
    gray = pixel_format in (PixelFormat.GRAY8, PixelFormat.GRAY12)
    geometry = Geometry(62, 45, pixel_format, Range.LIMITED if gray else Range.FULL)
    assert_sequence(device, story((45, 62), geometry), Options(Equalization(mode)))


@pytest.mark.parametrize("alignment", Alignment)
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY10, PixelFormat.GRAY14, PixelFormat.GRAY16])
def test_deep_frames_and_display_output_equal_the_oracle(device, pixel_format, alignment):
    geometry = Geometry(51, 43, pixel_format, alignment=alignment)
    frames = story((43, 51), geometry)
    for output in Output:
        options = Options(Equalization(Mode.AUTO), hog=Hog(), output=output)
        assert_sequence(device, frames, options)


@pytest.mark.parametrize("apply_to_whole_frame", [True, False])
@pytest.mark.parametrize(
    "pixel_format", [PixelFormat.BGRA32, PixelFormat.GRAY12, PixelFormat.NV12, PixelFormat.YUYV]
)
def test_a_region_equals_the_oracle(device, pixel_format, apply_to_whole_frame):
    region = Region(5, 3, 41, 33, apply_to_whole_frame)
    for mode in (Mode.AUTO, Mode.DEHAZE):
        options = Options(Equalization(mode), region=region)
        assert_sequence(device, story((47, 60), Geometry(60, 47, pixel_format)), options)


@pytest.mark.parametrize("orientation", Orientation)
@pytest.mark.parametrize("pixel_format", [PixelFormat.BGR24, PixelFormat.I420])
def test_an_orientation_equals_the_oracle(device, pixel_format, orientation):
    options = Options(Equalization(Mode.AUTO), orientation=orientation)
    assert_sequence(device, story((29, 50), Geometry(50, 29, pixel_format))[:7], options)


@pytest.mark.parametrize(
    "values",
    [
        {"strength": 0.4},
        {"target": 120.0},
        {"denoise": False},
        {"strength": 0.0},
        {"mode": Mode.LOWLIGHT, "target": 60.0, "strength": 0.7},
        {"mode": Mode.DEHAZE, "strength": 0.5},
    ],
)
def test_options_equal_the_oracle(device, values):
    options = Options(Equalization(**{"mode": Mode.AUTO, **values}))
    for pixel_format in (PixelFormat.BGR24, PixelFormat.NV12):
        assert_sequence(device, story((44, 70), Geometry(70, 44, pixel_format)), options)


def test_chroma_gain_equals_the_oracle(device):
    options = Options(Equalization(Mode.AUTO, chroma_gain=1.5))
    for pixel_format in YUV:
        assert_sequence(device, story((30, 42), Geometry(42, 30, pixel_format))[:7], options)


def test_the_enhanced_frame_may_replace_the_raw_one(device):
    for pixel_format in (
        PixelFormat.BGR24,
        PixelFormat.GRAY8,
        PixelFormat.GRAY12,
        PixelFormat.NV12,
        PixelFormat.YUYV,
    ):
        geometry = Geometry(90, 70, pixel_format)
        frames = story((70, 90), geometry)[:4]
        wanted = enhance_all(device, [copy_frame(frame) for frame in frames], AUTO)
        with open_lane(device, geometry, AUTO) as lane:
            for frame, expected in zip(frames, wanted, strict=True):
                lane.submit(frame, frame)
                for plane, other in zip(lane.collect().frame.planes, expected.frame.planes, strict=True):
                    np.testing.assert_array_equal(plane, other)


# Pictures


def bgr_frames(scenes):
    """Return scenes of one size as BGR frames."""
    height, width = scenes[0].shape[:2]
    return [frame_of(scene, Geometry(width, height, PixelFormat.BGR24)) for scene in scenes]


def mean_luma(pixels):
    """Return the mean luma of BGR pixels."""
    return float(oracle_adaptive.oracle.luma_of(pixels).mean())


@pytest.mark.parametrize("mode", ADAPTIVE)
@pytest.mark.parametrize("level", [0, 1, 37, 128, 254, 255])
def test_a_constant_frame_is_unharmed(device, mode, level):
    for shape in ((1, 1), (40, 60)):
        frames = bgr_frames([np.full((*shape, 3), level, float)] * 3)
        for result in enhance_all(device, frames, Options(Equalization(mode))):
            assert (result.frame.pixels == level).all()
            assert result.tone.mode is Tone.BYPASS


def test_a_well_exposed_scene_is_unchanged(device):
    frames = bgr_frames([room(120, 160, seed) for seed in range(4)])
    for frame, result in zip(frames, enhance_all(device, frames, AUTO), strict=True):
        np.testing.assert_array_equal(result.frame.pixels, frame.pixels)
        assert (result.tone.mode, result.tone.gain, result.tone.denoised) == (Tone.BYPASS, 1.0, False)
        assert "well exposed" in result.tone.reason


@pytest.mark.parametrize("exposure", [0.3, 0.15, 0.08])
def test_a_dark_scene_is_lifted(device, exposure):
    frames = bgr_frames([exposed(room(240, 320), exposure, seed=seed) for seed in range(3)])
    for result in enhance_all(device, frames, AUTO):
        assert 80 <= mean_luma(result.frame.pixels) <= 130
        assert result.tone.mode is Tone.LOWLIGHT
        assert result.tone.gain > 2
        assert result.tone.denoised
        assert "dark" in result.tone.reason
        assert 0.5 < result.tone.noise < 4


def test_haze_is_removed(device):
    clear = room(240, 320, 3)
    frames = bgr_frames([hazy(clear, 1.5)] * 2)
    for mode in (Mode.DEHAZE, Mode.AUTO):
        result = enhance_all(device, frames, Options(Equalization(mode)))[1]
        before, after = (
            cv2.PSNR(clear.astype(np.uint8), pixels) for pixels in (frames[1].pixels, result.frame.pixels)
        )
        assert after > before + 1
        assert result.tone.haze > 0.1
    assert result.tone.mode is Tone.DEHAZE


def test_a_lamp_causes_no_glare_and_no_black_frame(device):
    dark, lit = 0.08, 0.9
    exposures = [dark] * 6 + [lit] * 6 + [dark] * 6
    frames = bgr_frames([exposed(room(240, 320), e, seed=n) for n, e in enumerate(exposures)])
    results = enhance_all(device, frames, AUTO)
    means = [mean_luma(result.frame.pixels) for result in results]
    assert all(70 <= mean <= 150 for mean in means)
    for number in (6, 12):
        assert results[number].lut_kind is LutKind.OWN
        own = enhance_all(device, [frames[number]], AUTO)[0]
        np.testing.assert_array_equal(results[number].frame.pixels, own.frame.pixels)


def test_a_fade_to_dark_is_monotone(device):
    exposures = np.geomspace(1, 0.08, 24)
    frames = bgr_frames([exposed(room(120, 160), e, seed=n) for n, e in enumerate(exposures)])
    means = [mean_luma(result.frame.pixels) for result in enhance_all(device, frames, AUTO)]
    assert max(np.diff(means)) < 1.5


@pytest.mark.parametrize("exposures", [np.linspace(0.02, 1, 40), np.geomspace(0.02, 1, 150)])
def test_a_fade_in_is_monotone(device, exposures):
    frames = bgr_frames([exposed(room(120, 160), e, 0.5, n) for n, e in enumerate(exposures)])
    means = [mean_luma(result.frame.pixels) for result in enhance_all(device, frames, AUTO)]
    assert (np.maximum.accumulate(means[1:]) - means[1:]).max() < 5


def test_a_good_picture_between_black_bars_is_unchanged(device):
    scene = room(240, 320)
    scene[:40], scene[-40:] = 0, 0
    frames = bgr_frames([scene])
    np.testing.assert_array_equal(enhance_all(device, frames, AUTO)[0].frame.pixels, frames[0].pixels)


def test_a_flat_picture_is_stretched(device):
    y, x = np.mgrid[:240, :320]
    waves = 118 + 9 * np.sin(x / 30) + 6 * np.cos(y / 40)
    scene = exposed(np.repeat(waves[..., None], 3, axis=2), 1, 0.2)
    before = bgr_frames([scene])[0].pixels
    result = enhance_all(device, bgr_frames([scene]), AUTO)[0]
    assert result.tone.mode is Tone.STRETCH
    assert result.frame.pixels.std() > 1.3 * before.std()
    assert abs(mean_luma(result.frame.pixels) - mean_luma(before)) < 3


def test_a_bright_window_does_not_stop_the_lift(device):
    scene = exposed(room(240, 320), 0.12)
    with_window = scene.copy()
    with_window[20:100, 120:200] = 255
    means = [
        result.frame.pixels[120:].mean()
        for one in (scene, with_window)
        for result in enhance_all(device, bgr_frames([one]), AUTO)
    ]
    assert means[1] > 0.8 * means[0]


def test_dark_pixels_mean_that_there_is_no_haze(device):
    scene = 130 + 0.3 * room(240, 320)
    scene[60:90, 40:70] = 8
    result = enhance_all(device, bgr_frames([scene]), AUTO)[0]
    assert (result.tone.haze, result.tone.mode) == (0, Tone.BYPASS)


@pytest.mark.parametrize("exposure", [0.2, 0.1])
def test_the_grain_of_a_dark_still_is_less_than_with_clahe(device, exposure):
    scene = np.full((240, 320, 3), (60, 120, 170), float)
    scene[:, 160:] = (200, 190, 180)
    frame = bgr_frames([exposed(scene, exposure, 2)])[0]
    shown = [
        enhance_all(device, [copy_frame(frame)], options)[0].frame.pixels[20:220, 20:140].astype(float)
        for options in (AUTO, Options())
    ]
    grain = [pixels.std(axis=(0, 1)).mean() / pixels.mean() for pixels in shown]
    assert grain[0] < 0.15 * grain[1]


def test_colour_is_held_down_at_the_largest_gains(device):
    scene = np.full((240, 320, 3), (120, 60, 110), float)
    scene[60:180, 80:240] = (150, 140, 145)
    saturation = []
    for exposure in (0.3, 0.03):
        pixels = enhance_all(device, bgr_frames([exposed(scene, exposure, 0.1)]), AUTO)[0].frame.pixels
        corner = pixels[:40, :40].astype(float).mean(axis=(0, 1))
        saturation.append(np.ptp(corner) / corner.max())
    assert saturation[1] < 0.2 * saturation[0]


def test_flicker_of_a_still_noisy_scene_is_a_fifth_of_clahe(device):
    scene = room(240, 320)
    frames = bgr_frames([exposed(scene, 0.12, seed=seed) for seed in range(24)])
    shown = [result.frame.pixels for result in enhance_all(device, frames, AUTO)]
    clahe = [enhance_all(device, [frame], Options())[0].frame.pixels for frame in frames]
    assert flicker(shown[4:]) <= flicker(clahe[4:]) / 5


def flicker(pictures):
    """Mean absolute second difference over time of the means of 8 x 8 blocks of the luma."""
    lumas = [oracle_adaptive.oracle.luma_of(picture).astype(float) for picture in pictures]
    blocks = np.stack([luma.reshape(30, 8, 40, 8).mean(axis=(1, 3)) for luma in lumas])
    return float(np.abs(np.diff(blocks, 2, axis=0)).mean())


def test_a_moving_object_leaves_no_trail(device):
    scene = room(240, 320)
    still = bgr_frames([exposed(scene, 0.12, seed=n) for n in range(24)])
    moving = []
    for number in range(24):
        one = scene.copy()
        one[60:180, 10 * number : 10 * number + 40] = (30, 200, 220)
        moving.append(exposed(one, 0.12, seed=number))
    background = enhance_all(device, still, AUTO)[-1].frame.pixels.astype(float)
    shown = enhance_all(device, bgr_frames(moving), AUTO)[-1].frame.pixels.astype(float)
    behind, elsewhere = (slice(60, 180), slice(150, 228)), (slice(200, 240), slice(0, 320))
    trail = np.abs(shown[behind].mean(axis=(0, 1)) - background[behind].mean(axis=(0, 1))).max()
    mapping = np.abs(shown[elsewhere].mean(axis=(0, 1)) - background[elsewhere].mean(axis=(0, 1))).max()
    assert trail <= mapping + 2


# State


def test_a_corrupt_frame_changes_nothing_later(device):
    geometry = Geometry(60, 44, PixelFormat.BGR24)
    frames = story((44, 60), geometry)
    good = [frame for frame in frames if not frame.corrupt]
    among = enhance_all(device, frames, AUTO)
    alone = enhance_all(device, good, AUTO)
    kept = [result for result, frame in zip(among, frames, strict=True) if not frame.corrupt]
    for one, other in zip(kept, alone, strict=True):
        np.testing.assert_array_equal(one.frame.pixels, other.frame.pixels)


def test_a_lane_starts_without_the_frames_of_another(device):
    geometry = Geometry(60, 44, PixelFormat.BGR24)
    frames = story((44, 60), geometry)[:5]
    first, second = enhance_all(device, frames, AUTO), enhance_all(device, frames, AUTO)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.frame.pixels, other.frame.pixels)
    assert first[0].tone.cut


def test_several_frames_in_flight_give_the_same(device):
    geometry = Geometry(60, 44, PixelFormat.BGR24)
    frames = story((44, 60), geometry)[:9]
    wanted = enhance_all(device, frames, AUTO)
    with open_lane(device, geometry, AUTO) as lane:
        for number in range(0, 9, 3):
            for frame in frames[number : number + 3]:
                lane.submit(frame)
            for expected in wanted[number : number + 3]:
                result = copy_result(lane.collect())
                np.testing.assert_array_equal(result.frame.pixels, expected.frame.pixels)
                assert result.tone == expected.tone


def test_the_heat_map_and_the_histogram_of_luma_are_those_of_a_plain_mode(device):
    frame = frame_of(room(61, 83), Geometry(83, 61, PixelFormat.BGR24))
    plain = Options(Equalization(Mode.STRETCH), heatmap=True)
    wanted = enhance_all(device, [frame], plain)[0]
    given = enhance_all(device, [frame], replace(plain, equalization=Equalization(Mode.AUTO)))[0]
    np.testing.assert_array_equal(given.heatmap.distance, wanted.heatmap.distance)
    np.testing.assert_array_equal(given.bins, wanted.bins)
    assert output_geometry(frame.geometry, AUTO) == frame.geometry


def test_steady_frames_allocate_no_memory(device):
    if device != "cpu":
        pytest.skip("tracemalloc measures host memory")
    geometry = Geometry(640, 480, PixelFormat.BGR24)
    scene = room(480, 640)
    frames = [frame_of(exposed(scene, e, seed=n), geometry) for n, e in enumerate((0.1, 0.1, 0.12, 1.0))]
    with open_lane(device, geometry, AUTO) as lane:
        for frame in frames:
            lane.submit(frame)
            lane.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for frame in 3 * frames:
                lane.submit(frame)
                lane.collect()
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert after - before < 64 * 1024
    assert peak - before < 480 * 640


# Real pictures


def picture(path):
    """Return a real picture, at most 800 pixels wide, as BGR pixels."""
    pixels = cv2.imread(str(path))
    assert pixels is not None, path
    scale = min(800 / max(pixels.shape), 1.0)
    return np.ascontiguousarray(cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))


BELOW_THE_NOISE = ("phone_verydark", "stage_dark")
"""Pictures whose signal is mostly black or below the noise: lifted as far as the gain goes."""


def test_dark_pictures_are_lifted_and_none_gets_darker(device, shared_data):
    for path in sorted((shared_data / "images/lowlight").iterdir()):
        pixels = picture(path)
        shown = enhance(device, pixels, AUTO).frame.pixels
        before, after = mean_luma(pixels), mean_luma(shown)
        assert after >= before, path
        if before < 60:
            assert after >= (3 * before if path.name.startswith(BELOW_THE_NOISE) else 80), path
            assert after <= 130, path


def test_good_pictures_stay_within_32_decibels(device, shared_data):
    folders = ("faces_people", "industrial", "texture")
    paths = [path for folder in folders for path in sorted((shared_data / "images" / folder).iterdir())]
    for path in (path for path in paths if path.suffix in (".jpg", ".png")):
        pixels = picture(path)
        result = enhance(device, pixels, AUTO)
        if mean_luma(pixels) > 98 and result.tone.strength < 0.5:
            assert cv2.PSNR(pixels, result.frame.pixels) >= 32, path


@pytest.mark.parametrize("name", ["selfie_backlit", "person_silhouette"])
def test_a_target_lifts_the_dark_half_of_a_backlit_picture(device, shared_data, name):
    options = Options(Equalization(Mode.LOWLIGHT, target=110.0))
    for path in sorted((shared_data / "images").glob(f"*/{name}*")):
        pixels = picture(path)
        before = oracle_adaptive.oracle.luma_of(pixels).astype(float)
        after = oracle_adaptive.oracle.luma_of(enhance(device, pixels, options).frame.pixels).astype(float)
        dark = before <= np.median(before)
        assert after[dark].mean() >= min(before[dark].mean() + 5, 95), path
