"""The demo camera: its clip, the cache of it, and how it joins a configuration."""

import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from lumaflow_service.config.loader import LoadedConfig, parse
from lumaflow_service.config.model import NO_CAMERAS
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from lumaflow_service.control.demo_camera import with_demo_camera
from lumaflow_service.demo.__main__ import STEP, render_clip
from lumaflow_service.demo.clip import clip_path, code_version
from lumaflow_service.demo.scene import FRAMES_PER_SECOND, LOOP_FRAMES, Scene, lamp_power

FRAMES = 20


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first frames of the demo clip."""
    path = tmp_path_factory.mktemp("demo") / "demo.mp4"
    render_clip(path, FRAMES)
    return path


def test_the_clip_holds_every_second_frame_of_the_scene(clip: Path) -> None:
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        frames = [frame.to_ndarray(format="bgr24") for frame in container.decode(stream)]
        assert (stream.width, stream.height) == (640, 360)
        assert stream.average_rate == FRAMES_PER_SECOND // STEP
    assert len(frames) == FRAMES // STEP
    scene = Scene()
    for n, frame in enumerate(frames):
        assert np.abs(frame.astype(int) - scene.frame(n * STEP)).mean() < 4


def test_the_clip_keeps_the_noise_of_the_dim_picture(clip: Path) -> None:
    def noise(first: np.ndarray, second: np.ndarray) -> float:
        return float((first.astype(int) - second).std())

    with av.open(str(clip)) as container:
        decoded = [frame.to_ndarray(format="gray") for frame in container.decode(video=0)][:2]
    scene = Scene()
    drawn = [
        av.VideoFrame.from_ndarray(scene.frame(n), format="bgr24").to_ndarray(format="gray") for n in (0, 2)
    ]
    assert noise(*decoded) > 0.9 * noise(*drawn)


def test_only_a_complete_clip_is_left_in_the_folder(clip: Path) -> None:
    assert [path.name for path in clip.parent.iterdir()] == ["demo.mp4"]


def test_the_loop_ends_at_a_hard_cut_with_the_lamp_as_at_the_start() -> None:
    assert LOOP_FRAMES % (6 * FRAMES_PER_SECOND) == 0
    assert [lamp_power(n) for n in (60, 150)] == [lamp_power(LOOP_FRAMES + n) for n in (60, 150)]


def test_the_clip_is_in_the_cache_under_the_version_of_its_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert clip_path() == tmp_path / "lumaflow" / f"demo-{code_version()}.mp4"


def test_a_cache_that_cannot_be_written_gives_way_to_a_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lumaflow").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = clip_path()
    assert path.parent.name.startswith("lumaflow-demo-")
    assert path.parent.is_dir()


def loaded_config() -> LoadedConfig:
    """A configuration without sources."""
    return LoadedConfig(NO_CAMERAS, Path(), UrlPolicy())


def test_the_demo_camera_is_added_and_is_paused_while_its_clip_is_missing(tmp_path: Path) -> None:
    clip = tmp_path / "the clip%.mp4"
    loaded = with_demo_camera(loaded_config(), clip)
    camera = loaded.config.sources["demo"]
    assert (camera.loop, camera.paused, camera.delivery) == (True, True, "live")
    assert check_url(camera.url, loaded.policy).path == clip
    clip.touch()
    loaded = with_demo_camera(loaded_config(), clip)
    assert not loaded.config.sources["demo"].paused


def test_a_configured_camera_named_demo_is_kept(tmp_path: Path) -> None:
    own = parse("sources:\n  demo:\n    url: rtsp://camera.example/\n", tmp_path, {})
    loaded = with_demo_camera(own, tmp_path / "demo.mp4")
    assert loaded.config.sources == own.config.sources


def test_relative_files_of_the_configuration_keep_their_folder(tmp_path: Path) -> None:
    own = parse("sources:\n  hall:\n    url: file:hall.mp4\n", tmp_path, {})
    loaded = with_demo_camera(own, Path("/cache/demo.mp4"))
    assert check_url(loaded.config.sources["hall"].url, loaded.policy).path == tmp_path / "hall.mp4"


def test_finding_the_clip_imports_no_decoder() -> None:
    code = "import sys, lumaflow_service.demo.clip; sys.exit(bool({'av', 'cv2', 'numpy'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
