"""Makes small test videos, and reads all frames and packets of a video."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

SIZE = (96, 64)
TIME_BASE = Fraction(1, 12_800)
LIMITED_601 = (6, 1, 6, 6)
"""Matrix, range, primaries, transfer."""


def dim_frame(n: int, size: tuple[int, int] = SIZE) -> NDArray[np.uint8]:
    """Return (H, W, 3) uint8 BGR: a dark ramp under a bright square that moves with `n`."""
    width, height = size
    ramp = np.add.outer(np.arange(height) % 23, np.arange(width) // 3 % 29)
    frame = np.repeat(ramp[..., None], 3, axis=2) + np.array((20, 12, 8))
    frame[8:24, (4 * n) % (width - 16) :][:, :16] = (60, 90, 130)
    return frame.astype(np.uint8)


def make_video(
    path: Path,
    frames: int = 12,
    size: tuple[int, int] = SIZE,
    *,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    container: str | None = None,
    pts: list[int] | None = None,
    audio: str | None = None,
    tags: tuple[int, int, int, int] = LIMITED_601,
    matrix: tuple[int, ...] | None = None,
    aspect: Fraction | None = None,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Write a video of `dim_frame`s at 12.5 frames per second, or at `pts` in units of TIME_BASE."""
    with av.open(str(path), "w", format=container, container_options=container_options or {}) as out:
        video = out.add_stream(codec, rate=Fraction(25, 2), options={"g": "6", **(options or {})})
        video.width, video.height = size
        video.pix_fmt = pixel_format
        video.time_base = video.codec_context.time_base = TIME_BASE
        context = video.codec_context
        context.colorspace, context.color_range, context.color_primaries, context.color_trc = tags
        if aspect:
            context.sample_aspect_ratio = aspect
        if matrix:
            video.set_display_matrix(matrix)
        audio_stream = out.add_stream(audio, rate=48_000) if audio else None
        for n in range(frames):
            frame = VideoFrame.from_ndarray(dim_frame(n, size), "bgr24").reformat(
                format=pixel_format, dst_colorspace=5, dst_color_range=tags[1]
            )
            frame.colorspace, frame.color_range, frame.color_primaries, frame.color_trc = tags
            frame.pts, frame.time_base = pts[n] if pts else 1024 * n, TIME_BASE
            out.mux(video.encode(frame))
        if audio_stream is not None:
            _encode_tone(out, audio_stream, seconds=frames / 12.5)
        out.mux(video.encode(None))
    return path


def make_audio(path: Path, seconds: float = 0.2) -> Path:
    """Write a file with audio only."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("aac", rate=48_000)
        assert isinstance(stream, av.AudioStream)
        _encode_tone(out, stream, seconds)
    return path


def _encode_tone(out: av.container.OutputContainer, stream: av.AudioStream, seconds: float) -> None:
    for start in range(0, int(48_000 * seconds), 960):
        tone = 0.2 * np.sin(np.arange(start, start + 960, dtype=np.float32) / 20)
        frame = av.AudioFrame.from_ndarray(np.float32([tone, tone]), "fltp", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, start, Fraction(1, 48_000)
        out.mux(stream.encode(frame))
    out.mux(stream.encode(None))


@dataclass(frozen=True, slots=True)
class VideoContent:
    """The decoded frames and properties of a video.

    times : in seconds
    copied_packets : (pts in seconds, bytes) of the audio and subtitle packets, by stream
    """

    times: list[Fraction]
    frames: list[NDArray[np.uint8]]
    size: tuple[int, int]
    pixel_format: str
    tags: tuple[int, int, int, int]
    rotation: int
    matrix: bytes | None
    aspect: Fraction | None
    interlaced: bool
    copied_packets: list[list[tuple[Fraction, bytes]]]


def read_video(path: Path) -> VideoContent:
    """Decode a whole video."""
    with av.open(str(path)) as container:
        video = container.streams.video[0]
        frames = []
        for packet in container.demux(video):
            try:
                frames += packet.decode()
            except av.FFmpegError:
                continue
        first = frames[0]
        matrix = first.side_data.get("DISPLAYMATRIX")
        return VideoContent(
            [frame.pts * frame.time_base for frame in frames],
            [frame.to_ndarray(format="bgr24") for frame in frames],
            (first.width, first.height),
            first.format.name,
            (first.colorspace, first.color_range, first.color_primaries, first.color_trc),
            first.rotation,
            bytes(matrix) if matrix else None,
            video.sample_aspect_ratio,
            first.interlaced_frame,
            _copied_packets(path),
        )


def _copied_packets(path: Path) -> list[list[tuple[Fraction, bytes]]]:
    with av.open(str(path)) as container:
        found = {one.index: [] for one in container.streams if one.type in ("audio", "subtitle")}
        for packet in container.demux():
            if packet.stream.index in found and packet.size:
                found[packet.stream.index].append((packet.pts * packet.time_base, bytes(packet)))
    return list(found.values())


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Peak signal-to-noise ratio in dB."""
    error = np.mean(np.square(a.astype(float) - b.astype(float)))
    return float(10 * np.log10(255**2 / max(error, 1e-9)))
