"""The oracle against OpenCV and scikit-image."""

import cv2
import numpy as np
import pytest
from skimage.feature import local_binary_pattern

import opencv_reference
import oracle
from synthetic_images import color_images, gray_images

CLIPS = (0.0, 0.5, 2.0, 40.0)
GRIDS = ((8, 8), (1, 1), (4, 2), (3, 5), (16, 1))


def test_equalize_equals_opencv_equalize_hist(rng):
    for luma in gray_images(rng):
        lut = oracle.equalize_lut(oracle.histogram(luma))
        np.testing.assert_array_equal(lut[luma], cv2.equalizeHist(luma))


@pytest.mark.parametrize("clip", CLIPS)
def test_clahe_equals_opencv(rng, clip):
    for number, luma in enumerate(gray_images(rng, 80)):
        grid = GRIDS[number % len(GRIDS)]
        ours = oracle.apply_clahe(luma, oracle.clahe_luts(luma, clip, grid))
        np.testing.assert_array_equal(ours, cv2.createCLAHE(clip, grid).apply(luma), f"{luma.shape} {grid}")


def test_reflection_repeats_in_an_axis_shorter_than_its_padding():
    np.testing.assert_array_equal(oracle.reflected(8, 3), [0, 1, 2, 1, 0, 1, 2, 1])
    np.testing.assert_array_equal(oracle.reflected(3, 1), [0, 0, 0])


def test_luma_and_recolor_luma_equal_opencv_ycrcb(rng):
    for pixels in color_images(rng, 100):
        expected = cv2.cvtColor(pixels, cv2.COLOR_BGR2YCrCb)
        luma = oracle.luma_of(pixels)
        np.testing.assert_array_equal(luma, expected[..., 0])
        mapped = cv2.equalizeHist(luma)
        expected[..., 0] = mapped
        back = cv2.cvtColor(expected, cv2.COLOR_YCrCb2BGR)
        np.testing.assert_array_equal(oracle.recolor_luma(pixels, mapped), back)


def test_recolor_value_keeps_gray_and_stays_in_the_gamut(rng):
    for pixels in color_images(rng, 60):
        mapped = cv2.equalizeHist(oracle.value(pixels))
        out = oracle.recolor_value(pixels, mapped)
        np.testing.assert_array_equal(out.max(axis=2), mapped)
        gray = (pixels == pixels[..., :1]).all(axis=2)
        assert (out == out[..., :1]).all(axis=2)[gray].all()


def test_hog_blocks_equal_opencv(rng):
    for luma in gray_images(rng, 60):
        if min(luma.shape) >= 16:
            np.testing.assert_allclose(oracle.hog_blocks(luma), opencv_reference.hog_blocks(luma), atol=2e-6)


def test_circle_codes_equal_scikit_image_except_for_ties(rng):
    for luma in gray_images(rng):
        theirs = local_binary_pattern(luma, 8, 1, "default").astype(np.uint8)
        differ = theirs ^ oracle.lbp_codes(luma, circle=True)
        assert not (differ & ~exact_ties(luma)).any(), luma.shape


def exact_ties(luma):
    """(H, W) uint8 bits of the diagonal neighbours whose exact value is the centre's: fp64 decides them."""
    near = np.pad(luma.astype(np.int64), 1)
    centre = near[1:-1, 1:-1]
    bits = np.zeros(luma.shape, np.uint8)
    for bit, (down, right) in {1: (-1, 1), 3: (-1, -1), 5: (1, -1), 7: (1, 1)}.items():
        sides = oracle.shifted(near, 0, right) + oracle.shifted(near, down, 0)
        tie = (sides == 2 * centre) & (oracle.shifted(near, down, right) == centre)
        bits |= tie.astype(np.uint8) << bit
    return bits


@pytest.mark.parametrize(
    ("mapping", "method"), [("uniform", "nri_uniform"), ("riu2", "uniform"), ("ror", "ror")]
)
def test_labels_of_all_codes_equal_scikit_image(mapping, method):
    theirs = local_binary_pattern(every_code(), 8, 1, method)[1::3, 1::3].ravel()
    np.testing.assert_array_equal([oracle.lbp_label(code, mapping) for code in range(256)], theirs)


def every_code():
    """An image of 16x16 patches of 3x3 pixels; the centre of patch k has code k on square and circle."""
    image = np.zeros((48, 48), np.int64)
    steps = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
    for code in range(256):
        y, x = 3 * (code // 16) + 1, 3 * (code % 16) + 1
        image[y, x] = 100
        for bit, (down, right) in enumerate(steps):
            # Corners outweigh the sides that the circle mixes into them.
            far = 10_000 if down and right else 200
            image[y + down, x + right] = far if code >> bit & 1 else -far
    return image


def test_heatmap_deviation_equals_numpy_without_padding(rng):
    luma = rng.integers(0, 256, (48, 64), dtype=np.uint8)
    deviation, distance = oracle.heatmap(luma, (4, 3))
    tiles = luma.reshape(3, 16, 4, 16).transpose(0, 2, 1, 3).reshape(3, 4, 256)
    np.testing.assert_allclose(deviation, tiles.std(axis=2), rtol=1e-12)
    assert (distance < 5000).all()


def test_heatmap_distance_of_flat_and_constant_tiles():
    flat = np.arange(256, dtype=np.uint8).reshape(16, 16)
    black = np.zeros((16, 16), np.uint8)
    assert oracle.heatmap(flat, (1, 1))[1] == 0
    assert abs(oracle.heatmap(black, (1, 1))[1][0, 0] / 65536 - 0.5) < 0.01
