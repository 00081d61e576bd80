"""Outputs that are slow, fail or recover, and all outputs of a camera together."""

import os
import subprocess
import time
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lumaflow.frame import Frame
from lumaflow_service.camera.outputs import output_set, output_thread
from lumaflow_service.camera.outputs.audio import AudioPacket
from lumaflow_service.camera.outputs.output_set import open_outputs
from lumaflow_service.camera.outputs.output_thread import MAX_QUEUED_FRAMES, OutputThread
from lumaflow_service.camera.outputs.recorder import Recorder
from lumaflow_service.config.model import (
    CameraConfig,
    RecordConfig,
)
from make_video import read_video
from output_frames import TIME_BASE, FakeSink, output_frame, wait_until


def test_a_failed_output_reports_why_and_is_retried() -> None:
    sink = FakeSink(failures=1)
    output = OutputThread("record-1", sink, False, False, lambda text: text)
    output._backoff.wait_seconds = lambda: 0.2  # type: ignore[method-assign]
    output.put(output_frame(0))
    wait_until(lambda: output.state == "waiting")
    assert output.report()["why"] == "it cannot be written: No space left on device"
    assert sink.closed == 1
    time.sleep(0.3)
    output.put(output_frame(1))
    wait_until(lambda: output.state == "working")
    output.finish()
    output.join(5)
    assert (sink.written, sink.closed) == ([1], 2)


def test_a_slow_output_does_not_block_and_drops_the_oldest_frames() -> None:
    sink = FakeSink(seconds=0.05)
    output = OutputThread("publish-1", sink, False, False, lambda text: text)
    started = time.monotonic()
    for n in range(50):
        output.put(output_frame(n))
    assert time.monotonic() - started < 0.5
    output.finish()
    output.join(5)
    assert output.dropped >= 50 - MAX_QUEUED_FRAMES - 10
    assert sink.written[-1] == 49
    assert sink.written == sorted(sink.written)


def test_live_published_frames_are_at_most_three_intervals_old() -> None:
    sink = FakeSink(seconds=0.1)
    camera = CameraConfig.model_validate({"url": "file:x", "outputs": [{"publish": "rtsp://127.0.0.1:1/x"}]})
    outputs = open_outputs(camera, "gate", Path(), lambda text: text)
    outputs._outputs[0]._sink = sink
    for n in range(60):
        outputs.write(output_frame(n))
        sink.newest = n
        time.sleep(0.02)
    outputs.close(5)
    # Two in the queue and the newest, five that arrive during a write, and a margin of two.
    assert max(sink.delays) <= 3 + 5 + 2
    assert len(sink.written) >= 8


def test_a_lossless_output_drops_no_frame() -> None:
    sink = FakeSink(seconds=0.002)
    output = OutputThread("record-1", sink, False, True, lambda text: text)
    for n in range(100):
        output.put(output_frame(n))
    output.finish()
    output.join(5)
    assert sink.written == list(range(100))


def test_an_output_with_an_unwritable_path_does_not_affect_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    camera = CameraConfig.model_validate(
        {
            "url": "file:x",
            "outputs": [
                {"record": {"path": "file/below", "keep_free_gb": 0}},
                {"record": {"path": "good", "keep_free_gb": 0}},
            ],
        }
    )
    outputs = open_outputs(camera, "gate", tmp_path, lambda text: text)
    for n in range(5):
        outputs.write(output_frame(n))
    wait_until(lambda: outputs.states()[1]["written"] == 5)
    bad, good = outputs.states()
    assert (bad["name"], bad["state"], good["state"]) == ("record-1", "waiting", "working")
    assert bad["why"].startswith("it cannot be written: ")
    outputs.close(5)
    assert len(read_video(next((tmp_path / "good").iterdir())).times) == 5


def test_recording_resumes_when_a_full_disk_has_space_again(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        (disk / "ballast").write_bytes(bytes(900_000))
        noise = np.random.default_rng(1).integers(0, 255, (40, 240, 320, 3), np.uint8)
        sink = Recorder(RecordConfig(path="r", keep_free_gb=0, quality=1), disk)
        output = OutputThread("record-1", sink, False, True, lambda text: text)
        for n in range(40):
            output.put(output_frame(n, size=(320, 240), frame=Frame.from_numpy(noise[n])))
        wait_until(lambda: output.state == "waiting")
        assert output.text == "it cannot be written: No space left on device"
        with suppress(OSError):
            (disk / "more").write_bytes(bytes(1 << 20))
        output.state = "full"
        for n in range(40, 400):
            output.put(output_frame(n))
            time.sleep(0.02)
            if output.state == "waiting":
                break
        assert output.state == "waiting"
        (disk / "ballast").unlink()
        for n in range(100, 1000):
            output.put(output_frame(n))
            time.sleep(0.02)
            if output.state == "working":
                break
        assert output.state == "working"
        output.finish()
        output.join(5)
        assert not [path for path in open_paths() if path.startswith(str(disk))]
        assert all(path.stat().st_size for path in (disk / "r").iterdir())
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def open_paths() -> list[str]:
    """Paths of the files that this process has open."""
    paths = []
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            paths.append(os.readlink(f"/proc/self/fd/{fd}"))
    return paths


def test_the_no_signal_picture_is_recorded_while_the_camera_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_set, "LOST_SECONDS", 0.4)
    monkeypatch.setattr(output_set, "NO_SIGNAL_INTERVAL_SECONDS", 0.1)
    record = {"path": "r", "keep_free_gb": 0, "no_signal": True}
    without = {"path": "q", "keep_free_gb": 0}
    camera = CameraConfig.model_validate(
        {"url": "file:x", "outputs": [{"record": record}, {"record": without}]}
    )
    outputs = open_outputs(camera, "gate", tmp_path, lambda text: text)
    started, bright = time.monotonic(), Frame.from_numpy(np.full((64, 96, 3), 200, np.uint8))
    for n in range(5):
        outputs.write(output_frame(n, arrived=time.monotonic(), frame=bright))
    wait_until(lambda: outputs.states()[0]["written"] >= 9)
    elapsed = round((time.monotonic() - started) * 90_000)
    outputs.write(output_frame(5, pts=4 * 3600 + elapsed, arrived=time.monotonic(), frame=bright))
    outputs.close(5)
    with_picture, without_picture = (read_video(next((tmp_path / name).iterdir())) for name in "rq")
    levels = [int(np.median(frame)) for frame in with_picture.frames]
    assert all(level > 150 for level in (*levels[:5], levels[-1]))
    assert all(level < 100 for level in levels[5:-1])
    assert len(levels) >= 10
    assert all(a < b for a, b in pairwise(with_picture.times))
    assert len(without_picture.times) == 6


def test_an_output_recovers_from_an_unexpected_error() -> None:
    sink = FakeSink()
    sink.set_audio_format = lambda audio_format: 1 / 0  # type: ignore[method-assign]
    output = OutputThread("record-1", sink, False, False, lambda text: text)
    output._backoff.wait_seconds = lambda: 0.1  # type: ignore[method-assign]
    output.put(None)
    wait_until(lambda: output.state == "waiting")
    time.sleep(0.2)
    output.put(output_frame(1))
    wait_until(lambda: output.state == "working")
    output.finish()
    output.join(5)


def test_frames_are_dropped_and_the_audio_format_is_kept_while_an_output_waits() -> None:
    sink, formats = FakeSink(failures=1), []
    sink.set_audio_format = formats.append  # type: ignore[method-assign]
    output = OutputThread("record-1", sink, False, False, lambda text: text)
    output._backoff.wait_seconds = lambda: 0.3  # type: ignore[method-assign]
    output.put(output_frame(0))
    wait_until(lambda: output.state == "waiting")
    for item in (output_frame(1), None, output_frame(2)):
        output.put(item)
    wait_until(lambda: formats == [None])
    output.finish()
    output.join(5)
    assert (sink.written, output.dropped) == ([], 2)


def test_credentials_are_redacted_in_the_error_of_an_output() -> None:
    sink = FakeSink()
    sink.write = lambda frame: int("rtsp://user:s3cret@host")  # type: ignore[method-assign]
    output = OutputThread("publish-1", sink, False, False, lambda text: text.replace("s3cret", "***"))
    output.put(output_frame(0))
    wait_until(lambda: output.state == "waiting")
    output.finish()
    output.join(5)
    assert "***" in output.text
    assert "s3cret" not in output.text


def test_an_error_at_the_end_of_an_output_does_not_stop_its_thread() -> None:
    sink = FakeSink()
    sink.close = lambda: 1 / 0  # type: ignore[method-assign]
    output = OutputThread("record-1", sink, False, False, lambda text: text)
    output.put(output_frame(0))
    output.finish()
    output.join(5)
    assert not output._thread.is_alive()
    assert sink.written == [0]


def test_a_full_audio_queue_drops_the_oldest_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_thread, "MAX_QUEUED_AUDIO", 3)
    sink, received = FakeSink(seconds=0.3), []
    sink.write_audio = received.append  # type: ignore[method-assign]
    output = OutputThread("record-1", sink, False, False, lambda text: text)
    output.put(output_frame(0))
    packets = [audio_packet(n) for n in range(6)]
    for packet in packets:
        output.put(packet)
    output.finish()
    output.join(5)
    assert received == packets[-3:]
    assert output.dropped == 0


def audio_packet(n: int) -> AudioPacket:
    """Return audio packet `n`, without a format."""
    return AudioPacket(None, bytes([n]), Fraction(n), TIME_BASE, 1)  # type: ignore[arg-type]
