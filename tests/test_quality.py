"""Quality metrics against scikit-image, or by hand where it has none."""

import math

import cv2
import numpy as np
import pytest
from skimage.color import rgb2lab
from skimage.measure import shannon_entropy
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from lane_helpers import enhance_all
from lumaflow import ColorMode, Equalization, Frame, FrameError, Mode, Options, PixelFormat, quality
from synthetic_images import color_images, gray_images

WELL_EXPOSED = [
    "faces_people/astronaut_512.png",
    "faces_people/grace_hopper_512x600.jpg",
    "faces_people/sign_book_640x480_f40.png",
    "faces_people/pedestrians_cctv_768x576_f400.jpg",
]


def noisy(rng, plane):
    return np.clip(plane + rng.normal(0, 9, plane.shape), 0, 255).astype(np.uint8)


def test_psnr_equals_scikit_image(rng):
    for plane in gray_images(rng, 60):
        other = noisy(rng, plane)
        if (other != plane).any():
            wanted = peak_signal_noise_ratio(plane, other)
            assert quality.psnr(plane, other) == pytest.approx(wanted, abs=1e-10)


def test_psnr_of_identical_planes_is_infinite():
    assert quality.psnr(np.ones((3, 3), np.uint8), np.ones((3, 3), np.uint8)) == math.inf


def test_psnr_of_high_bit_depth_uses_their_highest_level(rng):
    plane = rng.integers(0, 4096, (20, 30)).astype(np.uint16)
    other = np.minimum(plane + 5, 4095).astype(np.uint16)
    wanted = peak_signal_noise_ratio(plane, other, data_range=4095)
    assert quality.psnr(plane, other, 4095) == pytest.approx(wanted)


def test_ssim_equals_scikit_image(rng):
    for plane in gray_images(rng, 120):
        found = quality.ssim(plane, noisy_plane := noisy(rng, plane))
        if min(plane.shape) < 7:
            assert found is None
        else:
            assert found == pytest.approx(structural_similarity(plane, noisy_plane), abs=1e-9)


def test_ssim_of_high_bit_depth_equals_scikit_image(rng):
    plane = rng.integers(0, 65536, (40, 50)).astype(np.uint16)
    other = (plane // 2 + 900).astype(np.uint16)
    wanted = structural_similarity(plane, other, data_range=65535)
    assert quality.ssim(plane, other, 65535) == pytest.approx(wanted, abs=1e-9)


def test_entropy_equals_scikit_image(rng):
    for plane in gray_images(rng, 60):
        assert quality.entropy(plane) == pytest.approx(shannon_entropy(plane, base=2), abs=1e-10)


def test_brightness_error_is_the_change_of_the_mean():
    before, after = np.array([[0, 100]], np.uint8), np.array([[250, 10]], np.uint8)
    assert quality.brightness_error(before, after) == 80.0
    assert quality.brightness_error(after, before) == 80.0


def test_order_error_counts_pairs_whose_order_changed():
    before = np.tile(np.arange(50, dtype=np.uint8), (50, 1))
    assert quality.lightness_order_error(before, before * 2) == 0.0
    # Of 2500 samples, those of another column have changed their order: x >= y is no more, or is now.
    assert quality.lightness_order_error(before, 49 - before) == 2450.0
    level = np.zeros_like(before)
    # On a level plane all are in order; before, a sample in column c was not for the 49 - c beyond it.
    assert quality.lightness_order_error(before, level) == 50 * np.mean(49 - np.arange(50))


def test_order_error_samples_the_largest_channel_at_grid_centres():
    before = np.zeros((100, 100, 3), np.uint8)
    before[1::2, 1::2, 2] = 9  # rows and columns floor((2i + 1) * 100 / 100)
    assert quality.lightness_order_error(before, before) == 0.0
    assert quality.lightness_order_error(before, np.zeros_like(before)) == 0.0
    before[1, 1] = 20
    assert quality.lightness_order_error(before, np.zeros_like(before)) == pytest.approx(2499 / 2500)


def test_lab_equals_scikit_image(rng):
    for image in color_images(rng, 40):
        wanted = rgb2lab(image[..., ::-1])
        for axis, plane in enumerate(quality.lab(image)):
            np.testing.assert_allclose(plane, wanted[..., axis], atol=1e-4)


def test_hue_error_is_the_shorter_angle():
    red, magenta = np.array([[[0, 0, 255]]], np.uint8), np.array([[[180, 0, 255]]], np.uint8)
    hues = [np.degrees(np.arctan2(b, a))[0, 0] for _, a, b in map(quality.lab, (red, magenta))]
    assert hues[0] > 0 > hues[1]
    assert quality.hue_error(red, magenta) == pytest.approx(hues[0] - hues[1])
    assert quality.hue_error(red, red) == 0.0


def test_hue_error_of_gray_is_none(rng):
    gray = np.repeat(rng.integers(0, 256, (9, 9, 1), dtype=np.uint8), 3, axis=2)
    assert quality.hue_error(gray, gray) is None


@pytest.mark.parametrize("name", WELL_EXPOSED)
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE, Mode.STRETCH])
def test_value_mode_keeps_the_hue_of_well_exposed_photographs(shared_data, name, mode):
    before = cv2.imread(str(shared_data / "images" / name))
    options = Options(Equalization(mode, color=ColorMode.VALUE))
    after = enhance_all("cpu", [Frame(before, PixelFormat.BGR24)], options)[0].frame.pixels
    assert quality.hue_error(before, after) < 2.0


def test_flicker_is_the_second_difference_of_static_blocks():
    planes = [np.full((17, 20), level, np.uint8) for level in (10, 20, 10, 0)]
    planes[2][8:16, :8] = 200  # moves
    still = np.array([[True, True], [False, False]])
    assert quality.flicker(planes, still) == pytest.approx((20 + 0) / 2)
    steady = [np.full((16, 16), level, np.uint8) for level in (10, 20, 30, 40)]
    assert quality.flicker(steady, np.ones((2, 2), bool)) == 0.0


def test_flicker_needs_three_planes_and_a_static_block():
    planes = [np.zeros((16, 16), np.uint8)] * 3
    assert quality.flicker(planes[:2], np.ones((2, 2), bool)) is None
    assert quality.flicker(planes, np.zeros((2, 2), bool)) is None
    with pytest.raises(FrameError, match=r"\(2, 2\)"):
        quality.flicker(planes, np.ones((3, 2), bool))


@pytest.mark.parametrize("figure", [quality.psnr, quality.ssim, quality.lightness_order_error])
def test_arrays_of_different_sizes_are_rejected(figure):
    with pytest.raises(FrameError, match="the same size"):
        figure(np.zeros((8, 8), np.uint8), np.zeros((8, 9), np.uint8))
