"""A real RTSP server, and cameras run in this process, for tests."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import pytest

from films import make_film
from lumaflow_service.camera.camera import Camera, ReadOptions
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.open_container import OpenRequest
from lumaflow_service.config.url_policy import UrlPolicy, check_url

SYSTEM_PYTHON = Path("/usr/bin/python3")
NEEDS = "import gi; gi.require_version('GstRtspServer', '1.0')"
SERVER = Path(__file__).with_name("rtsp_server.py")
LOOPBACK = ip_network("127.0.0.0/8")
CLIPS = {
    "h264": ("libx264", "yuv420p", {}),
    "h265": ("libx265", "yuv420p", {"x265-params": "log-level=none:keyint=12"}),
    "mjpeg": ("mjpeg", "yuvj420p", {}),
}


@dataclass(slots=True)
class Server:
    """A running RTSP server."""

    process: subprocess.Popen[str]
    port: int

    def url(self, path: str, credentials: str = "", port: int | None = None) -> str:
        """The URL of a mount, at a proxy's port if given."""
        return f"rtsp://{credentials}127.0.0.1:{port or self.port}/{path}"


@contextmanager
def rtsp_server(mounts: list[str], port: int = 0) -> Iterator[Server]:
    """A server with these mounts, on a free port unless told; skips where GStreamer's is not installed."""
    if subprocess.run([SYSTEM_PYTHON, "-c", NEEDS], capture_output=True, check=False).returncode:
        pytest.skip("no GStreamer RTSP server for /usr/bin/python3; ./dev test installs it as root")
    process = subprocess.Popen([SYSTEM_PYTHON, SERVER, str(port), *mounts], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield Server(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def make_clips(folder: Path, frames: int = 60) -> list[str]:
    """A clip of each codec, as mounts of a server."""
    mounts = []
    for name, (codec, pixel_format, options) in CLIPS.items():
        path = folder / f"{name}.mp4"
        make_film(path, frames, (320, 240), codec=codec, pixel_format=pixel_format, options=options)
        mounts.append(f"/{name}={name}:{path}")
    return mounts


@dataclass(slots=True)
class Run:
    """What came of a camera that runs on a thread of its own."""

    camera: Camera
    shots: list[CapturedFrame] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    stories: list[tuple[str, str, str]] = field(default_factory=list)
    sounds: int = 0
    started: float = field(default_factory=time.monotonic)

    def until(self, true: Callable[[], bool], seconds: float) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, f"not within {seconds} s; {len(self.shots)} shots, {self.stories}"
            time.sleep(0.005)

    def until_shots(self, count: int, seconds: float = 10) -> None:
        """Wait for so many shots."""
        self.until(lambda: len(self.shots) >= count, seconds)

    def until_cause(self, cause: str, seconds: float = 10) -> str:
        """Wait for a cause; returns its sentence."""
        self.until(lambda: any(story[1] == cause for story in self.stories), seconds)
        return next(text for _, story, text in self.stories if story == cause)

    @property
    def seconds(self) -> list[float]:
        """Times of the shots."""
        return [float(shot.pts * shot.time_base) for shot in self.shots]


@contextmanager
def running(url: str, roots: tuple[Path, ...] = (), **plan: object) -> Iterator[Run]:
    """A camera that runs meanwhile."""
    policy = UrlPolicy((LOOPBACK,), roots)
    how = {key: plan.pop(key) for key in ("transport", "verify_tls") if key in plan}
    run: Run

    def on_shot(shot: CapturedFrame) -> None:
        run.shots.append(shot)
        run.times.append(time.monotonic())

    def on_audio(*_: object) -> None:
        run.sounds += 1

    def on_status() -> None:
        status = camera.status
        run.stories.append((str(status.state), str(status.cause), status.text))

    opening = OpenRequest(check_url(url, policy), policy, **how)  # type: ignore[arg-type]
    camera = Camera(ReadOptions(opening, **plan), on_shot, lambda feed: None, on_audio, on_status)  # type: ignore[arg-type]
    run = Run(camera)
    thread = threading.Thread(target=camera.run)
    thread.start()
    try:
        yield run
    finally:
        camera.stop()
        thread.join(20)
        assert not thread.is_alive()
