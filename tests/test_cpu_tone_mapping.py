"""Every mode of the CPU lane against OpenCV: no pixel differs."""

import cv2
import numpy as np
import pytest

import opencv_reference
from lane_helpers import enhance
from lumaflow import Equalization, Mode, Options
from synthetic_images import gray_images

CLIPS = (0.0, 0.5, 2.0, 40.0)
GRIDS = ((8, 8), (1, 1), (4, 2), (3, 5), (16, 1), (64, 64))


def shown(luma, mode, clip=2.0, tiles=(8, 8)):
    return enhance("cpu", luma, Options(Equalization(mode, clip, tiles))).frame.pixels


def test_equalize_equals_opencv(rng):
    for luma in gray_images(rng):
        np.testing.assert_array_equal(shown(luma, Mode.EQUALIZE), cv2.equalizeHist(luma), f"{luma.shape}")


@pytest.mark.parametrize("clip", CLIPS)
def test_clipped_equals_opencv_clahe_with_one_tile(rng, clip):
    expected = cv2.createCLAHE(clip, (1, 1))
    for luma in gray_images(rng):
        np.testing.assert_array_equal(shown(luma, Mode.CLIPPED, clip), expected.apply(luma), f"{luma.shape}")


@pytest.mark.parametrize("clip", CLIPS)
def test_clahe_equals_opencv(rng, clip):
    for number, luma in enumerate(gray_images(rng)):
        tiles = GRIDS[number % len(GRIDS)]
        expected = cv2.createCLAHE(clip, tiles).apply(luma)
        np.testing.assert_array_equal(shown(luma, Mode.CLAHE, clip, tiles), expected, f"{luma.shape} {tiles}")


def test_clahe_with_the_default_grid_equals_opencv_for_every_size(rng):
    expected = cv2.createCLAHE(2.0, (8, 8))
    for luma in gray_images(rng):
        np.testing.assert_array_equal(shown(luma, Mode.CLAHE), expected.apply(luma), f"{luma.shape}")


@pytest.mark.parametrize("size", [(1080, 1920), (719, 1281)])
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
def test_large_frames_equal_opencv(rng, size, mode):
    luma = rng.binomial(255, 0.2, size).astype(np.uint8)
    expected = opencv_reference.tone_mapped(luma, mode)
    np.testing.assert_array_equal(shown(luma, mode), expected)


def test_equalize_maps_the_first_used_level_to_zero():
    luma = np.repeat(np.array([50, 60, 70], np.uint8), [5, 5, 10]).reshape(4, 5)
    assert sorted(set(shown(luma, Mode.EQUALIZE).ravel())) == [0, 85, 255]


def test_equalize_rounds_half_to_even():
    luma = np.repeat(np.array([10, 20, 30], np.uint8), [1, 3, 7]).reshape(1, 11)
    assert enhance("cpu", luma, Options(Equalization(Mode.EQUALIZE))).lut[0, 0, 20] == 76  # of 76.5


@pytest.mark.parametrize("level", [0, 17, 255])
def test_the_lut_of_a_constant_frame_is_the_identity(level):
    result = enhance("cpu", np.full((9, 9), level, np.uint8), Options(Equalization(Mode.EQUALIZE)))
    np.testing.assert_array_equal(result.lut[0, 0], np.arange(256))


def test_luts_are_monotone(rng):
    for luma in gray_images(rng, 60):
        for mode in (Mode.EQUALIZE, Mode.CLIPPED, Mode.CLAHE):
            lut = enhance("cpu", luma, Options(Equalization(mode))).lut
            assert (np.diff(lut.astype(int), axis=2) >= 0).all()


def test_equalize_of_more_than_eight_million_pixels_does_not_overflow():
    luma = np.tile(np.array([3, 90, 200, 90], np.uint8), (2904, 726))
    assert 255 * luma.size > 2**31
    np.testing.assert_array_equal(shown(luma, Mode.EQUALIZE), cv2.equalizeHist(luma))
