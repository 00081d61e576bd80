"""Recordings: times, segments, audio, and files of a killed process."""

import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import pytest

from lumaflow.frame import Frame
from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.open_container import OpenRequest, open_container
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.recorder import Recorder
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.model import (
    RecordConfig,
)
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from make_video import dim_frame, make_video, psnr, read_video
from output_frames import TIME_BASE, output_frame


def record(folder: Path, frames: list[OutputFrame], **config: object) -> list[Path]:
    """Record frames; return the files."""
    recorder = Recorder(RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, **config}), folder)
    for frame in frames:
        recorder.write(frame)
    recorder.close()
    return sorted((folder / "r").iterdir())


@pytest.mark.parametrize(("container", "tick"), [("mp4", 0), ("mov", 0), ("mkv", Fraction(1, 1000))])
def test_a_recording_keeps_irregular_times_frames_and_colour_tags(
    tmp_path: Path, container: str, tick: Fraction
) -> None:
    times = [123_457 + step for step in (0, 3600, 3601, 7200, 50_000, 400_000)]
    frames = [output_frame(n, pts) for n, pts in enumerate(times)]
    (path,) = record(tmp_path, frames, container=container, quality=10)
    found = read_video(path)
    assert len(found.times) == len(times)
    assert all(abs(a - b * TIME_BASE) <= tick for a, b in zip(found.times, times, strict=True))
    assert found.tags == (6, 1, 6, 6)
    assert min(psnr(a, b.frame.pixels) for a, b in zip(found.frames, frames, strict=True)) > 28
    assert path.name.startswith("20270115T080000000Z")


def test_odd_sizes_and_gray_are_recorded(tmp_path: Path) -> None:
    (path,) = record(tmp_path, [output_frame(n, size=(97, 63)) for n in range(5)])
    assert (read_video(path).size, read_video(path).pixel_format) == ((97, 63), "yuv444p")
    gray = [output_frame(n, frame=Frame.from_numpy(dim_frame(n)[:, :, 0].copy())) for n in range(3)]
    (path,) = record(tmp_path / "gray", gray)
    assert read_video(path).size == (96, 64)


def test_a_segment_ends_after_its_duration_and_when_the_size_changes(tmp_path: Path) -> None:
    frames = [output_frame(n) for n in range(60)] + [
        output_frame(n, size=(64, 96), epoch=2) for n in range(60, 70)
    ]
    paths = record(tmp_path, frames, segment_seconds=1)
    found = [read_video(path) for path in paths]
    assert [len(one.times) for one in found] == [25, 25, 10, 10]
    assert [time for one in found for time in one.times] == [Fraction(n, 25) for n in range(70)]
    assert found[-1].size == (64, 96)


RECORD_ENDLESSLY = """
import itertools, sys, time
from pathlib import Path
from output_frames import output_frame
from test_recorder import RecordConfig, Recorder
how = RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, "container": sys.argv[2]})
recorder = Recorder(how, Path(sys.argv[1]))
for n in itertools.count():
    recorder.write(output_frame(n))
    print(n, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("container", ["mp4", "mkv"])
def test_a_recording_of_a_killed_process_plays_to_its_last_second(tmp_path: Path, container: str) -> None:
    command = [sys.executable, "-c", RECORD_ENDLESSLY, str(tmp_path), container]
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


def test_audio_packets_are_copied_unchanged(tmp_path: Path) -> None:
    video = make_video(tmp_path / "sound.mp4", 24, audio="aac")
    audio_format, packets = audio_of(video)
    recorder = Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path)
    recorder.set_audio_format(audio_format)
    for packet in packets[:5]:
        recorder.write_audio(packet)  # audio arrives before the first enhanced frame
    for n in range(40):
        recorder.write(output_frame(n))
    for packet in packets[5:]:
        recorder.write_audio(packet)
    recorder.close()
    (path,) = (tmp_path / "r").iterdir()
    (original,), (copied,) = read_video(video).copied_packets, read_video(path).copied_packets
    kept = [packet for packet in original if packet[0] >= 0]
    assert [data for _, data in copied] == [data for _, data in kept]
    assert all(abs(a[0] - b[0]) <= Fraction(1, 48_000) for a, b in zip(copied, kept, strict=True))


def test_equal_audio_formats_continue_in_one_file_after_a_reconnect(tmp_path: Path) -> None:
    recorder = Recorder(RecordConfig(path="r", keep_free_gb=0), tmp_path)
    loop_seconds = Fraction(40, 25)
    video = make_video(tmp_path / "loop.mp4", 20, audio="aac")
    for loop in range(3):  # as a file with `loop: true`
        audio_format, packets = audio_of(video)
        recorder.set_audio_format(audio_format)
        for n in range(40):
            recorder.write(output_frame(loop * 40 + n))
        for packet in packets:
            recorder.write_audio(replace(packet, seconds=packet.seconds + loop * loop_seconds))
    other, _ = audio_of(make_video(tmp_path / "pcm.mov", 12, audio="pcm_s16le", container="mov"))
    assert other != audio_format
    recorder.close()
    (path,) = (tmp_path / "r").iterdir()
    (copied,) = read_video(path).copied_packets
    assert len(copied) > 2.8 * sum(packet.seconds >= 0 for packet in packets)


def audio_of(video: Path) -> tuple[AudioFormat, list[AudioPacket]]:
    """Read the audio of a video as a camera does; its container is closed afterwards."""
    policy = UrlPolicy(roots=(video.parent,))
    watchdog = Watchdog()
    packets = []
    with open_container(
        OpenRequest(check_url(f"file:{video}", policy), policy), video, 0, watchdog
    ) as container:
        reader = FrameReader(container, watchdog, deinterlace=False, live=False)
        assert reader.audio
        audio_format = AudioFormat(reader.audio)
        for _ in reader.frames(
            lambda packet: packets.append(AudioPacket.of(audio_format, packet, Fraction(0)))
        ):
            pass
    return audio_format, [packet for packet in packets if packet]


def test_audio_that_the_container_cannot_hold_is_noted(tmp_path: Path) -> None:
    audio_format, _ = audio_of(make_video(tmp_path / "pcm.mov", 12, audio="pcm_s16le", container="mov"))
    recorder = Recorder(RecordConfig(path="r", keep_free_gb=0, container="mkv"), tmp_path)
    recorder.set_audio_format(audio_format)
    recorder.write(output_frame(0))
    assert recorder.note == ""
    recorder.close()
    with av.open(io.BytesIO(), "w", format="nut") as container:
        alaw = container.add_stream("pcm_alaw", rate=8000)
        audio_format = AudioFormat(alaw)
    recorder = Recorder(RecordConfig(path="q", keep_free_gb=0), tmp_path)
    recorder.set_audio_format(audio_format)
    recorder.write(output_frame(0))
    recorder.close()
    assert recorder.note == "mp4 cannot hold pcm_alaw audio"
