"""The RTSP requests that are sent before FFmpeg connects."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from lumaflow_service.camera import rtsp_preflight
from lumaflow_service.camera.rtsp_preflight import check_rtsp_describe, check_server_answers
from lumaflow_service.config.camera_errors import CameraError, OutputError
from lumaflow_service.config.url_policy import ResolvedUrl
from proxy import Proxy, StubServer

OK = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"


@pytest.fixture
def server() -> Iterator[StubServer]:
    server = StubServer(lambda _: OK)
    yield server
    server.close()


@pytest.fixture
def closed_port() -> int:
    """A port where no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def describe(port: int, credentials: str = "") -> None:
    """Check an RTSP server on a port of loopback."""
    url = f"rtsp://{credentials}127.0.0.1:{port}/gate?profile=1"
    with check_rtsp_describe(ResolvedUrl(url, "rtsp", "127.0.0.1", port), "127.0.0.1", 1.0, True):
        pass


def test_describe_is_sent_without_credentials(server: StubServer) -> None:
    describe(server.port, "joe:s3cret@")
    expected = f"DESCRIBE rtsp://127.0.0.1:{server.port}/gate?profile=1 RTSP/1.0\r\n"
    assert server.requests[0].decode().startswith(expected)


@pytest.mark.parametrize(
    ("response", "cause"),
    [
        (b"RTSP/1.0 301 Moved\r\nLocation: rtsp://192.0.2.1/\r\n\r\n", "refused"),
        (b"RTSP/1.0 404 Not Found\r\n\r\n", "not_found"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "refused"),
        (b"RTSP/1.0\r\n\r\n", "refused"),
        (b"x" * 20_000, "refused"),
        (b"", "eof"),
    ],
)
def test_other_responses_to_describe_are_errors(response: bytes, cause: str) -> None:
    with closing(StubServer(lambda _: response)) as server, pytest.raises(CameraError) as caught:
        describe(server.port)
    assert caught.value.cause == cause


def test_a_camera_that_refuses_the_connection_is_refused(closed_port: int) -> None:
    with pytest.raises(CameraError, match="no connection: Connection refused"):
        describe(closed_port)


def test_options_are_requested_without_credentials_and_query(server: StubServer) -> None:
    check_server_answers(f"rtsp://joe:s3cret@127.0.0.1:{server.port}/gate?token=s3cret")
    expected = f"OPTIONS rtsp://127.0.0.1:{server.port}/gate RTSP/1.0\r\n"
    assert server.requests[0].decode().startswith(expected)
    assert b"s3cret" not in server.requests[0]


def test_a_publish_server_that_refuses_the_connection_is_an_output_error(closed_port: int) -> None:
    for scheme in ("rtsp", "rtsps", "rtmp", "rtmps"):
        with pytest.raises(OutputError, match="no connection: Connection refused"):
            check_server_answers(f"{scheme}://127.0.0.1:{closed_port}/gate")


def test_a_publish_server_that_closes_the_connection_is_an_output_error() -> None:
    with (
        closing(StubServer(lambda _: b"")) as server,
        pytest.raises(OutputError, match="closed the connection without an answer"),
    ):
        check_server_answers(f"rtsp://127.0.0.1:{server.port}/gate")


def test_a_publish_server_that_does_not_answer_is_an_output_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtsp_preflight, "PUBLISH_SECONDS", 0.2)
    proxy = Proxy(1)
    proxy.behaviour = "silent"
    with closing(proxy), pytest.raises(OutputError, match=r"does not answer within 0\.2 s"):
        check_server_answers(f"rtsp://127.0.0.1:{proxy.port}/gate")


def test_an_srt_server_is_not_checked(closed_port: int) -> None:
    check_server_answers(f"srt://127.0.0.1:{closed_port}?passphrase=s3cret")
