"""The encoders of `lumaflow enhance` and their options."""

from pathlib import Path

import av
import pytest

from lumaflow_service.files.encoding import CONTAINERS, Encoding, video_format_of
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.run_lane import LaneJob
from lumaflow_service.files.video import enhance_video
from make_video import make_video, psnr, read_video


@pytest.mark.parametrize("suffix", CONTAINERS)
def test_the_default_encoder_is_a_software_encoder(suffix: str) -> None:
    video_format = video_format_of(Path(f"out{suffix}"), Encoding())
    assert video_format.encoder == ("libvpx-vp9" if suffix == ".webm" else "libx264")


@pytest.mark.parametrize(
    ("encoder", "suffix", "codec"),
    [
        ("libx264", ".mp4", "h264"),
        ("libx265", ".mp4", "hevc"),
        ("libsvtav1", ".mkv", "av1"),
        ("libsvtav1", ".webm", "av1"),
        ("libvpx-vp9", ".webm", "vp9"),
    ],
)
def test_every_software_encoder_encodes_every_frame(
    tmp_path: Path, encoder: str, suffix: str, codec: str
) -> None:
    film = make_video(tmp_path / "in.mp4")
    job = LaneJob(encoding=Encoding(encoder))
    outcome = enhance_video(film, tmp_path / f"out{suffix}", job, lambda expected: None)
    with av.open(str(outcome.target)) as made:
        assert made.streams.video[0].codec_context.codec.canonical_name == codec
    assert len(read_video(outcome.target).times) == outcome.frames == 12


@pytest.mark.parametrize("encoder", ["libx264", "libx265", "libsvtav1"])
def test_a_lower_quality_number_is_a_better_picture_and_a_larger_file(tmp_path: Path, encoder: str) -> None:
    film = make_video(tmp_path / "in.mp4")
    sizes, errors = [], []
    for quality in (10, 40):
        job = LaneJob(encoding=Encoding(encoder, quality))
        made = enhance_video(film, tmp_path / f"out{quality}.mkv", job, lambda expected: None).target
        sizes.append(made.stat().st_size)
        errors.append(read_video(made).frames[6])
    best = LaneJob(encoding=Encoding(quality=1))
    wanted = read_video(enhance_video(film, tmp_path / "best.mkv", best, lambda expected: None).target)
    assert sizes[0] > sizes[1]
    assert psnr(errors[0], wanted.frames[6]) > psnr(errors[1], wanted.frames[6]) + 3


def test_the_preset_is_the_encoders_own(tmp_path: Path) -> None:
    film = make_video(tmp_path / "in.mp4")
    job = LaneJob(encoding=Encoding(preset="veryslow"))
    made = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None).target
    assert b"subme=10" in made.read_bytes()
    job = LaneJob(encoding=Encoding(preset="quick"))
    with pytest.raises(BadFileError, match="cannot be written"):
        enhance_video(film, tmp_path / "other.mkv", job, lambda expected: None)
    assert not (tmp_path / "other.mkv").exists()


def test_an_encoder_that_the_container_cannot_hold_is_rejected_with_the_possible_ones() -> None:
    with pytest.raises(UsageError, match=r"\.webm, one of libvpx-vp9, libsvtav1.*got libx264"):
        video_format_of(Path("out.webm"), Encoding("libx264"))
    with pytest.raises(UsageError, match=r"one of libx264.*got mpeg4"):
        video_format_of(Path("out.mp4"), Encoding("mpeg4"))


@pytest.mark.parametrize("pixel_format", ["yuv422p", "yuv444p"])
def test_an_encoder_of_420_alone_says_that_chroma_is_reduced(tmp_path: Path, pixel_format: str) -> None:
    film = make_video(tmp_path / "in.mkv", pixel_format=pixel_format)
    job = LaneJob(encoding=Encoding("libsvtav1"))
    outcome = enhance_video(film, tmp_path / "out.mkv", job, lambda expected: None)
    assert read_video(outcome.target).pixel_format == "yuv420p"
    assert outcome.warnings == ["libsvtav1 has no such chroma: it is stored as 4:2:0"]
