"""Publishing to servers that work, hang, stop or restart."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import RtspServer, rtsp_server
from lumaflow.frame import Frame
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.output_thread import OutputThread
from lumaflow_service.camera.outputs.publisher import Publisher
from lumaflow_service.camera.outputs.recorder import Recorder
from lumaflow_service.camera.outputs.relay import NO_PROBING, relay
from lumaflow_service.config.model import (
    PublishConfig,
    RecordConfig,
)
from make_video import make_video, read_video
from output_frames import output_frame, wait_until
from proxy import Proxy, StubServer


def test_published_video_plays_and_plays_again_after_a_server_restart() -> None:
    with rtsp_server(["/gate=publish"]) as server:
        url = server.url("gate")
        with publishing(url) as output:
            wait_until(lambda: output.state == "working")
            assert played_size(server) == (96, 64)
            server.process.kill()
            wait_until(lambda: output.state == "waiting")
            assert "127.0.0.1" not in output.text
            with rtsp_server(["/gate=publish"], server.port) as again:
                wait_until(lambda: output.state == "working", 15)
                assert played_size(again) == (96, 64)


def test_a_silent_server_does_not_block() -> None:
    silent = Proxy(1)
    silent.behaviour = "silent"
    with publishing(f"rtsp://user:s3cret@127.0.0.1:{silent.port}/gate") as output:
        steps = [time.monotonic()]
        while output.state != "waiting":
            time.sleep(0.02)
            steps.append(time.monotonic())
        assert output.text == "the server does not answer within 2 s"
        assert max(b - a for a, b in pairwise(steps)) < 1
    silent.close()


def test_a_server_that_hangs_does_not_block_other_outputs(tmp_path: Path) -> None:
    options = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: ANNOUNCE, SETUP, RECORD\r\n\r\n"
    hanging = StubServer(lambda _: options, keep_open=True)
    recorder = OutputThread(
        "record-2",
        Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path),
        False,
        False,
        lambda text: text,
    )
    with publishing(f"rtsp://user:s3cret@127.0.0.1:{hanging.port}/gate") as output:
        steps = [time.monotonic()]
        while output.state != "waiting":
            recorder.put(output_frame(len(steps)))
            time.sleep(0.04)
            steps.append(time.monotonic())
        assert output.text == "the server does not answer as one that accepts video"
        assert output.written == 0
    recorder.finish()
    recorder.join(5)
    hanging.close()
    assert max(b - a for a, b in pairwise(steps)) < 1
    assert recorder.dropped == 0


def test_a_server_that_stops_reading_is_reconnected(server: RtspServer, rng: np.random.Generator) -> None:
    proxy = Proxy(server.port)
    noise = [Frame.from_numpy(rng.integers(0, 255, (480, 640, 3), np.uint8)) for _ in range(5)]
    with publishing(
        server.url("gate", port=proxy.port), lambda n: output_frame(n, frame=noise[n % 5])
    ) as output:
        wait_until(lambda: output.state == "working")
        proxy.behaviour = "stall"
        wait_until(lambda: output.state == "waiting", 30)
        proxy.behaviour = "forward"
        wait_until(lambda: output.state == "working", 30)
    proxy.close()


def test_a_killed_relay_is_restarted_and_its_command_line_has_no_password(server: RtspServer) -> None:
    with publishing(server.url("gate", "user:s3cret@")) as output:
        wait_until(lambda: output.state == "working")
        (pid,) = relay_processes()
        assert b"s3cret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: output.state == "waiting")
        wait_until(lambda: output.state == "working")
    assert relay_processes() == []


def test_a_relay_copies_video_and_audio_with_their_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [160 * n * n for n in range(12)]
    video = make_video(tmp_path / "a.nut", 12, audio="aac", pts=times, options={"bf": "0"})
    target = tmp_path / "b.flv"
    with av.open(video, container_options=NO_PROBING) as source, av.open(target, "w", format="flv") as out:
        relay(source, out)
    found, wanted = read_video(target), read_video(video)
    shifts = {round(b - a, 2) for a, b in zip(found.times, wanted.times, strict=True)}
    assert len(shifts) == 1
    assert [data for _, data in found.copied_packets[0]] == [data for _, data in wanted.copied_packets[0]]
    assert capsys.readouterr().out == "open \n"


def relay_processes() -> list[int]:
    """Process ids of the relays of this process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (
                parent == os.getpid()
                and b"lumaflow_service.camera.outputs.relay" in (folder / "cmdline").read_bytes()
            ):
                found.append(int(folder.name))
    return found


@pytest.fixture
def server() -> Iterator[RtspServer]:
    with rtsp_server(["/gate=publish"]) as server:
        yield server


@contextmanager
def publishing(url: str, make: Callable[[int], OutputFrame] = output_frame) -> Iterator[OutputThread]:
    """Run an output that publishes 25 frames per second."""
    publisher = Publisher(PublishConfig(url=url))
    output = OutputThread("publish-1", publisher, False, False, lambda text: text)
    ended = threading.Event()

    def put_frames() -> None:
        for n in count():
            output.put(make(n))
            if ended.wait(0.04):
                return

    thread = threading.Thread(target=put_frames)
    thread.start()
    try:
        yield output
    finally:
        ended.set()
        thread.join()
        output.finish()
        output.join(5)


def played_size(server: RtspServer) -> tuple[int, int]:
    """Play the published video; return the size of its first frame."""
    url, options = server.url("gate-played"), {"rtsp_transport": "tcp"}
    with av.open(url, container_options=options, timeout=(10, 5)) as player:
        frame = next(player.decode(video=0))
    return frame.width, frame.height
