"""The pipe to a relay process, with shell scripts in place of the relay."""

import time
from pathlib import Path

import pytest

from lumaflow_service.camera.outputs import relay_pipe
from lumaflow_service.camera.outputs.relay_pipe import RelayPipe
from lumaflow_service.config.camera_errors import OutputError
from output_frames import wait_until

URL = "rtsp://user:s3cret@127.0.0.1/gate"


@pytest.fixture
def open_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Open a pipe whose relay is a shell script; it is closed after the test."""
    pipes = []

    def open_(script: str) -> RelayPipe:
        path = tmp_path / "relay.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(relay_pipe.sys, "executable", str(path))
        pipes.append(RelayPipe(URL, "rtsp", {"a": "b"}))
        return pipes[-1]

    yield open_
    for pipe in pipes:
        pipe.close()


def test_the_relay_gets_the_request_on_its_input_and_not_as_an_argument(open_pipe, tmp_path: Path) -> None:
    pipe = open_pipe(f'echo "$@" > {tmp_path}/arguments; echo open; cat > {tmp_path}/input')
    wait_until(pipe.connected)
    pipe.write(b"video")
    pipe.close()
    assert "s3cret" not in (tmp_path / "arguments").read_text()
    received = (tmp_path / "input").read_bytes()
    length = int.from_bytes(received[:4])
    assert received[4 : 4 + length] == (
        b'{"url": "rtsp://user:s3cret@127.0.0.1/gate", "format": "rtsp", "options": {"a": "b"}}'
    )
    assert received[4 + length :] == b"video"


def test_the_note_of_the_relay_is_kept(open_pipe) -> None:
    pipe = open_pipe("echo open flv cannot hold pcm_alaw audio; cat > /dev/null")
    wait_until(pipe.connected)
    assert pipe.note == "flv cannot hold pcm_alaw audio"


def test_the_reason_of_a_failed_relay_is_raised(open_pipe) -> None:
    pipe = open_pipe("cat > /dev/null & echo failed no connection; wait")
    with pytest.raises(OutputError, match=r"^no connection$"):
        wait_until(pipe.connected)


def test_a_server_that_is_not_connected_in_time_is_an_error(
    open_pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_pipe, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(relay_pipe, "CLOSE_SECONDS", 0.1)
    pipe = open_pipe("exec cat > /dev/null")
    with pytest.raises(OutputError, match=r"accepts no video within 0\.2 s"):
        wait_until(pipe.connected)


def test_a_relay_that_does_not_read_fails_the_write_and_then_every_write_at_once(
    open_pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_pipe, "WRITE_SECONDS", 0.3)
    monkeypatch.setattr(relay_pipe, "CLOSE_SECONDS", 0.1)
    pipe = open_pipe("echo open; exec sleep 60")
    wait_until(pipe.connected)
    with pytest.raises(TimeoutError):
        pipe.write(bytes(1 << 20))
    started = time.monotonic()
    with pytest.raises(BrokenPipeError):
        pipe.write(b"more")
    assert time.monotonic() - started < 0.1
    assert str(pipe.failure()) == "the server accepts no video within 0.3 s"


def test_a_relay_that_exits_breaks_the_connection(open_pipe) -> None:
    pipe = open_pipe("echo open; head -c 4 > /dev/null")
    wait_until(pipe.connected)
    with pytest.raises(OSError, match="Broken pipe"):
        write_endlessly(pipe)
    assert str(pipe.failure()) == "the connection broke"


def write_endlessly(pipe: RelayPipe) -> None:
    """Write until an error is raised."""
    while True:
        pipe.write(bytes(1 << 16))


def test_closing_kills_a_relay_that_does_not_exit(open_pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_pipe, "CLOSE_SECONDS", 0.1)
    pipe = open_pipe("exec sleep 60")
    pipe.close()
    assert pipe._process.returncode == -9
