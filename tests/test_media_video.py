"""Streams of a container: the main video stream decoded, video streams added, other streams copied."""

import io
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import pytest
from av.stream import Disposition

from lumaflow_service.media.color import ColorTags
from lumaflow_service.media.pixel_format import encoder_format, planar_yuv
from lumaflow_service.media.video.reader import VideoDecoder, main_video_stream, stream_types
from lumaflow_service.media.video.writer import add_copied_stream, add_video_stream
from make_video import make_audio, make_video

TAGS = ColorTags(6, 1, 6, 6, 64)


def test_every_frame_is_decoded(tmp_path: Path) -> None:
    with av.open(str(make_video(tmp_path / "a.mp4", frames=7))) as container:
        decoder = VideoDecoder(container)
        packets = list(container.demux(decoder.stream))
        assert sum(len(decoder.decode(packet)) for packet in packets) == 7
        assert decoder.decode(None) == []
        assert decoder.damaged == 0


def test_a_damaged_packet_is_counted_and_the_next_key_frame_decodes(tmp_path: Path) -> None:
    with av.open(str(make_video(tmp_path / "a.mp4", frames=12))) as container:
        decoder = VideoDecoder(container)
        damaged = av.Packet(b"\xff" * 100)
        with pytest.raises(av.FFmpegError):
            decoder.decode(damaged)
        assert decoder.damaged == 1
        frames = [frame for packet in container.demux(decoder.stream) for frame in decoder.decode(packet)]
        assert len(frames) == 12


@pytest.mark.parametrize(("covers", "main"), [((True, False), 1), ((False, True), 0), ((True, True), 0)])
def test_cover_art_is_the_main_video_stream_only_without_another(covers: tuple[bool, ...], main: int) -> None:
    flags = {True: Disposition.attached_pic, False: Disposition(0)}
    streams = [SimpleNamespace(disposition=flags[cover]) for cover in covers]
    container: Any = SimpleNamespace(streams=SimpleNamespace(video=streams))
    assert main_video_stream(container) is streams[main]


def test_stream_types_are_named(tmp_path: Path) -> None:
    with av.open(str(make_audio(tmp_path / "a.m4a"))) as container:
        assert stream_types(container) == "audio"
    with av.open(str(make_video(tmp_path / "a.mp4", audio="aac"))) as container:
        assert stream_types(container) == "audio and video"


def test_a_video_stream_has_its_size_format_time_base_and_tags() -> None:
    base = Fraction(1, 90_000)
    with av.open(io.BytesIO(), "w", format="matroska") as container:
        stream = add_video_stream(container, "libx264", {}, (96, 64), "yuv422p", base, TAGS)
        context = stream.codec_context
        assert (stream.width, stream.height, stream.pix_fmt) == (96, 64, "yuv422p")
        assert stream.time_base == context.time_base == base
        assert (context.colorspace, context.color_range, context.color_primaries) == (6, 1, 6)


@pytest.mark.parametrize(("container", "holds"), [("matroska", True), ("mp4", True), ("webm", False)])
def test_a_stream_is_copied_only_where_the_container_holds_its_codec(
    tmp_path: Path, container: str, holds: bool
) -> None:
    with (
        av.open(str(make_audio(tmp_path / "a.m4a"))) as source,
        av.open(io.BytesIO(), "w", format=container) as target,
    ):
        copy = add_copied_stream(target, source.streams.audio[0])
        assert (copy is not None) is holds


@pytest.mark.parametrize(
    ("subsampling", "bits", "name"),
    [
        ((1, 1), 8, "yuv444p"),
        ((2, 1), 10, "yuv422p10le"),
        ((2, 2), 12, "yuv420p12le"),
        ((4, 1), 8, "yuv420p"),
    ],
)
def test_planar_formats_are_named_by_subsampling_and_depth(
    subsampling: tuple[int, int], bits: int, name: str
) -> None:
    assert planar_yuv(subsampling, bits) == name


def test_an_odd_side_is_encoded_as_444_at_every_depth() -> None:
    assert encoder_format((2, 2), (97, 64), 10) == "yuv444p10le"
    assert encoder_format((2, 1), (96, 63)) == "yuv422p"
    assert encoder_format((2, 2), (97, 63), even_only=False) == "yuv420p"
