"""Outputs of cameras: recordings, snapshots, descriptors, publishing, and what happens when one fails."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count, pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import RtspServer, rtsp_server
from lumaflow.frame import Frame
from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.open_container import OpenRequest, open_container
from lumaflow_service.camera.outputs import encoder, output_set
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.descriptors import DescriptorFiles
from lumaflow_service.camera.outputs.encoder import best_encoder
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.output_set import open_outputs
from lumaflow_service.camera.outputs.output_thread import MAX_QUEUED_FRAMES, OutputThread
from lumaflow_service.camera.outputs.publisher import Publisher
from lumaflow_service.camera.outputs.recorder import Recorder
from lumaflow_service.camera.outputs.relay import NO_PROBING, relay
from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.camera.outputs.signal_lost import no_signal_frame
from lumaflow_service.camera.outputs.snapshot import Snapshots
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import (
    CameraConfig,
    DescriptorsConfig,
    PublishConfig,
    RecordConfig,
    RetentionConfig,
    SnapshotConfig,
)
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from lumaflow_service.media.color import ColorTags
from make_video import dim_frame, make_video, psnr, read_video
from proxy import Proxy, StubServer

BASE = Fraction(1, 90_000)
WALL = 1_800_000_000.0
COLOR = ColorTags(6, 1, 6, 6, 64)


def show(n: int, pts: int | None = None, size: tuple[int, int] = (96, 64), **changes: object) -> OutputFrame:
    """The n-th enhanced picture of a camera at 25 a second."""
    odd = size[0] % 2 or size[1] % 2
    made = OutputFrame(
        frame=Frame.from_numpy(dim_frame(n, size)),
        pts=3600 * n if pts is None else pts,
        time_base=BASE,
        wall=WALL + n / 25,
        arrived=n / 25,
        sequence=n,
        lut="previous",
        epoch=1,
        corrupt=False,
        color=COLOR,
        encoder_format="yuv444p" if odd else "yuv420p",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def record(folder: Path, shows: list[OutputFrame], **how: object) -> list[Path]:
    """Record pictures; the files that came of it."""
    recorder = Recorder(RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, **how}), folder)
    for one in shows:
        recorder.write(one)
    recorder.close()
    return sorted((folder / "r").iterdir())


@pytest.mark.parametrize(("container", "tick"), [("mp4", 0), ("mov", 0), ("mkv", Fraction(1, 1000))])
def test_recordings_keep_irregular_times_pictures_and_colour(
    tmp_path: Path, container: str, tick: Fraction
) -> None:
    times = [123_457 + step for step in (0, 3600, 3601, 7200, 50_000, 400_000)]
    shows = [show(n, pts) for n, pts in enumerate(times)]
    (path,) = record(tmp_path, shows, container=container, quality=10)
    found = read_video(path)
    assert len(found.times) == len(times)
    assert all(abs(a - b * BASE) <= tick for a, b in zip(found.times, times, strict=True))
    assert found.tags == (6, 1, 6, 6)
    assert min(psnr(a, b.frame.pixels) for a, b in zip(found.frames, shows, strict=True)) > 28
    assert path.name.startswith("20270115T080000000Z")


def test_odd_sizes_and_grey_are_recorded_whole(tmp_path: Path) -> None:
    (path,) = record(tmp_path, [show(n, size=(97, 63)) for n in range(5)])
    assert (read_video(path).size, read_video(path).pixel_format) == ((97, 63), "yuv444p")
    grey = [show(n, frame=Frame.from_numpy(dim_frame(n)[:, :, 0].copy())) for n in range(3)]
    (path,) = record(tmp_path / "grey", grey)
    assert read_video(path).size == (96, 64)


def test_a_segment_ends_by_time_and_by_geometry(tmp_path: Path) -> None:
    shows = [show(n) for n in range(60)] + [show(n, size=(64, 96), epoch=2) for n in range(60, 70)]
    paths = record(tmp_path, shows, segment_seconds=1)
    found = [read_video(path) for path in paths]
    assert [len(one.times) for one in found] == [25, 25, 10, 10]
    assert [time for one in found for time in one.times] == [Fraction(n, 25) for n in range(70)]
    assert found[-1].size == (64, 96)


RECORD_FOR_EVER = """
import itertools, sys, time
from pathlib import Path
from test_sinks import record, show, RecordConfig, Recorder
how = RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, "container": sys.argv[2]})
recorder = Recorder(how, Path(sys.argv[1]))
for n in itertools.count():
    recorder.write(show(n))
    print(n, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("container", ["mp4", "mkv"])
def test_a_killed_process_leaves_a_file_that_plays_to_its_last_second(tmp_path: Path, container: str) -> None:
    command = [sys.executable, "-c", RECORD_FOR_EVER, str(tmp_path), container]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout:
        last = next(int(line) for line in process.stdout if int(line) >= 80)
        os.kill(process.pid, signal.SIGKILL)
        last = max([last, *(int(line) for line in process.stdout)])
        process.wait()
    (path,) = (tmp_path / "r").iterdir()
    times = read_video(path).times
    assert times == [Fraction(n, 25) for n in range(len(times))]
    assert last / 25 - times[-1] < 1


def test_sound_is_passed_through_beside_the_picture(tmp_path: Path) -> None:
    film = make_video(tmp_path / "sound.mp4", 24, audio="aac")
    kind, sounds = sound_of(film)
    recorder = Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path)
    recorder.set_audio_format(kind)
    for sound in sounds[:5]:
        recorder.write_audio(sound)  # before the first picture, which takes longer
    for n in range(40):
        recorder.write(show(n))
    for sound in sounds[5:]:
        recorder.write_audio(sound)
    recorder.close()
    (path,) = (tmp_path / "r").iterdir()
    (original,), (copied,) = read_video(film).copied_packets, read_video(path).copied_packets
    kept = [packet for packet in original if packet[0] >= 0]
    assert [data for _, data in copied] == [data for _, data in kept]
    assert all(abs(a[0] - b[0]) <= Fraction(1, 48_000) for a, b in zip(copied, kept, strict=True))


def test_sound_of_the_same_kind_goes_on_in_the_same_file_over_a_new_connection(tmp_path: Path) -> None:
    recorder, again = Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path), Fraction(40, 25)
    film = make_video(tmp_path / "loop.mp4", 20, audio="aac")
    for turn in range(3):  # as a file with `loop: true`
        kind, sounds = sound_of(film)
        recorder.set_audio_format(kind)
        for n in range(40):
            recorder.write(show(turn * 40 + n))
        for sound in sounds:
            recorder.write_audio(replace(sound, seconds=sound.seconds + turn * again))
    other, _ = sound_of(make_video(tmp_path / "pcm.mov", 12, audio="pcm_s16le", container="mov"))
    assert other != kind
    recorder.close()
    (path,) = (tmp_path / "r").iterdir()
    (copied,) = read_video(path).copied_packets
    assert len(copied) > 2.8 * sum(sound.seconds >= 0 for sound in sounds)


def sound_of(film: Path) -> tuple[AudioFormat, list[AudioPacket]]:
    """What a camera's connection would give of a film's sound; the connection is closed by then."""
    policy = UrlPolicy(roots=(film.parent,))
    watchdog = Watchdog()
    sounds = []
    with open_container(
        OpenRequest(check_url(f"file:{film}", policy), policy), film, 0, watchdog
    ) as container:
        feed = FrameReader(container, watchdog, deinterlace=False, live=False)
        assert feed.audio
        kind = AudioFormat(feed.audio)
        for _ in feed.frames(lambda packet: sounds.append(AudioPacket.of(kind, packet, Fraction(0)))):
            pass
    return kind, [sound for sound in sounds if sound]


def test_sound_that_a_container_cannot_hold_is_named(tmp_path: Path) -> None:
    kind, _ = sound_of(make_video(tmp_path / "pcm.mov", 12, audio="pcm_s16le", container="mov"))
    recorder = Recorder(RecordConfig(path="r", keep_free_gb=0, container="mkv"), tmp_path)
    recorder.set_audio_format(kind)
    recorder.write(show(0))
    assert recorder.note == ""
    recorder.close()
    with av.open(io.BytesIO(), "w", format="nut") as keeper:
        law = keeper.add_stream("pcm_alaw", rate=8000)
        kind = AudioFormat(law)
    recorder = Recorder(RecordConfig(path="q", keep_free_gb=0), tmp_path)
    recorder.set_audio_format(kind)
    recorder.write(show(0))
    recorder.close()
    assert recorder.note == "mp4 cannot hold pcm_alaw audio"


def test_old_files_go_and_others_are_never_touched(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_days=2, keep_free_gb=0), tmp_path)
    old = folder.new_path(WALL - 3 * 86_400, ".mp4")
    old.touch()
    young = folder.new_path(WALL - 86_400, ".mp4")
    young.touch()
    mine = old.with_name("holiday.mp4")
    mine.touch()
    assert folder.new_path(WALL, ".mp4").name == "20270115T080000000Z.mp4"
    assert sorted(old.parent.iterdir()) == sorted([young, mine])


def test_names_never_collide(tmp_path: Path) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=0), tmp_path)
    names = []
    for _ in range(3):
        path = folder.new_path(WALL, ".mp4")
        path.touch()
        names.append(path.name)
    assert names == [f"20270115T080000000Z{tail}.mp4" for tail in ("", "-1", "-2")]


def test_the_oldest_go_while_too_little_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RetentionFolder(RetentionConfig(path="r", keep_free_gb=5), tmp_path)
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 6e9)
    for n in range(4):
        folder.new_path(WALL + n, ".mp4").touch()
    left = (tmp_path / "r").iterdir
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 3e9 + 1e9 * (4 - len(list(left()))))
    folder.delete_old(WALL)
    assert [path.name[:15] for path in sorted(left())] == ["20270115T080002", "20270115T080003"]
    monkeypatch.setattr(RetentionFolder, "_check_free_bytes", lambda _: 1e9)
    with pytest.raises(OutputError, match="less than 5 GB of the disk are free"):
        folder.new_path(WALL, ".mp4")


def test_a_folder_is_listed_now_and_then_however_often_a_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, listed = RetentionFolder(RetentionConfig(path="r", keep_days=1, keep_free_gb=0), tmp_path), []
    monkeypatch.setattr(RetentionFolder, "_files", lambda _: listed.append(1) or [])
    for n in range(250):
        folder.new_path(WALL + n / 25, ".npz")
    assert len(listed) == 1
    folder.new_path(WALL + 10, ".npz")
    assert len(listed) == 2


def test_a_snapshot_appears_at_each_interval_and_only_when_complete(tmp_path: Path) -> None:
    sink = Snapshots(SnapshotConfig(path="s", every_seconds=1, keep_free_gb=0), tmp_path)
    assert sum(sink.write(show(n)) for n in range(51)) == 3
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert names == ["20270115T080000000Z.jpg", "20270115T080001000Z.jpg", "20270115T080002000Z.jpg"]


def described() -> tuple[bytes, np.ndarray]:
    """An npz as a worker makes it, and the array in it."""
    file, lbp = io.BytesIO(), np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
    np.savez(file, lbp=lbp)
    return file.getvalue(), lbp


def test_descriptors_are_npz_with_what_frame_they_are_of(tmp_path: Path) -> None:
    data, lbp = described()
    sink = DescriptorFiles(DescriptorsConfig(path="d", keep_free_gb=0), tmp_path, "gate")
    assert [sink.write(show(7, descriptors=data)), sink.write(show(8))] == [True, False]
    (path,) = (tmp_path / "d").iterdir()
    with np.load(path) as found:
        assert np.array_equal(found["lbp"], lbp)
        facts = {name: found[name].item() for name in ("sequence", "pts", "time_base", "lut_kind")}
    assert facts == {"sequence": 7, "pts": 25_200, "time_base": "1/90000", "lut_kind": "previous"}


@pytest.mark.parametrize("format_", ["npz", "jsonl"])
def test_descriptors_are_kept_now_and_then_when_told(tmp_path: Path, format_: str) -> None:
    data, _ = described()
    how = DescriptorsConfig(path="d", format=format_, every_seconds=1, keep_free_gb=0)
    sink = DescriptorFiles(how, tmp_path, "gate")
    assert [n for n in range(51) if sink.write(show(n, descriptors=data))] == [0, 25, 50]
    sink.close()


def test_descriptors_are_lines_of_json_each_written_at_once(tmp_path: Path) -> None:
    import base64

    data, lbp = described()
    sink = DescriptorFiles(DescriptorsConfig(path="d", format="jsonl", keep_free_gb=0), tmp_path, "gate")
    for n in range(3):
        sink.write(show(n, descriptors=data))
    (path,) = (tmp_path / "d").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["source"], line["sequence"]) for line in lines] == [("gate", 0), ("gate", 1), ("gate", 2)]
    packed = lines[0]["lbp"]
    again = np.frombuffer(base64.b64decode(packed["base64"]), packed["dtype"]).reshape(packed["shape"])
    assert np.array_equal(again, lbp)
    sink.close()


def test_the_picture_of_a_lost_camera_is_dimmed_and_says_since_when() -> None:
    for shape in ((120, 320, 3), (120, 320), (16, 16, 3)):
        picture = no_signal_frame(Frame.from_numpy(np.full(shape, 100, np.uint8)), WALL).pixels
        assert picture.shape == shape
        assert np.median(picture) == 35
        assert picture.max() > 150 or shape[0] == 16


class FailingSink:
    """Fails for the first so many pictures; slow when told."""

    note = ""
    free_bytes = None

    def __init__(self, failures: int = 0, seconds: float = 0.0) -> None:
        self.failures, self.seconds = failures, seconds
        self.got: list[int] = []
        self.late: list[int] = []
        self.newest = self.closed = 0

    def set_audio_format(self, audio: AudioFormat | None) -> None: ...

    def write_audio(self, audio: AudioPacket) -> None: ...

    def write(self, frame: OutputFrame) -> bool:
        time.sleep(self.seconds)
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device", "/secret/path")
        self.got.append(frame.sequence)
        self.late.append(self.newest - frame.sequence)
        return True

    def close(self) -> None:
        self.closed += 1


def wait_until(true: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_output_that_fails_says_why_and_goes_on_when_it_can() -> None:
    sink = FailingSink(failures=1)
    outlet = OutputThread("record-1", sink, False, False, lambda text: text)
    outlet._backoff.wait_seconds = lambda: 0.2  # type: ignore[method-assign]
    outlet.put(show(0))
    wait_until(lambda: outlet.state == "waiting")
    assert outlet.report()["why"] == "it cannot be written: No space left on device"
    assert sink.closed == 1
    time.sleep(0.3)
    outlet.put(show(1))
    wait_until(lambda: outlet.state == "working")
    outlet.finish()
    outlet.join(5)
    assert (sink.got, sink.closed) == ([1], 2)


def test_a_slow_output_holds_nothing_up_and_drops_the_oldest() -> None:
    sink = FailingSink(seconds=0.05)
    outlet = OutputThread("publish-1", sink, False, False, lambda text: text)
    started = time.monotonic()
    for n in range(50):
        outlet.put(show(n))
    assert time.monotonic() - started < 0.5
    outlet.finish()
    outlet.join(5)
    assert outlet.dropped >= 50 - MAX_QUEUED_FRAMES - 10
    assert sink.got[-1] == 49
    assert sink.got == sorted(sink.got)


def test_what_is_published_live_is_three_intervals_old_at_most() -> None:
    sink = FailingSink(seconds=0.1)
    camera = CameraConfig.model_validate({"url": "file:x", "outputs": [{"publish": "rtsp://127.0.0.1:1/x"}]})
    outputs = open_outputs(camera, "gate", Path(), lambda text: text)
    outputs._outputs[0]._sink = sink
    for n in range(60):
        outputs.write(show(n))
        sink.newest = n
        time.sleep(0.02)
    outputs.close(5)
    assert (
        max(sink.late) <= 3 + 5 + 2
    )  # three of the camera's, what comes while it is sent, and some patience
    assert len(sink.got) >= 8


def test_a_lossless_output_loses_nothing() -> None:
    sink = FailingSink(seconds=0.002)
    outlet = OutputThread("record-1", sink, False, True, lambda text: text)
    for n in range(100):
        outlet.put(show(n))
    outlet.finish()
    outlet.join(5)
    assert sink.got == list(range(100))


def test_an_unwritable_path_is_a_sentence_and_the_others_go_on(tmp_path: Path) -> None:
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
        outputs.write(show(n))
    wait_until(lambda: outputs.states()[1]["written"] == 5)
    bad, good = outputs.states()
    assert (bad["name"], bad["state"], good["state"]) == ("record-1", "waiting", "working")
    assert bad["why"].startswith("it cannot be written: ")
    outputs.close(5)
    assert len(read_video(next((tmp_path / "good").iterdir())).times) == 5


def test_a_full_disk_stops_a_recording_which_goes_on_when_there_is_room(tmp_path: Path) -> None:
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
        outlet = OutputThread("record-1", sink, False, True, lambda text: text)
        for n in range(40):
            outlet.put(show(n, size=(320, 240), frame=Frame.from_numpy(noise[n])))
        wait_until(lambda: outlet.state == "waiting")
        assert outlet.text == "it cannot be written: No space left on device"
        with suppress(OSError):
            (disk / "more").write_bytes(bytes(1 << 20))
        outlet.state = "full"
        for n in range(40, 400):
            outlet.put(show(n))
            time.sleep(0.02)
            if outlet.state == "waiting":
                break
        assert outlet.state == "waiting"
        (disk / "ballast").unlink()
        for n in range(100, 1000):
            outlet.put(show(n))
            time.sleep(0.02)
            if outlet.state == "working":
                break
        assert outlet.state == "working"
        outlet.finish()
        outlet.join(5)
        assert not [path for path in open_paths() if path.startswith(str(disk))]
        assert all(path.stat().st_size for path in (disk / "r").iterdir())
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def open_paths() -> list[str]:
    """What this process has open."""
    paths = []
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            paths.append(os.readlink(f"/proc/self/fd/{fd}"))
    return paths


def test_auto_takes_the_first_hardware_encoder_that_works_and_else_x264(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for works, taken in (
        ({"h264_nvenc", "h264_qsv"}, "h264_nvenc"),
        ({"h264_qsv"}, "h264_qsv"),
        (set(), "libx264"),
    ):
        best_encoder.cache_clear()
        monkeypatch.setattr(encoder.av, "codecs_available", {*encoder.HARDWARE_ENCODERS, "libx264"})
        monkeypatch.setattr(encoder, "_works", works.__contains__)
        assert best_encoder("yuv420p") == taken
        assert best_encoder("yuv444p") == "libx264"
    best_encoder.cache_clear()


def test_an_encoder_that_is_built_in_but_has_no_hardware_does_not_work() -> None:
    assert encoder._works("libx264")
    assert any(Path("/dev").glob("video*")) or not encoder._works("h264_v4l2m2m")
    assert not encoder._works("no_such_encoder")


def test_what_is_published_plays_at_a_server_and_again_when_that_is_back() -> None:
    with rtsp_server(["/gate=publish"]) as server:
        url = server.url("gate")
        with feeding(url) as outlet:
            wait_until(lambda: outlet.state == "working")
            assert played(server) == (96, 64)
            server.process.kill()
            wait_until(lambda: outlet.state == "waiting")
            assert "127.0.0.1" not in outlet.text
            with rtsp_server(["/gate=publish"], server.port) as again:
                wait_until(lambda: outlet.state == "working", 15)
                assert played(again) == (96, 64)


def test_a_server_that_takes_connections_and_is_silent_holds_nothing_up() -> None:
    silent = Proxy(1)
    silent.behaviour = "silent"
    with feeding(f"rtsp://user:s3cret@127.0.0.1:{silent.port}/gate") as outlet:
        steps = [time.monotonic()]
        while outlet.state != "waiting":
            time.sleep(0.02)
            steps.append(time.monotonic())
        assert outlet.text == "the server does not answer within 2 s"
        assert max(b - a for a, b in pairwise(steps)) < 1
    silent.close()


def test_a_server_that_hangs_after_its_first_answer_holds_up_no_other_output(tmp_path: Path) -> None:
    options = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: ANNOUNCE, SETUP, RECORD\r\n\r\n"
    deaf = StubServer(lambda _: options, keep_open=True)
    recorder = OutputThread(
        "record-2",
        Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path),
        False,
        False,
        lambda text: text,
    )
    with feeding(f"rtsp://user:s3cret@127.0.0.1:{deaf.port}/gate") as outlet:
        steps = [time.monotonic()]
        while outlet.state != "waiting":
            recorder.put(show(len(steps)))
            time.sleep(0.04)
            steps.append(time.monotonic())
        assert outlet.text == "the server does not answer as one that accepts video"
        assert outlet.written == 0
    recorder.finish()
    recorder.join(5)
    deaf.close()
    assert max(b - a for a, b in pairwise(steps)) < 1
    assert recorder.dropped == 0


def test_a_server_that_stops_reading_is_left(server: RtspServer, rng: np.random.Generator) -> None:
    proxy = Proxy(server.port)
    noise = [Frame.from_numpy(rng.integers(0, 255, (480, 640, 3), np.uint8)) for _ in range(5)]
    with feeding(server.url("gate", port=proxy.port), lambda n: show(n, frame=noise[n % 5])) as outlet:
        wait_until(lambda: outlet.state == "working")
        proxy.behaviour = "stall"
        wait_until(lambda: outlet.state == "waiting", 30)
        proxy.behaviour = "forward"
        wait_until(lambda: outlet.state == "working", 30)
    proxy.close()


def test_a_relay_that_dies_is_replaced_and_its_command_shows_no_password(server: RtspServer) -> None:
    with feeding(server.url("gate", "user:s3cret@")) as outlet:
        wait_until(lambda: outlet.state == "working")
        (pid,) = relays()
        assert b"s3cret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: outlet.state == "waiting")
        wait_until(lambda: outlet.state == "working")
    assert relays() == []


def test_a_relay_passes_pictures_and_sound_on_with_their_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [160 * n * n for n in range(12)]
    film = make_video(tmp_path / "a.nut", 12, audio="aac", pts=times, options={"bf": "0"})
    target = tmp_path / "b.flv"
    with av.open(film, container_options=NO_PROBING) as source, av.open(target, "w", format="flv") as out:
        relay(source, out)
    found, wanted = read_video(target), read_video(film)
    shifts = {round(b - a, 2) for a, b in zip(found.times, wanted.times, strict=True)}
    assert len(shifts) == 1
    assert [data for _, data in found.copied_packets[0]] == [data for _, data in wanted.copied_packets[0]]
    assert capsys.readouterr().out == "open \n"


RELAY = b"lumaflow_service.camera.outputs.relay"


def relays() -> list[int]:
    """Processes of publishers of this process."""
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
def feeding(url: str, make: Callable[[int], OutputFrame] = show) -> Iterator[OutputThread]:
    """An outlet that publishes and gets 25 pictures a second meanwhile."""
    publisher = Publisher(PublishConfig(url=url))
    outlet = OutputThread("publish-1", publisher, False, False, lambda text: text)
    ended = threading.Event()

    def feed() -> None:
        for n in count():
            outlet.put(make(n))
            if ended.wait(0.04):
                return

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield outlet
    finally:
        ended.set()
        thread.join()
        outlet.finish()
        outlet.join(5)


def played(server: RtspServer) -> tuple[int, int]:
    """Size of the first picture that a player gets."""
    url, options = server.url("gate-played"), {"rtsp_transport": "tcp"}
    with av.open(url, container_options=options, timeout=(10, 5)) as player:
        frame = next(player.decode(video=0))
    return frame.width, frame.height


def test_a_lost_camera_is_shown_as_lost_until_it_is_back(
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
    begun, bright = time.monotonic(), Frame.from_numpy(np.full((64, 96, 3), 200, np.uint8))
    for n in range(5):
        outputs.write(show(n, arrived=time.monotonic(), frame=bright))
    wait_until(lambda: outputs.states()[0]["written"] >= 9)
    passed = round((time.monotonic() - begun) * 90_000)
    outputs.write(show(5, pts=4 * 3600 + passed, arrived=time.monotonic(), frame=bright))
    outputs.close(5)
    shown, plain = (read_video(next((tmp_path / name).iterdir())) for name in "rq")
    levels = [int(np.median(picture)) for picture in shown.frames]
    assert all(level > 150 for level in (*levels[:5], levels[-1]))
    assert all(level < 100 for level in levels[5:-1])
    assert len(levels) >= 10
    assert all(a < b for a, b in pairwise(shown.times))
    assert len(plain.times) == 6


def test_an_output_survives_even_what_nobody_foresaw() -> None:
    sink = FailingSink()
    sink.set_audio_format = lambda kind: 1 / 0  # type: ignore[method-assign]
    outlet = OutputThread("record-1", sink, False, False, lambda text: text)
    outlet._backoff.wait_seconds = lambda: 0.1  # type: ignore[method-assign]
    outlet.put(None)
    wait_until(lambda: outlet.state == "waiting")
    time.sleep(0.2)
    outlet.put(show(1))
    wait_until(lambda: outlet.state == "working")
    outlet.finish()
    outlet.join(5)
