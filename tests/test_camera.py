"""Cameras against a real RTSP server, a proxy that misbehaves, and files."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import CLIPS, Run, Server, make_clips, rtsp_server, running
from films import make_film
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
from proxy import Answering, Proxy
from secured import Secured, make_certificate
from test_slot_format import in_slot

SECRET = "s3cretWord"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    mounts = [*make_clips(tmp_path_factory.mktemp("clips")), "/live=live:320x240@25", "/still=still"]
    with rtsp_server(mounts) as server:
        yield server


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    with rtsp_server([f"/live=secret:joe:{SECRET}"]) as server:
        yield server


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.mark.parametrize("codec", CLIPS)
def test_every_codec_comes_from_its_first_picture_on_in_time(server: Server, codec: str) -> None:
    with running(server.url(codec)) as run:
        run.until_shots(20)
    assert run.times[0] - run.started < 1.5
    assert run.camera.status.codec == {"h265": "hevc"}.get(codec, codec)
    steps = {b - a for a, b in pairwise(shot.pts for shot in run.shots[1:20])}
    assert steps == {7200}
    assert [shot.number for shot in run.shots] == list(range(1, len(run.shots) + 1))
    assert not any(shot.corrupt for shot in run.shots)


def test_sound_comes_beside_the_picture(server: Server) -> None:
    with running(server.url("live")) as run:
        run.until(lambda: run.sounds > 3 and len(run.shots) > 5, 10)


def test_udp_and_auto_are_transports_too(server: Server) -> None:
    for transport in ("udp", "auto"):
        with running(server.url("h264"), transport=transport) as run:
            run.until_shots(5)


@pytest.mark.parametrize("credentials", ["joe:wr0ngWord@", "wr0ng.user:@", "joe%40host:wr0ngWord@", ""])
def test_a_wrong_password_is_told_apart_and_never_printed(guarded: Server, credentials: str) -> None:
    with running(guarded.url("live", credentials)) as run:
        text = run.until_cause("auth")
    assert "wr0ng" not in text
    assert "127.0.0.1" not in text


def test_the_right_password_opens(guarded: Server) -> None:
    with running(guarded.url("live", f"joe:{SECRET}@")) as run:
        run.until_shots(3)


def test_a_path_that_is_not_there_is_not_found(server: Server) -> None:
    with running(server.url("none")) as run:
        run.until_cause("not_found")


def test_nobody_there_is_refused_and_asked_again(proxy: Proxy, server: Server) -> None:
    proxy.refuse()
    with running(server.url("live", port=proxy.port)) as run:
        run.until_cause("refused")
        proxy.listen()
        run.until_shots(3)
    assert run.camera.status.reconnects["refused"] >= 1


@pytest.mark.parametrize("behaviour", ["silent", "trickle"])
def test_a_server_that_never_answers_is_a_timeout(
    proxy: Proxy, server: Server, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_container, "OPEN_SECONDS", 0.7)
    proxy.behaviour = behaviour
    with running(server.url("live", port=proxy.port)) as run:
        run.until_cause("timeout", 4)


@pytest.mark.parametrize(
    ("answer", "cause", "told"),
    [
        (b"RTSP/1.0 302 Moved\r\nLocation: rtsp://127.0.0.1:1/\r\n\r\n", "refused", "redirects"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "refused", "expected an RTSP response"),
        (b"", "eof", "closed the connection"),
        (b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n", "corrupt", "expected video"),
    ],
)
def test_what_does_not_answer_as_a_camera_is_told_apart(answer: bytes, cause: str, told: str) -> None:
    server = Answering(lambda _: answer)
    with running(f"rtsp://joe:{SECRET}@127.0.0.1:{server.port}/x") as run:
        assert told in run.until_cause(cause)
    server.close()
    assert SECRET.encode() not in server.asked[0]


def test_a_server_without_tls_is_told_apart(server: Server) -> None:
    with running(server.url("live").replace("rtsp:", "rtsps:")) as run:
        run.until_cause("tls")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secured(server: Server, certificate: tuple[Path, Path]) -> Iterator[Secured]:
    secured = Secured(server.port, *certificate)
    yield secured
    secured.close()


def test_a_camera_with_tls_and_a_good_certificate_is_read(
    server: Server, secured: Secured, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with running(server.url("live", port=secured.port).replace("rtsp:", "rtsps:")) as run:
        run.until_shots(10)


def test_a_certificate_that_nobody_vouches_for_is_refused_unless_told(
    server: Server, secured: Secured
) -> None:
    url = server.url("live", port=secured.port).replace("rtsp:", "rtsps:")
    with running(url) as run:
        assert "CERTIFICATE_VERIFY_FAILED" in run.until_cause("tls")
        assert not run.shots
    with running(url, verify_tls=False) as run:
        run.until_shots(10)


def test_http_redirects_are_not_followed() -> None:
    second = Answering(lambda _: b"")
    moved = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{second.port}/\r\n\r\n".encode()
    first = Answering(lambda _: moved)
    with running(f"http://127.0.0.1:{first.port}/x") as run:
        run.until(lambda: bool(run.stories), 5)
    assert first.asked
    assert not second.asked
    first.close(), second.close()


def test_motion_jpeg_over_http_is_a_camera(tmp_path: Path) -> None:
    film = make_film(tmp_path / "a.mjpeg", 12, codec="mjpeg", pixel_format="yuvj420p", container="mjpeg")
    pictures = [b"\xff\xd8" + part for part in film.read_bytes().split(b"\xff\xd8")[1:]]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n"
    parts = b"".join(
        b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(one), one)
        for one in pictures
    )
    server = Answering(lambda _: head + parts)
    with running(f"http://127.0.0.1:{server.port}/mjpg") as run:
        run.until_shots(10)
    server.close()
    assert slot_geometry(run.shots[0].frame) == Geometry(96, 64, PixelFormat.I420, Range.FULL)


def test_a_stall_is_noticed_within_five_seconds_and_the_camera_comes_back(
    proxy: Proxy, server: Server
) -> None:
    with running(server.url("live", port=proxy.port)) as run:
        run.until_shots(40)
        proxy.behaviour = "stall"
        run.until_cause("stalled", 5)
        proxy.behaviour = "forward"
        seen = len(run.shots)
        run.until_shots(seen + 10)
    assert all(a < b for a, b in pairwise(run.seconds))
    gap = max(b - a for a, b in pairwise(run.seconds))
    assert 1.5 < gap < 10


def test_a_dropped_camera_comes_back_each_time_on_one_timeline(
    proxy: Proxy, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camera.Backoff, "wait_seconds", lambda _: 0.05)
    with running(server.url("live", port=proxy.port)) as run:
        for number in range(4):
            seen = len(run.shots)
            run.until_shots(seen + 5)
            proxy.drop()
            run.until(lambda: sum(dict(run.camera.status.reconnects).values()) > number, 10)  # noqa: B023
        run.until_shots(len(run.shots) + 5)
    assert all(a < b for a, b in pairwise(run.seconds))
    assert set(run.camera.status.reconnects) <= {"eof", "stalled", "refused"}


class Devices:
    """Stands for `av.open` where V4L2 devices are: this one gives raw pictures only."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, dict[str, str]]] = []

    def open(
        self, url: str, *, format: str | None, container_options: dict[str, str], timeout: object
    ) -> str:
        self.asked.append((url, format, container_options))
        if container_options.get("input_format") == "mjpeg":
            raise av.ArgumentError(22, "Invalid argument")
        return "container"


def test_a_device_is_asked_for_motion_jpeg_and_then_for_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = Devices()
    monkeypatch.setattr(open_container.av, "open", devices.open)
    target = ResolvedUrl("v4l2:/dev/video7", "v4l2", path=Path("/dev/video7"))
    opened = open_container.open_container(OpenRequest(target, UrlPolicy()), None, 0, Watchdog())
    assert opened == "container"
    assert devices.asked == [
        ("/dev/video7", "v4l2", {"input_format": "mjpeg"}),
        ("/dev/video7", "v4l2", {}),
    ]


def test_a_device_that_is_not_there_or_not_ours_says_so(tmp_path: Path) -> None:
    target = ResolvedUrl("v4l2:/dev/video98", "v4l2", path=tmp_path / "video98")
    with pytest.raises(CameraError, match="nothing exists there") as caught:
        open_container.open_container(OpenRequest(target, UrlPolicy()), None, 0, Watchdog())
    assert caught.value.cause == "not_found"


def test_a_picture_that_never_changes_is_frozen(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freeze, "FROZEN_SECONDS", 1.0)
    with running(server.url("still")) as run:
        run.until_cause("frozen")
    with running(server.url("live")) as moving:
        moving.until_shots(40)
    assert not any(cause == "frozen" for _, cause, _ in moving.stories)


def test_a_file_plays_as_filmed_once_or_looped_or_as_quickly_as_it_can(tmp_path: Path) -> None:
    make_film(tmp_path / "a.mp4", 12)
    with running("file:a.mp4", (tmp_path,)) as run:
        run.until_cause("eof")
    assert 0.7 < run.times[-1] - run.times[0] < 2.0
    assert [shot.pts for shot in run.shots] == [1024 * n for n in range(12)]
    with running("file:a.mp4", (tmp_path,), lossless=True, loop=True) as run:
        run.until_shots(40)
    assert all(a < b for a, b in pairwise(run.seconds))


def test_times_that_leap_run_backward_or_begin_anew_are_one_timeline(tmp_path: Path) -> None:
    hour = 3600 * 12_800
    for name, start in (("a", 0), ("b", 10 * hour), ("c", 0), ("d", 2 * hour)):
        make_film(tmp_path / f"{name}.ts", 12, pts=[start + 1024 * n for n in range(12)])
    whole = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("*.ts")))
    (tmp_path / "whole.ts").write_bytes(whole)
    with running("file:whole.ts", (tmp_path,), lossless=True) as run:
        run.until_cause("eof")
    steps = [b - a for a, b in pairwise(run.seconds)]
    assert len(run.shots) == 48
    assert all(0 < step < 0.5 for step in steps)
    assert run.camera.status.restamped >= 9


def test_pictures_without_times_get_some(tmp_path: Path) -> None:
    make_film(tmp_path / "raw.h264", 12, container="h264", options={"bf": "0"})
    with running("file:raw.h264", (tmp_path,), lossless=True) as run:
        run.until_cause("eof")
    assert len(run.shots) == 12
    assert all(a < b for a, b in pairwise(run.seconds))


def test_a_folder_is_played_file_by_file(tmp_path: Path) -> None:
    for name, size in (("a.mp4", (96, 64)), ("b.mp4", (64, 96))):
        make_film(tmp_path / name, 6, size)
    (tmp_path / "c.mp4").write_bytes(b"no video")
    with running("file:.", (tmp_path,), lossless=True) as run:
        run.until_cause("eof")
    assert [sides(shot) for shot in run.shots] == [(96, 64)] * 6 + [(64, 96)] * 6
    assert [shot.epoch for shot in run.shots] == [1] * 6 + [2] * 6


def sides(shot: CapturedFrame) -> tuple[int, int]:
    """Width and height of a shot."""
    return shot.frame.width, shot.frame.height


def test_too_large_a_picture_is_refused_in_words(tmp_path: Path) -> None:
    make_film(tmp_path / "a.mp4", 2)
    with running("file:a.mp4", (tmp_path,), max_pixels=1000) as run:
        assert "96x64" in run.until_cause("codec")


def test_a_changed_resolution_begins_an_epoch(shared_data: Path) -> None:
    with running("file:car_resolution_change.ts", (shared_data / "videos",), lossless=True) as run:
        run.until_cause("eof", 20)
    sizes = {shot.epoch: sides(shot) for shot in run.shots}
    assert len(sizes) == 3
    assert len(set(sizes.values())) >= 2


def test_a_changed_range_begins_an_epoch(tmp_path: Path) -> None:
    make_film(tmp_path / "a.ts", 6)
    make_film(tmp_path / "b.ts", 6, pixel_format="yuvj420p", tags=(6, 2, 6, 6))
    (tmp_path / "ab.ts").write_bytes((tmp_path / "a.ts").read_bytes() + (tmp_path / "b.ts").read_bytes())
    with running("file:ab.ts", (tmp_path,), lossless=True) as run:
        run.until_cause("eof")
    ranges = {shot.epoch: slot_geometry(shot.frame).range for shot in run.shots}
    assert ranges == {1: Range.LIMITED, 2: Range.FULL}


def test_interlaced_pictures_are_made_whole_when_asked(shared_data: Path) -> None:
    url, roots = "file:person_interlaced_tff_480i25.mp4", (shared_data / "videos",)
    with running(url, roots, lossless=True) as as_is:
        as_is.until_cause("eof", 20)
    with running(url, roots, lossless=True, deinterlace=True) as whole:
        whole.until_cause("eof", 20)
    assert 0 <= len(as_is.shots) - len(whole.shots) <= 1
    assert [shot.pts for shot in whole.shots] == [shot.pts for shot in as_is.shots][: len(whole.shots)]
    assert not any(shot.frame.interlaced_frame for shot in whole.shots)
    assert combing(whole) < combing(as_is)


def combing(run: Run) -> float:
    """How much neighbouring lines differ against lines two apart, in the picture where that is most."""
    most = 0.0
    for shot in run.shots[::10]:
        luma = np.asarray(shot.frame.to_ndarray(format="gray"), np.float32)
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


def test_every_clip_is_handled_or_refused_with_its_cause(shared_data: Path) -> None:
    folder = shared_data / "videos"
    for path in sorted(folder.iterdir()):
        with running(f"file:{path.name}", (folder,), lossless=True) as run:
            run.until_cause(REFUSED.get(path.name, "eof"), 30)
        assert bool(run.shots) == (path.name not in REFUSED), path.name
        assert all(a < b for a, b in pairwise(run.seconds)), path.name
        assert (run.camera.status.corrupt > 0) >= (path.name in DAMAGED), path.name
        for shot in (*run.shots[:1], *run.shots[-1:]):
            expected = shot.frame.to_ndarray(format="bgr24").mean()
            assert abs(display_pixels(in_slot(shot.frame)).mean() - expected) < 8, path.name
