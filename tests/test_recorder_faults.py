"""Recordings: quality, audio, key frames, the last frames, free space, and which files are deleted."""

from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import av
import pytest

from lumaflow_service.camera.outputs import retention_folder
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.encoder import KEY_FRAME_SECONDS, VideoEncoder, encoder_options
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.recorder import CLEANUP_SECONDS, Recorder
from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import EncoderConfig, RecordConfig
from output_frames import WALL, output_frame
from test_audio import audio_format

DiskUsage = namedtuple("DiskUsage", "total used free")
GIGABYTE = 10**9
ENCODERS = ("libx264", "libx265", "h264_nvenc", "hevc_nvenc", "h264_qsv")


def recorder(folder: Path, **config: object) -> Recorder:
    """A recorder to the folder `r`, which by default may fill the disk."""
    return Recorder(RecordConfig.model_validate({"path": "r", "keep_free_gb": 0, **config}), folder)


def record(folder: Path, frames: list[OutputFrame], **config: object) -> Path:
    """Record frames to one file."""
    output = recorder(folder, **config)
    for frame in frames:
        output.write(frame)
    output.close()
    (path,) = (folder / "r").iterdir()
    return path


def set_free_bytes(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Let every disk have this much free space."""
    usage = DiskUsage(100 * GIGABYTE, 100 * GIGABYTE - free, free)
    monkeypatch.setattr(retention_folder.shutil, "disk_usage", lambda path: usage)


# encoder ------------------------------------------------------------------------------------------


def test_a_lower_quality_number_makes_a_larger_file(tmp_path: Path) -> None:
    sizes = [
        record(tmp_path / f"{quality}", [output_frame(n) for n in range(25)], quality=quality).stat().st_size
        for quality in (5, 20, 35)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[-1]


@pytest.mark.parametrize("quality", [1, 23, 51])
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_gets_the_quality(name: str, quality: int) -> None:
    options = encoder_options(name, quality)
    found = [options[key] for key in ("crf", "cq", "global_quality") if key in options]
    assert found == [f"{quality}"]


@pytest.mark.parametrize("frames_per_second", [5, 25])
@pytest.mark.parametrize("encoder", ["libx264", "libx265"])
def test_there_is_a_key_frame_every_two_seconds(tmp_path: Path, encoder: str, frames_per_second: int) -> None:
    frames = [
        output_frame(n, n * 90_000 // frames_per_second, size=(64, 64))
        for n in range(5 * frames_per_second + 1)
    ]
    path = record(tmp_path, frames, encoder=encoder)
    with av.open(str(path)) as container:
        keys = [packet.pts * packet.time_base for packet in container.demux(video=0) if packet.is_keyframe]
    assert keys == [0, KEY_FRAME_SECONDS, 2 * KEY_FRAME_SECONDS]
    assert KEY_FRAME_SECONDS == 2


def test_after_a_gap_the_next_frame_is_a_key_frame(tmp_path: Path) -> None:
    times = [0.0, 0.04, 1.9, 5.0, 5.04, 6.9, 7.0]
    path = record(tmp_path, [output_frame(n, round(t * 90_000)) for n, t in enumerate(times)])
    with av.open(str(path)) as container:
        keys = [
            float(packet.pts * packet.time_base) for packet in container.demux(video=0) if packet.is_keyframe
        ]
    assert keys == [0.0, 5.0, 7.0]


class DelayingVideo:
    """An encoder stream that holds back every frame until it is drained."""

    pix_fmt = "yuv420p"

    def __init__(self) -> None:
        self._held: list[int] = []

    def encode(self, frame: av.VideoFrame | None) -> list[int]:
        """The held frames, by their pts, once there is no further frame."""
        if frame is None:
            return self._held
        assert frame.pts is not None
        self._held.append(frame.pts)
        return []


class FakeContainer:
    """A container that keeps what is muxed."""

    def __init__(self) -> None:
        self.packets: list[int] = []

    def mux(self, packets: list[int]) -> None:
        """Keep packets."""
        self.packets += packets


def test_the_frames_that_an_encoder_holds_back_are_written_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(VideoEncoder, "_add_video", lambda *_: DelayingVideo())
    container = FakeContainer()
    encoder = VideoEncoder(container, EncoderConfig(), output_frame(0), None)  # type: ignore[arg-type]
    for n in range(3):
        encoder.write(output_frame(n))
    assert container.packets == []
    encoder.flush()
    assert container.packets == [0, 3600, 7200]


def test_an_encoder_without_a_frame_is_not_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VideoEncoder, "_add_video", lambda *_: None)
    VideoEncoder(FakeContainer(), EncoderConfig(), output_frame(0), None).flush()  # type: ignore[arg-type]


def test_a_segment_drains_its_encoder_when_it_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drained: list[int] = []
    flush = VideoEncoder.flush
    monkeypatch.setattr(VideoEncoder, "flush", lambda self: (drained.append(1), flush(self)))
    output = recorder(tmp_path, segment_seconds=1)
    for n in range(60):
        output.write(output_frame(n))
    assert len(drained) == 2
    output.close()
    assert len(drained) == 3


def test_equal_times_follow_each_other_by_one_tick(tmp_path: Path) -> None:
    path = record(tmp_path, [output_frame(n, pts) for n, pts in enumerate((0, 3600, 3600, 1800, 7200))])
    with av.open(str(path)) as container:
        times = [round(frame.pts * frame.time_base * 90_000) for frame in container.decode(video=0)]
    assert times == [0, 3600, 3601, 3602, 7200]


# audio --------------------------------------------------------------------------------------------


def audio_streams(
    folder: Path, audio: bool, format_: AudioFormat, seconds: list[float]
) -> tuple[int, int, str]:
    """Record video and audio packets: the streams and packets of audio in the file, and the note."""
    output = recorder(folder, audio=audio, container="mov")
    output.set_audio_format(format_)
    output.write(output_frame(0, 90_000))
    for start in seconds:
        packet = AudioPacket(format_, bytes(160), Fraction(start), Fraction(1, 8000), 160)
        output.write_audio(packet)
    note = output.note
    output.close()
    (path,) = (folder / "r").iterdir()
    with av.open(str(path)) as container:
        streams = len(container.streams.audio)
        packets = sum(packet.size > 0 and packet.stream.type == "audio" for packet in container.demux())
    return streams, packets, note


def test_audio_is_recorded_unless_it_is_turned_off(tmp_path: Path) -> None:
    format_ = audio_format()
    assert audio_streams(tmp_path / "on", True, format_, [1.0, 1.02]) == (1, 2, "")
    assert audio_streams(tmp_path / "off", False, format_, [1.0, 1.02]) == (0, 0, "")


def test_audio_before_the_first_frame_and_of_the_past_is_left_out(tmp_path: Path) -> None:
    assert audio_streams(tmp_path, True, audio_format(), [0.98, 1.0, 1.02, 1.0, 1.04])[:2] == (1, 3)


def test_another_audio_format_begins_a_new_file(tmp_path: Path) -> None:
    output = recorder(tmp_path, container="mov")
    output.set_audio_format(audio_format())
    output.write(output_frame(0))
    output.set_audio_format(audio_format(rate=16_000))
    output.write(output_frame(1))
    output.set_audio_format(None)  # a camera that reconnects without audio
    output.write(output_frame(2))
    output.close()
    assert len(list((tmp_path / "r").iterdir())) == 2


# disk ---------------------------------------------------------------------------------------------


def test_free_space_is_looked_at_while_a_segment_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_free_bytes(monkeypatch, 9 * GIGABYTE)
    output = recorder(tmp_path, keep_free_gb=5, segment_seconds=86_400)
    for n in range(10):
        output.write(output_frame(n))
    assert output.free_bytes == 9 * GIGABYTE
    set_free_bytes(monkeypatch, 4 * GIGABYTE)
    for n in range(10, 20):
        output.write(output_frame(n))  # not at every frame
    with pytest.raises(OutputError, match="expected at least 5 GB of free disk space, got less"):
        output.write(output_frame(20, arrived=CLEANUP_SECONDS + 1))
    assert output.free_bytes == 4 * GIGABYTE
    output.close()


def test_a_full_disk_costs_older_segments_but_not_the_open_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    old = [folder / f"2027011{day}T080000000Z.mp4" for day in (1, 2, 3)]
    others = [
        folder / name for name in ("holiday.mp4", "20270101T080000000Z.txt", ".20270101T080000000Z.mp4")
    ]
    for path in (*old, *others):
        path.touch()
    (folder / "20270101T080000000Z.mp4").mkdir()
    set_free_bytes(monkeypatch, 9 * GIGABYTE)
    output = recorder(tmp_path, keep_free_gb=5)
    output.write(output_frame(0))
    (current,) = set(folder.glob("20270115*"))
    set_free_bytes(monkeypatch, 1 * GIGABYTE)
    with pytest.raises(OutputError):
        output.write(output_frame(1, arrived=CLEANUP_SECONDS + 1))
    assert current.exists()
    assert [path for path in old if path.exists()] == []
    assert [path.name for path in others if not path.exists()] == []
    assert (folder / "20270101T080000000Z.mp4").is_dir()
    output.close()


def test_the_open_segment_is_kept_although_it_is_too_old(tmp_path: Path) -> None:
    output = recorder(tmp_path, keep_days=0.001, segment_seconds=86_400)
    output.write(output_frame(0))
    later = output_frame(1, wall=WALL + 200, arrived=200.0)
    assert output.write(later)
    (path,) = (tmp_path / "r").iterdir()
    output.close()
    assert path.stat().st_size > 0


def test_the_folder_of_another_output_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "s" / "20270101T080000000Z.mp4"
    other.parent.mkdir()
    other.touch()
    set_free_bytes(monkeypatch, 1)
    with pytest.raises(OutputError):
        recorder(tmp_path, keep_free_gb=5).write(output_frame(0))
    assert other.exists()


def test_a_segment_whose_first_frame_fails_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: VideoEncoder, frame: OutputFrame) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(VideoEncoder, "write", fail)
    output = recorder(tmp_path)
    with pytest.raises(OSError, match="No space left"):
        output.write(output_frame(0))
    output.close()
    assert list((tmp_path / "r").iterdir()) == []
