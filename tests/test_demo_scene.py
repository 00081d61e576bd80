"""The sample scene: what makes it worth enhancing."""

import subprocess
import sys
import time

import cv2
import numpy as np
import pytest

from lumaflow_service.demo.scene import FRAMES_PER_SECOND, VIEW_FRAMES, Scene, lamp_power

LAMP_ON, LAMP_OFF = 2 * FRAMES_PER_SECOND, 4 * FRAMES_PER_SECOND


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def test_a_frame_is_bgr_of_the_size_asked_for() -> None:
    frame = Scene(width=202, height=114).frame(3)
    assert frame.shape == (114, 202, 3)
    assert frame.dtype == np.uint8


def test_the_same_seed_gives_the_same_frames_in_any_order(scene: Scene) -> None:
    wanted = [scene.frame(n) for n in (0, 700, 31)]
    other = Scene()
    for n, frame in zip((31, 0, 700), (wanted[2], wanted[0], wanted[1]), strict=True):
        assert np.array_equal(other.frame(n), frame)


def test_another_seed_gives_other_frames(scene: Scene) -> None:
    assert not np.array_equal(Scene(seed=8).frame(0), scene.frame(0))


def test_a_frame_belongs_to_the_caller(scene: Scene) -> None:
    first = scene.frame(0)
    kept = first.copy()
    scene.frame(1)
    assert np.array_equal(first, kept)


def test_the_scene_is_dim_and_clahe_raises_its_contrast(scene: Scene) -> None:
    clahe = cv2.createCLAHE(2.0, (8, 8))
    for n in range(0, 2 * VIEW_FRAMES, 97):
        value = scene.frame(n).max(axis=2)
        assert 10 < value.mean() < 50
        assert clahe.apply(value).std() > 1.25 * value.std()


def test_the_lamp_goes_on_and_off(scene: Scene) -> None:
    assert lamp_power(LAMP_ON) == 1.0
    assert lamp_power(LAMP_OFF) == 0.0
    assert scene.frame(LAMP_ON).mean() > 1.2 * scene.frame(LAMP_OFF).mean()


def test_people_and_cars_move(scene: Scene) -> None:
    before, after = (cv2.GaussianBlur(scene.frame(LAMP_OFF + k), (0, 0), 2).astype(int) for k in (0, 15))
    assert (np.abs(after - before).max(axis=2) > 6).sum() > 300


def test_views_change_with_a_hard_cut(scene: Scene) -> None:
    last, cut, same = (scene.frame(VIEW_FRAMES + k).astype(int) for k in (-1, 0, 1))
    assert np.abs(cut - last).mean() > 3 * np.abs(same - cut).mean()


def test_any_frame_number_can_be_rendered(scene: Scene) -> None:
    assert scene.frame(10_000_019).shape == (360, 640, 3)


def test_a_frame_is_rendered_in_less_than_100_ms(scene: Scene) -> None:
    start = time.perf_counter()
    for n in range(60):
        scene.frame(n)
    assert (time.perf_counter() - start) / 60 < 0.1


def test_rendering_does_not_import_opencv() -> None:
    code = "import sys, lumaflow_service.demo.scene; sys.exit('cv2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
