"""A real RTSP server, and cameras that run in a thread of the test process."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import pytest

from lumaflow_service.camera.camera import Camera, ReadOptions
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.open_container import OpenRequest
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from make_video import make_video

SYSTEM_PYTHON = Path("/usr/bin/python3")
IMPORT_GSTREAMER = "import gi; gi.require_version('GstRtspServer', '1.0')"
SERVER_SCRIPT = Path(__file__).with_name("rtsp_server.py")
LOOPBACK = ip_network("127.0.0.0/8")
CLIPS = {
    "h264": ("libx264", "yuv420p", {}),
    "h265": ("libx265", "yuv420p", {"x265-params": "log-level=none:keyint=12"}),
    "mjpeg": ("mjpeg", "yuvj420p", {}),
}


@dataclass(slots=True)
class RtspServer:
    """A running RTSP server."""

    process: subprocess.Popen[str]
    port: int

    def url(self, path: str, credentials: str = "", port: int | None = None) -> str:
        """Return the URL of a mount; `port` is that of a proxy, if given."""
        return f"rtsp://{credentials}127.0.0.1:{port or self.port}/{path}"


@contextmanager
def rtsp_server(mounts: list[str], port: int = 0) -> Iterator[RtspServer]:
    """Run a server with these mounts; port 0 is a free one. Skips the test without GStreamer."""
    check = [SYSTEM_PYTHON, "-c", IMPORT_GSTREAMER]
    if subprocess.run(check, capture_output=True, check=False).returncode:
        pytest.skip("no GStreamer RTSP server for /usr/bin/python3; ./dev test installs it as root")
    command = [SYSTEM_PYTHON, SERVER_SCRIPT, str(port), *mounts]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield RtspServer(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def make_clips(folder: Path, frames: int = 60) -> list[str]:
    """Make a clip of each codec; return them as mounts of a server."""
    mounts = []
    for name, (codec, pixel_format, options) in CLIPS.items():
        path = folder / f"{name}.mp4"
        make_video(path, frames, (320, 240), codec=codec, pixel_format=pixel_format, options=options)
        mounts.append(f"/{name}={name}:{path}")
    return mounts


@dataclass(slots=True)
class CameraRun:
    """A running camera, with its frames, their arrival times, and its states as (state, cause, text)."""

    camera: Camera
    frames: list[CapturedFrame] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    statuses: list[tuple[str, str, str]] = field(default_factory=list)
    audio_packets: int = 0
    started: float = field(default_factory=time.monotonic)

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            found = f"{len(self.frames)} frames, {self.statuses}"
            assert time.monotonic() < end, f"not within {seconds} s; {found}"
            time.sleep(0.005)

    def wait_for_frames(self, count: int, seconds: float = 10) -> None:
        """Wait for a number of frames."""
        self.wait_until(lambda: len(self.frames) >= count, seconds)

    def wait_for_cause(self, cause: str, seconds: float = 10) -> str:
        """Wait for the cause of an error; return its text."""
        self.wait_until(lambda: any(status[1] == cause for status in self.statuses), seconds)
        return next(text for _, found, text in self.statuses if found == cause)

    @property
    def seconds(self) -> list[float]:
        """The times of the frames."""
        return [float(frame.pts * frame.time_base) for frame in self.frames]


@contextmanager
def running_camera(url: str, roots: tuple[Path, ...] = (), **options: object) -> Iterator[CameraRun]:
    """Run a camera in a thread; `options` are those of OpenRequest and ReadOptions."""
    policy = UrlPolicy((LOOPBACK,), roots)
    request_options = {key: options.pop(key) for key in ("transport", "verify_tls") if key in options}
    run: CameraRun

    def on_frame(frame: CapturedFrame) -> None:
        run.frames.append(frame)
        run.times.append(time.monotonic())

    def on_audio(*_: object) -> None:
        run.audio_packets += 1

    def on_status() -> None:
        status = camera.status
        run.statuses.append((str(status.state), str(status.cause), status.text))

    request = OpenRequest(check_url(url, policy), policy, **request_options)  # type: ignore[arg-type]
    read_options = ReadOptions(request, **options)  # type: ignore[arg-type]
    camera = Camera(read_options, on_frame, lambda reader: None, on_audio, on_status)
    run = CameraRun(camera)
    thread = threading.Thread(target=camera.run)
    thread.start()
    try:
        yield run
    finally:
        camera.stop()
        thread.join(20)
        assert not thread.is_alive()
