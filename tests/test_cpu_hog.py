"""HOG of the CPU lane against OpenCV: all blocks, and the scores of its people detector."""

import cv2
import numpy as np
import pytest

import opencv_reference
import oracle
from lane_helpers import enhance
from lumaflow import Equalization, Hog, HogLayout, Mode, Options
from synthetic_images import gray_images

PLAIN = Equalization(Mode.IDENTITY)
BLOCKS, CELLS = Options(PLAIN, hog=Hog()), Options(PLAIN, hog=Hog(HogLayout.COMPACT))


def test_blocks_equal_opencv(rng):
    for luma in gray_images(rng):
        blocks = enhance("cpu", luma, BLOCKS).hog
        assert np.isfinite(blocks).all()
        if min(luma.shape) >= 16:
            np.testing.assert_allclose(blocks, opencv_reference.hog_blocks(luma), rtol=0, atol=2e-6)


def test_a_large_plane_equals_opencv(rng):
    luma = rng.integers(0, 256, (723, 515), dtype=np.uint8)
    np.testing.assert_allclose(
        enhance("cpu", luma, BLOCKS).hog, opencv_reference.hog_blocks(luma), rtol=0, atol=2e-6
    )


def test_cells_equal_the_oracle(rng):
    for luma in gray_images(rng):
        cells = enhance("cpu", luma, CELLS).hog
        np.testing.assert_allclose(cells, oracle.hog_cells(luma), rtol=2e-6, atol=2e-4)


@pytest.mark.parametrize(
    ("size", "blocks", "cells"),
    [
        ((7, 40), (0, 4, 36), (0, 5, 9)),
        ((8, 15), (0, 0, 36), (1, 1, 9)),
        ((15, 16), (0, 1, 36), (1, 2, 9)),
        ((16, 16), (1, 1, 36), (2, 2, 9)),
        ((31, 24), (2, 2, 36), (3, 3, 9)),
        ((1080, 1920), (134, 239, 36), (135, 240, 9)),
    ],
)
def test_shapes_count_whole_blocks_and_cells(size, blocks, cells):
    luma = np.zeros(size, np.uint8)
    assert enhance("cpu", luma, BLOCKS).hog.shape == blocks
    assert enhance("cpu", luma, CELLS).hog.shape == cells


def test_the_strongest_gradients_stay_finite():
    board = (np.indices((64, 64)).sum(axis=0) // 2 % 2 * 255).astype(np.uint8)
    blocks = enhance("cpu", board, BLOCKS).hog
    assert np.isfinite(blocks).all()
    np.testing.assert_allclose(blocks, opencv_reference.hog_blocks(board), rtol=0, atol=2e-6)


def test_a_constant_frame_has_no_gradient():
    assert not enhance("cpu", np.full((40, 40), 99, np.uint8), BLOCKS).hog.any()


def test_people_scores_equal_opencv_on_noise(rng):
    luma = cv2.GaussianBlur(rng.integers(0, 256, (200, 160), dtype=np.uint8), (0, 0), 2)
    assert_scores_equal(cv2.normalize(luma, None, 0, 255, cv2.NORM_MINMAX))


def test_people_scores_equal_opencv_on_photographs(shared_data):
    photographs = sorted((shared_data / "images" / "faces_people").glob("*.jpg"))[:6]
    assert photographs
    for path in photographs:
        luma = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        assert_scores_equal(cv2.resize(luma, (480, 360)))


def assert_scores_equal(luma):
    """Scores of every window within 1e-4 of OpenCV's, and the same windows over the threshold."""
    svm = cv2.HOGDescriptor.getDefaultPeopleDetector()
    detector = cv2.HOGDescriptor()
    detector.setSVMDetector(svm)
    places, scores = detector.detect(luma, hitThreshold=-1e9, winStride=(8, 8), padding=(0, 0))
    field = enhance("cpu", luma, BLOCKS).hog
    assert len(places) == (field.shape[0] - 14) * (field.shape[1] - 6)
    for (x, y), score in zip(places // 8, scores.ravel(), strict=True):
        window = field[y : y + 15, x : x + 7].transpose(1, 0, 2).ravel()
        ours = float(window.astype(np.float64) @ svm[:-1].ravel() + svm[-1].item())
        assert abs(ours - score) < 1e-4
        assert (ours > 0) == (score > 0) or abs(score) < 1e-5
