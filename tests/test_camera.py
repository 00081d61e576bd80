"""Cameras that read a real RTSP server, a faulty proxy, HTTP, devices and files."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import CLIPS, CameraRun, RtspServer, make_clips, rtsp_server, running_camera
from lumaflow.formats import PixelFormat, Range
from lumaflow.geometry import Geometry
from lumaflow_service.camera import camera, freeze, open_container
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.open_container import OpenRequest
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError
from lumaflow_service.config.url_policy import ResolvedUrl, UrlPolicy
from lumaflow_service.media.codec import display_pixels
from lumaflow_service.media.slot_format import slot_geometry
from make_video import make_video
from proxy import Proxy, StubServer
from test_slot_format import in_slot
from tls_proxy import TlsProxy, make_certificate

SECRET = "s3cretWord"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RtspServer]:
    mounts = [*make_clips(tmp_path_factory.mktemp("clips")), "/live=live:320x240@25", "/still=still"]
    with rtsp_server(mounts) as server:
        yield server


@pytest.fixture(scope="module")
def password_server() -> Iterator[RtspServer]:
    with rtsp_server([f"/live=secret:joe:{SECRET}"]) as server:
        yield server


@pytest.fixture
def proxy(server: RtspServer) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.mark.parametrize("codec", CLIPS)
def test_every_codec_is_read_from_its_first_frame_on(server: RtspServer, codec: str) -> None:
    with running_camera(server.url(codec)) as run:
        run.wait_for_frames(20)
    assert run.times[0] - run.started < 1.5
    assert run.camera.status.codec == {"h265": "hevc"}.get(codec, codec)
    steps = {b - a for a, b in pairwise(captured.pts for captured in run.frames[1:20])}
    assert steps == {7200}
    assert [captured.number for captured in run.frames] == list(range(1, len(run.frames) + 1))
    assert not any(captured.corrupt for captured in run.frames)


def test_audio_packets_are_passed_on(server: RtspServer) -> None:
    with running_camera(server.url("live")) as run:
        run.wait_until(lambda: run.audio_packets > 3 and len(run.frames) > 5, 10)


def test_the_transports_udp_and_auto_work(server: RtspServer) -> None:
    for transport in ("udp", "auto"):
        with running_camera(server.url("h264"), transport=transport) as run:
            run.wait_for_frames(5)


@pytest.mark.parametrize("credentials", ["joe:wr0ngWord@", "wr0ng.user:@", "joe%40host:wr0ngWord@", ""])
def test_a_wrong_password_has_the_cause_auth_and_is_not_in_the_text(
    password_server: RtspServer, credentials: str
) -> None:
    with running_camera(password_server.url("live", credentials)) as run:
        text = run.wait_for_cause("auth")
    assert "wr0ng" not in text
    assert "127.0.0.1" not in text


def test_the_right_password_is_accepted(password_server: RtspServer) -> None:
    with running_camera(password_server.url("live", f"joe:{SECRET}@")) as run:
        run.wait_for_frames(3)


def test_an_unknown_path_is_not_found(server: RtspServer) -> None:
    with running_camera(server.url("none")) as run:
        run.wait_for_cause("not_found")


def test_a_refused_connection_is_retried(proxy: Proxy, server: RtspServer) -> None:
    proxy.refuse()
    with running_camera(server.url("live", port=proxy.port)) as run:
        run.wait_for_cause("refused")
        proxy.listen()
        run.wait_for_frames(3)
    assert run.camera.status.reconnects["refused"] >= 1


@pytest.mark.parametrize("behaviour", ["silent", "trickle"])
def test_a_server_that_does_not_answer_is_a_timeout(
    proxy: Proxy, server: RtspServer, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_container, "OPEN_SECONDS", 0.7)
    proxy.behaviour = behaviour
    with running_camera(server.url("live", port=proxy.port)) as run:
        run.wait_for_cause("timeout", 4)


@pytest.mark.parametrize(
    ("answer", "cause", "text"),
    [
        (b"RTSP/1.0 302 Moved\r\nLocation: rtsp://127.0.0.1:1/\r\n\r\n", "refused", "redirects"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "refused", "expected an RTSP response"),
        (b"", "eof", "closed the connection"),
        (b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n", "corrupt", "expected video"),
    ],
)
def test_an_unexpected_rtsp_response_has_its_own_cause(answer: bytes, cause: str, text: str) -> None:
    server = StubServer(lambda _: answer)
    with running_camera(f"rtsp://joe:{SECRET}@127.0.0.1:{server.port}/x") as run:
        assert text in run.wait_for_cause(cause)
    server.close()
    assert SECRET.encode() not in server.requests[0]


def test_a_server_without_tls_has_the_cause_tls(server: RtspServer) -> None:
    with running_camera(server.url("live").replace("rtsp:", "rtsps:")) as run:
        run.wait_for_cause("tls")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_proxy(server: RtspServer, certificate: tuple[Path, Path]) -> Iterator[TlsProxy]:
    tls_proxy = TlsProxy(server.port, *certificate)
    yield tls_proxy
    tls_proxy.close()


def test_a_camera_with_a_trusted_certificate_is_read(
    server: RtspServer, tls_proxy: TlsProxy, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with running_camera(server.url("live", port=tls_proxy.port).replace("rtsp:", "rtsps:")) as run:
        run.wait_for_frames(10)


def test_an_untrusted_certificate_is_refused_unless_verification_is_off(
    server: RtspServer, tls_proxy: TlsProxy
) -> None:
    url = server.url("live", port=tls_proxy.port).replace("rtsp:", "rtsps:")
    with running_camera(url) as run:
        assert "CERTIFICATE_VERIFY_FAILED" in run.wait_for_cause("tls")
        assert not run.frames
    with running_camera(url, verify_tls=False) as run:
        run.wait_for_frames(10)


def test_http_redirects_are_not_followed() -> None:
    second = StubServer(lambda _: b"")
    moved = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{second.port}/\r\n\r\n".encode()
    first = StubServer(lambda _: moved)
    with running_camera(f"http://127.0.0.1:{first.port}/x") as run:
        run.wait_until(lambda: bool(run.statuses), 5)
    assert first.requests
    assert not second.requests
    first.close(), second.close()


def test_motion_jpeg_over_http_is_read(tmp_path: Path) -> None:
    video = make_video(tmp_path / "a.mjpeg", 12, codec="mjpeg", pixel_format="yuvj420p", container="mjpeg")
    images = [b"\xff\xd8" + part for part in video.read_bytes().split(b"\xff\xd8")[1:]]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n"
    parts = b"".join(
        b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(one), one)
        for one in images
    )
    server = StubServer(lambda _: head + parts)
    with running_camera(f"http://127.0.0.1:{server.port}/mjpg") as run:
        run.wait_for_frames(10)
    server.close()
    assert slot_geometry(run.frames[0].frame) == Geometry(96, 64, PixelFormat.I420, Range.FULL)


def test_a_stall_is_detected_within_five_seconds_and_the_camera_recovers(
    proxy: Proxy, server: RtspServer
) -> None:
    with running_camera(server.url("live", port=proxy.port)) as run:
        run.wait_for_frames(40)
        proxy.behaviour = "stall"
        run.wait_for_cause("stalled", 5)
        proxy.behaviour = "forward"
        seen = len(run.frames)
        run.wait_for_frames(seen + 10)
    assert all(a < b for a, b in pairwise(run.seconds))
    gap = max(b - a for a, b in pairwise(run.seconds))
    assert 1.5 < gap < 10


def test_times_increase_over_reconnects(
    proxy: Proxy, server: RtspServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camera.Backoff, "wait_seconds", lambda _: 0.05)
    with running_camera(server.url("live", port=proxy.port)) as run:
        for number in range(4):
            seen = len(run.frames)
            run.wait_for_frames(seen + 5)
            proxy.drop()
            run.wait_until(lambda: sum(dict(run.camera.status.reconnects).values()) > number, 10)  # noqa: B023
        run.wait_for_frames(len(run.frames) + 5)
    assert all(a < b for a, b in pairwise(run.seconds))
    assert set(run.camera.status.reconnects) <= {"eof", "stalled", "refused"}


class FakeV4l2:
    """A replacement of `av.open` for a V4L2 device that sends raw frames only."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, dict[str, str]]] = []

    def open(
        self, url: str, *, format: str | None, container_options: dict[str, str], timeout: object
    ) -> str:
        self.requests.append((url, format, container_options))
        if container_options.get("input_format") == "mjpeg":
            raise av.ArgumentError(22, "Invalid argument")
        return "container"


def test_a_device_is_opened_as_motion_jpeg_then_with_its_default_format(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    devices = FakeV4l2()
    monkeypatch.setattr(open_container.av, "open", devices.open)
    target = ResolvedUrl("v4l2:/dev/video7", "v4l2", path=Path("/dev/video7"))
    opened = open_container.open_container(OpenRequest(target, UrlPolicy()), None, 0, Watchdog())
    assert opened == "container"
    assert devices.requests == [
        ("/dev/video7", "v4l2", {"input_format": "mjpeg"}),
        ("/dev/video7", "v4l2", {}),
    ]


def test_a_missing_device_is_not_found(tmp_path: Path) -> None:
    target = ResolvedUrl("v4l2:/dev/video98", "v4l2", path=tmp_path / "video98")
    with pytest.raises(CameraError, match="nothing exists there") as caught:
        open_container.open_container(OpenRequest(target, UrlPolicy()), None, 0, Watchdog())
    assert caught.value.cause == "not_found"


def test_an_image_that_does_not_change_is_frozen(server: RtspServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freeze, "FROZEN_SECONDS", 1.0)
    with running_camera(server.url("still")) as run:
        run.wait_for_cause("frozen")
    with running_camera(server.url("live")) as moving:
        moving.wait_for_frames(40)
    assert not any(cause == "frozen" for _, cause, _ in moving.statuses)


def test_a_file_is_paced_by_its_times_unless_lossless_and_can_loop(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", 12)
    with running_camera("file:a.mp4", (tmp_path,)) as run:
        run.wait_for_cause("eof")
    assert 0.7 < run.times[-1] - run.times[0] < 2.0
    assert [captured.pts for captured in run.frames] == [1024 * n for n in range(12)]
    with running_camera("file:a.mp4", (tmp_path,), lossless=True, loop=True) as run:
        run.wait_for_frames(40)
    assert all(a < b for a, b in pairwise(run.seconds))


def test_times_that_jump_or_restart_become_one_timeline(tmp_path: Path) -> None:
    hour = 3600 * 12_800
    for name, start in (("a", 0), ("b", 10 * hour), ("c", 0), ("d", 2 * hour)):
        make_video(tmp_path / f"{name}.ts", 12, pts=[start + 1024 * n for n in range(12)])
    whole = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("*.ts")))
    (tmp_path / "whole.ts").write_bytes(whole)
    with running_camera("file:whole.ts", (tmp_path,), lossless=True) as run:
        run.wait_for_cause("eof")
    steps = [b - a for a, b in pairwise(run.seconds)]
    assert len(run.frames) == 48
    assert all(0 < step < 0.5 for step in steps)
    assert run.camera.status.restamped >= 9


def test_frames_without_times_get_times(tmp_path: Path) -> None:
    make_video(tmp_path / "raw.h264", 12, container="h264", options={"bf": "0"})
    with running_camera("file:raw.h264", (tmp_path,), lossless=True) as run:
        run.wait_for_cause("eof")
    assert len(run.frames) == 12
    assert all(a < b for a, b in pairwise(run.seconds))


def test_the_files_of_a_folder_are_read_in_order(tmp_path: Path) -> None:
    for name, size in (("a.mp4", (96, 64)), ("b.mp4", (64, 96))):
        make_video(tmp_path / name, 6, size)
    (tmp_path / "c.mp4").write_bytes(b"no video")
    with running_camera("file:.", (tmp_path,), lossless=True) as run:
        run.wait_for_cause("eof")
    assert [size_of(captured) for captured in run.frames] == [(96, 64)] * 6 + [(64, 96)] * 6
    assert [captured.epoch for captured in run.frames] == [1] * 6 + [2] * 6


def size_of(captured: CapturedFrame) -> tuple[int, int]:
    """Width and height in pixels."""
    return captured.frame.width, captured.frame.height


def test_a_frame_that_is_too_large_is_refused_with_its_size(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", 2)
    with running_camera("file:a.mp4", (tmp_path,), max_pixels=1000) as run:
        assert "96x64" in run.wait_for_cause("codec")


def test_a_change_of_the_resolution_begins_an_epoch(shared_data: Path) -> None:
    with running_camera("file:car_resolution_change.ts", (shared_data / "videos",), lossless=True) as run:
        run.wait_for_cause("eof", 20)
    sizes = {captured.epoch: size_of(captured) for captured in run.frames}
    assert len(sizes) == 3
    assert len(set(sizes.values())) >= 2


def test_a_change_of_the_range_begins_an_epoch(tmp_path: Path) -> None:
    make_video(tmp_path / "a.ts", 6)
    make_video(tmp_path / "b.ts", 6, pixel_format="yuvj420p", tags=(6, 2, 6, 6))
    (tmp_path / "ab.ts").write_bytes((tmp_path / "a.ts").read_bytes() + (tmp_path / "b.ts").read_bytes())
    with running_camera("file:ab.ts", (tmp_path,), lossless=True) as run:
        run.wait_for_cause("eof")
    ranges = {captured.epoch: slot_geometry(captured.frame).range for captured in run.frames}
    assert ranges == {1: Range.LIMITED, 2: Range.FULL}


def test_interlaced_frames_are_deinterlaced_when_requested(shared_data: Path) -> None:
    url, roots = "file:person_interlaced_tff_480i25.mp4", (shared_data / "videos",)
    with running_camera(url, roots, lossless=True) as as_is:
        as_is.wait_for_cause("eof", 20)
    with running_camera(url, roots, lossless=True, deinterlace=True) as whole:
        whole.wait_for_cause("eof", 20)
    assert 0 <= len(as_is.frames) - len(whole.frames) <= 1
    assert [captured.pts for captured in whole.frames] == [captured.pts for captured in as_is.frames][
        : len(whole.frames)
    ]
    assert not any(captured.frame.interlaced_frame for captured in whole.frames)
    assert combing(whole) < combing(as_is)


def combing(run: CameraRun) -> float:
    """The largest ratio, over the frames, of the difference of adjacent lines to that of lines two apart."""
    most = 0.0
    for captured in run.frames[::10]:
        luma = np.asarray(captured.frame.to_ndarray(format="gray"), np.float32)
        most = max(most, float(np.abs(np.diff(luma, axis=0)).mean() / np.abs(luma[2:] - luma[:-2]).mean()))
    return most


REFUSED = {
    "am_audio_only.mp4": "codec",
    "am_vp9_invalid.webm": "corrupt",
    "empty.mp4": "corrupt",
    "random_bytes.mp4": "corrupt",
}
DAMAGED = (
    "am_invalid_nalu.mp4",
    "car_ts_packet_loss.ts",
    "decord_corrupted.mp4",
    "trunc_faststart_60pct.mp4",
)


def test_every_clip_is_read_or_refused_with_its_cause(shared_data: Path) -> None:
    folder = shared_data / "videos"
    for path in sorted(folder.iterdir()):
        with running_camera(f"file:{path.name}", (folder,), lossless=True) as run:
            run.wait_for_cause(REFUSED.get(path.name, "eof"), 30)
        assert bool(run.frames) == (path.name not in REFUSED), path.name
        assert all(a < b for a, b in pairwise(run.seconds)), path.name
        assert (run.camera.status.corrupt > 0) >= (path.name in DAMAGED), path.name
        for captured in (*run.frames[:1], *run.frames[-1:]):
            expected = captured.frame.to_ndarray(format="bgr24").mean()
            assert abs(display_pixels(in_slot(captured.frame)).mean() - expected) < 8, path.name
