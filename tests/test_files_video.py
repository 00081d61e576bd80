"""Enhancing videos: what is kept, what is rejected, and damaged files."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from lumaflow.errors import LumaflowError
from lumaflow.formats import Color, Matrix, PixelFormat, Range
from lumaflow.frame import Frame
from lumaflow.options import Equalization, Mode, Options, Orientation
from lumaflow_service.files import video
from lumaflow_service.files.encoding import VideoFormat
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.features import open_features, with_features
from lumaflow_service.files.file_result import FileResult
from lumaflow_service.files.run_lane import LaneJob, run_lane
from lumaflow_service.files.video import enhance_video, extract_video_features
from lumaflow_service.files.video_reader import VideoReader, open_video
from lumaflow_service.media.convert import plane_arrays
from make_video import SIZE, make_video, psnr, read_video

ROTATE_90_MATRIX = (0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30)


def enhance(source: Path, target: Path, **job: Any) -> FileResult:
    return enhance_video(source, target, LaneJob(**job), lambda expected: None)


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".m4v"])
def test_every_pts_is_kept_exactly_also_at_a_variable_rate(tmp_path: Path, suffix: str) -> None:
    pts = [4000, 5024, 5200, 9000, 9024, 12_000, 12_001, 13_000, 14_000, 20_000, 21_000, 22_024]
    source = make_video(tmp_path / "in.mp4", pts=pts, container_options={"movie_timescale": "12800"})
    outcome = enhance(source, tmp_path / f"out{suffix}")
    assert outcome.frames == 12
    assert read_video(outcome.target).times == [Fraction(n, 12_800) for n in pts]


@pytest.mark.parametrize("suffix", [".mkv", ".webm"])
def test_matroska_keeps_times_to_its_millisecond(tmp_path: Path, suffix: str) -> None:
    source = make_video(tmp_path / "in.mp4")
    times = read_video(enhance(source, tmp_path / f"out{suffix}").target).times
    wanted = read_video(source).times
    assert len(times) == len(wanted)
    assert max(abs(a - b) for a, b in zip(times, wanted, strict=True)) <= Fraction(1, 2000)


@pytest.mark.parametrize(("source", "audio", "target"), [("mp4", "aac", "mp4"), ("mkv", "libopus", "webm")])
def test_audio_packets_are_copied_unchanged(tmp_path: Path, source: str, audio: str, target: str) -> None:
    film = make_video(tmp_path / f"in.{source}", audio=audio)
    enhance(film, tmp_path / f"out.{target}")
    assert read_video(tmp_path / f"out.{target}").copied_packets == read_video(film).copied_packets
    assert len(read_video(film).copied_packets[0]) > 20


def test_audio_that_the_container_cannot_hold_is_rejected_with_advice(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4", audio="aac")
    with pytest.raises(UsageError, match=r"aac.*\.mkv"):
        enhance(film, tmp_path / "out.webm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


@pytest.mark.parametrize("tags", [(6, 1, 6, 6), (1, 1, 1, 1), (6, 2, 6, 6), (9, 1, 9, 18)])
def test_colour_tags_are_kept(tmp_path: Path, tags: tuple[int, int, int, int]) -> None:
    film = make_video(tmp_path / "in.mp4", tags=tags)
    enhance(film, tmp_path / "out.mp4")
    assert read_video(film).tags == tags
    assert read_video(tmp_path / "out.mp4").tags == tags


@pytest.mark.parametrize("matrix", [ROTATE_90_MATRIX, (0, 65536, 0, 65536, 0, 0, 0, 0, 1 << 30)])
def test_rotation_and_mirroring_are_kept(tmp_path: Path, matrix: tuple[int, ...]) -> None:
    film = make_video(tmp_path / "in.mp4", matrix=matrix)
    enhance(film, tmp_path / "out.mp4")
    before, after = read_video(film), read_video(tmp_path / "out.mp4")
    assert before.rotation == -90
    assert after.rotation == -90
    assert after.matrix == before.matrix


def test_the_sample_aspect_ratio_is_kept(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4", aspect=Fraction(4, 3))
    enhance(film, tmp_path / "out.mp4")
    assert read_video(tmp_path / "out.mp4").aspect == Fraction(4, 3)


def test_interlacing_is_kept(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4", options={"x264-params": "tff=1"})
    enhance(film, tmp_path / "out.mp4")
    assert read_video(film).interlaced
    assert read_video(tmp_path / "out.mp4").interlaced


def planes(path: Path) -> list[tuple[NDArray[Any], ...]]:
    """All planes of every frame of a video."""
    with av.open(str(path)) as container:
        return [plane_arrays(frame) for frame in container.decode(video=0)]


@pytest.fixture
def lossless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encode .mkv losslessly."""
    lossless = VideoFormat("matroska", "libx264", {"qp": "0"})
    monkeypatch.setattr(video, "video_format_of", lambda target, encoding: lossless)


@pytest.mark.parametrize("range_", [1, 2])
@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le"])
@pytest.mark.usefixtures("lossless")
def test_luma_is_the_result_of_a_lane_and_chroma_is_bit_identical(
    tmp_path: Path, pixel_format: str, range_: int
) -> None:
    tags = (6, range_, 6, 6)
    film = make_video(tmp_path / "in.mkv", codec="ffv1", pixel_format=pixel_format, tags=tags, frames=4)
    job = LaneJob(options=Options(equalization=Equalization(Mode.EQUALIZE)))
    outcome = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None)
    assert read_video(outcome.target).pixel_format.replace("yuvj", "yuv") == pixel_format
    assert outcome.warnings == []
    gray = PixelFormat.GRAY10 if "10" in pixel_format else PixelFormat.GRAY8
    color = Color(Range.FULL if range_ == 2 else Range.LIMITED)
    raw = planes(film)
    wanted = run_lane([Frame(one[0], gray, color=color) for one in raw], job)
    for before, after, (_, result) in zip(raw, planes(outcome.target), wanted, strict=True):
        assert np.array_equal(after[0], result.frame.pixels)
        assert not np.array_equal(after[0], before[0])
        assert np.array_equal(after[1], before[1])
        assert np.array_equal(after[2], before[2])
        if range_ == 1:
            scale = 4 if "10" in pixel_format else 1
            assert 16 * scale <= after[0].min() <= after[0].max() <= 235 * scale


@pytest.mark.parametrize(
    ("pixel_format", "lane_format"), [("yuv420p", PixelFormat.NV12), ("yuv420p10le", PixelFormat.P010)]
)
@pytest.mark.usefixtures("lossless")
def test_an_adaptive_mode_enhances_the_colours_too(
    tmp_path: Path, pixel_format: str, lane_format: PixelFormat
) -> None:
    film = make_video(tmp_path / "in.mkv", codec="ffv1", pixel_format=pixel_format, frames=4)
    job = LaneJob(options=Options(equalization=Equalization(Mode.LOWLIGHT)))
    outcome = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None)
    shift, color = (6, 0)["10" not in pixel_format], Color(Range.LIMITED, Matrix.BT601)
    raw = [[plane << shift for plane in one] for one in planes(film)]
    frames = [Frame(y, lane_format, color=color, chroma=(np.dstack((cb, cr)),)) for y, cb, cr in raw]
    for before, after, (_, result) in zip(raw, planes(outcome.target), run_lane(frames, job), strict=True):
        (chroma,) = result.frame.chroma
        for stored, wanted in zip(after, (result.frame.pixels, *np.moveaxis(chroma, 2, 0)), strict=True):
            assert np.array_equal(stored, wanted >> shift)
        assert saturation(after, shift) > 1.3 * saturation([plane >> shift for plane in before], shift)


def saturation(ycbcr: Sequence[NDArray[Any]], shift: int) -> float:
    neutral = 512 if shift else 128
    return float(sum(np.abs(plane.astype(int) - neutral).mean() for plane in ycbcr[1:]))


@pytest.mark.parametrize("pixel_format", ["yuv422p", "yuv444p", "yuv422p10le", "yuv444p10le"])
@pytest.mark.usefixtures("lossless")
def test_an_adaptive_mode_that_changes_nothing_keeps_every_chroma_format(
    tmp_path: Path, pixel_format: str
) -> None:
    film = make_video(tmp_path / "in.mkv", codec="ffv1", pixel_format=pixel_format, frames=2)
    job = LaneJob(options=Options(equalization=Equalization(Mode.LOWLIGHT, strength=0)))
    outcome = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None)
    assert outcome.warnings == []
    assert read_video(outcome.target).pixel_format == pixel_format
    assert psnr(read_video(film).frames[1], read_video(outcome.target).frames[1]) > 38


@pytest.mark.usefixtures("lossless")
def test_gray_video_gets_neutral_chroma(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mkv", codec="ffv1", pixel_format="gray10le", frames=3)
    job = LaneJob(options=Options(equalization=Equalization(Mode.IDENTITY)))
    outcome = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None)
    for (luma,), (after, *chroma) in zip(planes(film), planes(outcome.target), strict=True):
        assert np.array_equal(luma, after)
        assert {level for plane in chroma for level in np.unique(plane)} == {512}


REORIENT = {
    Orientation.NONE: lambda plane: plane,
    Orientation.TRANSPOSE: lambda plane: plane.T,
    Orientation.ROTATE90: lambda plane: np.rot90(plane, -1),
    Orientation.ROTATE180: lambda plane: np.rot90(plane, 2),
    Orientation.ROTATE270: lambda plane: np.rot90(plane),
    Orientation.FLIP_X: np.fliplr,
    Orientation.FLIP_Y: np.flipud,
}


@pytest.mark.parametrize("orientation", list(Orientation))
@pytest.mark.usefixtures("lossless")
def test_an_orientation_is_applied_once_and_overrides_the_display_matrix(
    tmp_path: Path, orientation: Orientation
) -> None:
    film = make_video(tmp_path / "in.mp4", matrix=ROTATE_90_MATRIX, aspect=Fraction(4, 3), frames=3)
    options = Options(equalization=Equalization(Mode.IDENTITY))
    outcome = enhance(film, tmp_path / "out.mkv", options=options, orientation=orientation)
    made = read_video(outcome.target)
    assert (made.rotation, made.matrix) == (0, None)
    assert made.size == (SIZE[::-1] if orientation.swaps_sides else SIZE) == (outcome.width, outcome.height)
    assert made.aspect == (Fraction(3, 4) if orientation.swaps_sides else Fraction(4, 3))
    for before, after in zip(planes(film), planes(outcome.target), strict=True):
        for stored, shown in zip(before, after, strict=True):
            assert np.array_equal(REORIENT[orientation](stored), shown)


def test_rotated_422_becomes_444(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mkv", pixel_format="yuv422p10le", frames=3)
    outcome = enhance(film, tmp_path / "out.mp4", orientation=Orientation.ROTATE90)
    made = read_video(outcome.target)
    assert (made.pixel_format, made.size) == ("yuv444p10le", SIZE[::-1])
    assert outcome.warnings == ["its 4:2:2 chroma is rotated; it is stored as 4:4:4"]


@pytest.mark.parametrize("size", [(97, 65), (96, 65)])
def test_side_by_side_of_an_odd_size(tmp_path: Path, size: tuple[int, int]) -> None:
    film = make_video(tmp_path / "in.webm", size=size, codec="libvpx-vp9", frames=3)
    for suffix in (".mp4", ".webm"):
        made = read_video(enhance(film, tmp_path / f"out{suffix}", side_by_side=True).target)
        assert made.size == (2 * size[0], size[1])
        left = made.frames[1][:, : size[0]]
        assert psnr(left, read_video(film).frames[1]) > 30


@pytest.mark.parametrize(
    ("size", "suffix", "stored"),
    [((97, 65), ".mp4", "yuv444p"), ((97, 65), ".webm", "yuv420p"), ((96, 65), ".mkv", "yuv444p")],
)
def test_odd_sizes_keep_their_size(tmp_path: Path, size: tuple[int, int], suffix: str, stored: str) -> None:
    film = make_video(tmp_path / "in.webm", size=size, codec="libvpx-vp9", frames=4)
    outcome = enhance(film, tmp_path / f"out{suffix}")
    made = read_video(outcome.target)
    assert made.size == size
    assert made.pixel_format == stored
    assert any("size is odd" in warning for warning in outcome.warnings) is (stored == "yuv444p")


@pytest.mark.parametrize(
    ("codec", "pixel_format", "suffix", "stored", "warnings"),
    [
        ("libx264", "yuv422p", ".mp4", "yuv422p", []),
        ("libx264", "gray", ".mp4", "yuv420p", []),
        ("libx264", "nv12", ".mp4", "yuv420p", []),
        ("libx264", "yuv422p10le", ".mov", "yuv422p10le", []),
        ("libx265", "yuv420p10le", ".mp4", "yuv420p10le", []),
        ("ffv1", "yuv444p12le", ".mkv", "yuv444p10le", ["12-bit video is stored with 10 bits"]),
        ("libx264", "yuv420p10le", ".webm", "yuv420p", ["10-bit video is stored with 8 bits"]),
    ],
)
def test_depth_and_chroma_are_kept_where_the_encoder_can(
    tmp_path: Path, codec: str, pixel_format: str, suffix: str, stored: str, warnings: list[str]
) -> None:
    options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    film = make_video(tmp_path / "in.mkv", codec=codec, pixel_format=pixel_format, frames=4, options=options)
    outcome = enhance(film, tmp_path / f"out{suffix}")
    assert read_video(outcome.target).pixel_format.replace("yuvj", "yuv") == stored
    assert outcome.warnings == warnings


@pytest.mark.parametrize("name", ["car_h264_422_10.mp4", "car_hevc_main10.mp4", "am_hlg10_chart.mp4"])
def test_10_bit_videos_keep_depth_chroma_and_tags(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    all_frames = VideoReader.frames
    monkeypatch.setattr(
        VideoReader, "frames", lambda reader, on_packet: islice(all_frames(reader, on_packet), 3)
    )
    source = shared_data / "videos" / name
    outcome = enhance(source, tmp_path / "out.mp4")
    assert not any("bits" in warning or "4:4:4" in warning for warning in outcome.warnings)
    before, after = (first_frame(path) for path in (source, outcome.target))
    assert after.format.name == before.format.name
    for tag in ("colorspace", "color_range", "color_primaries", "color_trc"):
        assert getattr(after, tag) == getattr(before, tag)


def first_frame(path: Path) -> VideoFrame:
    with av.open(str(path)) as container:
        return next(container.decode(video=0))


def test_rgb_video_becomes_tagged_yuv(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mkv", codec="ffv1", pixel_format="bgr0", tags=(0, 2, 1, 1), frames=3)
    enhance(film, tmp_path / "out.mp4")
    made = read_video(tmp_path / "out.mp4")
    assert made.tags[:2] == (6, 1)
    assert made.pixel_format == "yuv420p"


@pytest.mark.parametrize(("matrix", "turns"), [(None, 0), (ROTATE_90_MATRIX, 1)])
def test_side_by_side_is_raw_left_as_displayed(
    tmp_path: Path, matrix: tuple[int, ...] | None, turns: int
) -> None:
    film = make_video(tmp_path / "in.mp4", matrix=matrix)
    enhance(film, tmp_path / "out.mp4", side_by_side=True)
    shown = np.rot90(read_video(tmp_path / "out.mp4").frames[3], -turns)
    raw = np.rot90(read_video(film).frames[3], -turns)
    left, right = np.split(shown, 2, axis=1)
    assert psnr(left, raw) > 35
    assert right.mean() > 1.3 * raw.mean()


def test_features_of_every_frame_are_written_to_npz(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4")
    job = LaneJob(options=with_features(Options()))
    with open_features(tmp_path / "out.npz") as features:
        enhance_video(film, tmp_path / "out.mp4", job, lambda expected: None, features)
    with open_features(tmp_path / "only.npz") as features:
        assert extract_video_features(film, job, lambda expected: None, features) == 12
    with np.load(tmp_path / "out.npz") as npz, np.load(tmp_path / "only.npz") as only:
        assert sorted(npz.files) == sorted(only.files)
        assert np.array_equal(npz["pts"], np.arange(12) * 1024)
        assert npz["time_base"].tolist() == [1, 12_800]
        assert npz["bins"].sum(axis=1).tolist() == [SIZE[0] * SIZE[1]] * 12
        assert npz["sizes"].tolist() == [list(SIZE)] * 12
        assert npz["hog/000011"].shape == (7, 11, 36)
        assert np.array_equal(npz["lbp/000007"], only["lbp/000007"])


def test_the_callback_is_called_for_every_frame(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4")
    steps: list[int | None] = []
    enhance_video(film, tmp_path / "out.mp4", LaneJob(), steps.append)
    assert steps == [12] * 12


# Damaged files


def test_a_truncated_video_gives_its_frames(tmp_path: Path) -> None:
    whole = make_video(tmp_path / "in.mp4", frames=40, container_options={"movflags": "+faststart"})
    data = whole.read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(data[: data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2])
    outcome = enhance(cut, tmp_path / "out.mp4")
    assert 5 < outcome.frames < 35
    assert any("truncated after" in warning and "of 3.2 s" in warning for warning in outcome.warnings)
    assert len(read_video(outcome.target).times) == outcome.frames


def test_damaged_packets_are_counted_and_the_rest_is_enhanced(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4", frames=30)
    data = bytearray(film.read_bytes())
    with av.open(str(film)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    data[places[11] : places[11] + 4] = b"\xff\xff\xff\xff"
    film.write_bytes(data)
    outcome = enhance(film, tmp_path / "out.mp4")
    assert outcome.frames >= 24
    assert any("damaged packets" in warning for warning in outcome.warnings)


def test_frames_that_the_decoder_reports_as_corrupt_are_marked(tmp_path: Path, shared_data: Path) -> None:
    with open_video(shared_data / "videos" / "car_ts_packet_loss.ts") as film:
        corrupt = sum(frame.corrupt for frame in film.frames(lambda packet: None))
        assert corrupt == film.corrupt > 0


def test_a_change_of_size_is_scaled_to_the_first_with_a_warning(tmp_path: Path) -> None:
    parts = [
        make_video(tmp_path / f"{n}.ts", size=size, frames=6, pts=[1024 * (6 * n + k) for k in range(6)])
        for n, size in enumerate([SIZE, (64, 48)])
    ]
    film = tmp_path / "in.ts"
    film.write_bytes(b"".join(part.read_bytes() for part in parts))
    outcome = enhance(film, tmp_path / "out.mp4")
    made = read_video(outcome.target)
    assert outcome.frames == len(made.times) == 12
    assert made.size == SIZE
    assert any("changes to 64x48" in warning for warning in outcome.warnings)


def test_missing_or_decreasing_pts_are_replaced(tmp_path: Path) -> None:
    raw = make_video(tmp_path / "in.h264", container="h264")
    outcome = enhance(raw, tmp_path / "out.mp4")
    times = read_video(outcome.target).times
    assert len(times) == 12
    assert times == sorted(set(times))
    assert any("without a usable pts" in warning for warning in outcome.warnings)


@pytest.mark.parametrize(("data", "why"), [(bytes(5000), "neither"), (b"<html>" * 99, "neither|no frame")])
def test_a_file_that_is_not_a_video_is_rejected_without_output(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "in.mp4").write_bytes(data)
    with pytest.raises(UsageError, match=why):
        enhance(tmp_path / "in.mp4", tmp_path / "out.mp4")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


def test_a_video_without_a_decodable_frame_is_rejected(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4", frames=3)
    data = bytearray(film.read_bytes())
    start = data.index(b"mdat") + 4
    with av.open(str(film)) as container:
        end = max(packet.pos + packet.size for packet in container.demux(video=0) if packet.size)
    data[start:end] = bytes(end - start)
    film.write_bytes(data)
    with pytest.raises(BadFileError, match="no frame"):
        enhance(film, tmp_path / "out.mp4")


def test_an_unsupported_output_suffix_is_rejected_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.mp4, \.m4v, \.mov, \.mkv, \.webm"):
        enhance(tmp_path / "missing.mp4", tmp_path / "out.gif")


def test_an_interrupt_leaves_no_output(tmp_path: Path) -> None:
    def stop(expected: int | None) -> None:
        raise KeyboardInterrupt

    film = make_video(tmp_path / "in.mp4")
    with pytest.raises(KeyboardInterrupt):
        enhance_video(film, tmp_path / "out.mp4", LaneJob(), stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4"]


# Real files


def test_the_car_keeps_its_frames_times_and_audio(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "videos" / "intel_car_768x432_h264_aac.mp4"
    outcome = enhance(source, tmp_path / "out.mp4")
    before, after = read_video(source), read_video(outcome.target)
    assert outcome.frames == len(after.times) == 163
    assert after.times == before.times
    assert after.copied_packets == before.copied_packets
    assert after.tags == before.tags
    assert outcome.warnings == []


def test_every_video_is_enhanced_or_rejected_with_a_reason(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_frames = VideoReader.frames

    def first_frames(reader: VideoReader, on_packet: Any) -> Iterator[Frame]:
        return islice(all_frames(reader, on_packet), 4)

    monkeypatch.setattr(VideoReader, "frames", first_frames)
    rejected = set()
    for source in sorted((shared_data / "videos").iterdir()):
        try:
            outcome = enhance(source, tmp_path / "out.mp4", force=True)
        except LumaflowError:
            rejected.add(source.name)
        else:
            made = read_video(outcome.target)
            assert len(made.times) == outcome.frames > 0
            assert made.size == (outcome.width, outcome.height)
            assert made.rotation == content_rotation(source)
    assert rejected == {"am_audio_only.mp4", "am_vp9_invalid.webm", "empty.mp4", "random_bytes.mp4"}


def content_rotation(path: Path) -> int:
    with av.open(str(path)) as container:
        return next(container.decode(video=0)).rotation
