"""URL policy: schemes, addresses and files that may be opened, and redaction of credentials."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode, UrlError
from lumaflow_service.config.url_policy import UrlPolicy, check_url, resolve_address, url_with_address
from lumaflow_service.redact import Redactor, redact_urls, secrets_in

DEFAULT = UrlPolicy()
LOOPBACK = UrlPolicy(networks=(ip_network("127.0.0.0/8"),))

REFUSED = [
    "",
    "/etc/passwd",
    "clip.mp4",
    "file:///etc/passwd",
    "file:clip.mp4",
    "v4l2:/dev/video0",
    "concat:a|b",
    "subfile,,start,0,end,9,,:/etc/passwd",
    "data:video/mp4;base64,AA",
    "pipe:0",
    "fd:0",
    "tcp://192.0.2.1:80",
    "udp://239.0.0.1:5000",
    "rtp://192.0.2.1:5000",
    "ftp://192.0.2.1/a",
    "gopher://192.0.2.1/",
    "rtmp://192.0.2.1/a",
    "async:http://192.0.2.1/",
    "cache:http://192.0.2.1/",
    "crypto+file:///etc/passwd",
    "hls+http://192.0.2.1/a.m3u8",
    "RTSP:///path",
    "rtsp:",
    "rtsp://",
    "rtsp://:554/",
    "rtsp://127.0.0.1/",
    "rtsp://127.9.9.9/",
    "rtsp://u:p@127.0.0.1:8554/x",
    "rtsp://[::1]/",
    "rtsp://[::]/",
    "rtsp://[::ffff:127.0.0.1]/",
    "rtsp://[::127.0.0.1]/",
    "rtsp://[64:ff9b::7f00:1]/",
    "rtsp://[2002:7f00:1::]/",
    "rtsp://[fe80::1]/",
    "rtsp://0.0.0.0/",
    "http://169.254.169.254/latest/meta-data/",
    "rtsp://224.0.0.1/",
    "rtsp://255.255.255.255/",
    "rtsp://192.0.2.1:99999/",
    "rtsp://192.0.2.1/a b",
    "rtsp://192.0.2.1/a\r\nX: y",
    "rtsp://***@192.0.2.1/",
    "rtsp://[192.0.2.1/",
]
ALLOWED = [
    "rtsp://192.0.2.1/a",
    "rtsps://u:p@camera.test:8322/a?x=1",
    "http://[2001:db8::1]:8080/mjpg",
    "https://c/",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_outside_the_policy_is_refused(url: str) -> None:
    with pytest.raises(UrlError) as caught:
        check_url(url, DEFAULT)
    assert "u:p@" not in str(caught.value)


@pytest.mark.parametrize("url", ALLOWED)
def test_a_camera_url_is_allowed(url: str) -> None:
    assert check_url(url, DEFAULT).host


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "0"])
def test_a_host_name_is_checked_by_its_addresses(host: str) -> None:
    with pytest.raises(CameraError) as caught:
        resolve_address(check_url(f"rtsp://{host}/", DEFAULT), DEFAULT)
    assert caught.value.cause is CameraErrorCode.REFUSED


def test_a_host_name_without_an_address_is_not_found() -> None:
    with pytest.raises(CameraError) as caught:
        resolve_address(check_url("rtsp://camera.invalid/", DEFAULT), DEFAULT)
    assert caught.value.cause is CameraErrorCode.NOT_FOUND


def test_only_listed_networks_are_opened() -> None:
    target = check_url("rtsp://u:p@localhost/x", LOOPBACK)
    assert url_with_address(target, "127.0.0.1") == "rtsp://u:p@127.0.0.1:554/x"
    assert resolve_address(check_url("rtsp://127.0.0.1/", LOOPBACK), LOOPBACK) == "127.0.0.1"
    with pytest.raises(UrlError, match="none of the `networks`"):
        check_url("rtsp://192.0.2.1/", LOOPBACK)


def test_files_must_be_inside_the_allowed_folders_after_resolving_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (inside / "a.mp4").touch()
    (outside / "b.mp4").touch()
    (inside / "link.mp4").symlink_to(outside / "b.mp4")
    policy = UrlPolicy(roots=(inside,))
    assert check_url("file:a.mp4", policy).path == inside / "a.mp4"
    assert check_url(f"file:{inside}/a.mp4", policy).path == inside / "a.mp4"
    for url in ("file:../out/b.mp4", "file:link.mp4", "file:%2e%2e/out/b.mp4", f"file://host{inside}/a.mp4"):
        with pytest.raises(UrlError):
            check_url(url, policy)
    assert check_url("v4l2:/dev/video2", policy).path == Path("/dev/video2")
    for url in ("v4l2:/dev/sda", "v4l2:/dev/video0/../sda", "v4l2:video0"):
        with pytest.raises(UrlError):
            check_url(url, policy)


PASSWORD = "c4n4ryPw"
WITH_PASSWORD = [
    f"rtsp://admin:{PASSWORD}@192.0.2.1/",
    f"rtsp://user.name:{PASSWORD}@192.0.2.1:554/a",
    f"rtsp://user%40host:{PASSWORD}@192.0.2.1/",
    f"http://192.0.2.1/video?usr=admin&pwd={PASSWORD}",
    f"rtsp://:{PASSWORD}@192.0.2.1/",
    f"rtsp://admin:{PASSWORD}%40%2F@192.0.2.1/",
    f"rtsp://admin:{PASSWORD}@@192.0.2.1/",
    f"rtsp://admin:a/{PASSWORD}@192.0.2.1/",
    f"RTSPS://admin:{PASSWORD}@[2001:db8::1]/x",
    f"rtsp://admin:{PASSWORD}@192.0.2.1/?token={PASSWORD}#x",
    f"rtmp://192.0.2.1/live/key?auth={PASSWORD}",
    f"srt://192.0.2.1:9000?passphrase={PASSWORD}&mode=caller",
]


@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_a_password_is_redacted_in_every_text(url: str) -> None:
    redactor = Redactor()
    redactor.add_url(url)
    for text in (url, f"[Errno 5] x: '{url}'; again", f'"{url}",', *secrets_in(url)):
        assert PASSWORD not in redact_urls(text) or "://" not in text
        assert PASSWORD not in redactor.text(text)


def test_a_resolver_that_does_not_answer_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    released = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: released.wait() and [])
    with pytest.raises(CameraError) as caught:
        resolve_address(check_url("rtsp://camera.test/", DEFAULT), DEFAULT, seconds=0.1)
    assert caught.value.cause is CameraErrorCode.TIMEOUT
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [])
    released.set()
