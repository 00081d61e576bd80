"""Writing of a video file: enhanced frames are encoded, other streams are copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import lcm
from pathlib import Path

import av
from av.codec.context import Flags
from av.container import OutputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.frame_planes import BGR, FramePlanes
from lumaflow_service.files.video_reader import VideoReader
from lumaflow_service.media.pixel_format import TEN_BIT, chroma_subsampling, encoder_format
from lumaflow_service.media.video.reader import AnyPacket
from lumaflow_service.media.video.writer import DEFAULT_RATE, add_copied_stream, add_video_stream

_X264 = {"crf": "18", "preset": "fast"}
_VP9 = {"crf": "28", "b": "0", "deadline": "good", "cpu-used": "5", "row-mt": "1"}


@dataclass(frozen=True, slots=True)
class VideoFormat:
    """The container and the encoder of a file suffix. `bits`: the largest depth that is encoded."""

    container: str
    encoder: str
    options: dict[str, str]
    even_only: bool = True
    bits: int = 10


VIDEO_FORMATS = {
    ".mp4": VideoFormat("mp4", "libx264", _X264),
    ".m4v": VideoFormat("mp4", "libx264", _X264),
    ".mov": VideoFormat("mov", "libx264", _X264),
    ".mkv": VideoFormat("matroska", "libx264", _X264),
    ".webm": VideoFormat("webm", "libvpx-vp9", _VP9, even_only=False, bits=8),
}


def video_format_of(target: Path) -> VideoFormat:
    """The format of `target` by its suffix. Raises UsageError for one that cannot be written."""
    try:
        return VIDEO_FORMATS[target.suffix.lower()]
    except KeyError:
        suffixes = ", ".join(VIDEO_FORMATS)
        raise UsageError(f"{target} cannot be written as a video; give one of {suffixes}") from None


@contextmanager
def create_video(
    path: Path, video_format: VideoFormat, reader: VideoReader, size: tuple[int, int]
) -> Iterator["VideoWriter"]:
    """Write a video of `size` (width, height) to `path`, with the streams and tags of `reader`'s.

    Raises UsageError when the container cannot hold an audio stream.
    """
    options = _exact_time_options(video_format, reader)
    container = av.open(str(path.resolve()), "w", format=video_format.container, container_options=options)
    try:
        writer = VideoWriter(container, video_format, reader, size)
        yield writer
        writer.flush()
    finally:
        container.close()


def _exact_time_options(video_format: VideoFormat, reader: VideoReader) -> dict[str, str]:
    """Options by which the container keeps the start of every stream to the tick."""
    if video_format.container in ("matroska", "webm"):
        # The default shifts all times until the first dts is positive.
        return {"avoid_negative_ts": "disabled"}
    # An edit list counts in the movie timescale, 1/1000 s by default.
    bases = (stream.time_base for stream in (reader.video, *reader.copied))
    ticks = lcm(*(base.denominator for base in bases if base))
    return {"movie_timescale": str(ticks)} if ticks < 1 << 31 else {}


def _encoder_options(video_format: VideoFormat, reader: VideoReader) -> dict[str, str]:
    """The encoder's options. x264 also keeps the fields of interlaced video."""
    if reader.field_order and video_format.encoder == "libx264":
        return {**video_format.options, "x264-params": f"{reader.field_order}=1"}
    return video_format.options


def _output_format(reader: VideoReader, video_format: VideoFormat) -> str:
    """The pixel format to encode in: the depth and chroma of the input as far as the encoder has them."""
    is_high = min(reader.bits, video_format.bits) > 8 and reader.pixel_format != BGR
    is_444 = reader.orientation.swaps_sides and reader.pixel_format.startswith("yuv444p")
    subsampling = (1, 1) if is_444 else chroma_subsampling(reader.first)
    size = reader.first.width, reader.first.height
    return encoder_format(subsampling, size, 10 if is_high else 8, video_format.even_only)


class VideoWriter:
    """An open output. `left_out` names the subtitles that the container cannot hold."""

    def __init__(
        self,
        container: OutputContainer,
        video_format: VideoFormat,
        reader: VideoReader,
        size: tuple[int, int],
    ) -> None:
        self.size = size
        self.left_out: list[str] = []
        self.pixel_format = _output_format(reader, video_format)
        self._container, self._tags, self._time_base = container, reader.tags, reader.time_base
        self._video = self._add_video(video_format, reader)
        self._copies = dict(self._add_copies(reader))
        container.metadata.update(reader.container.metadata)
        container.set_chapters(reader.container.chapters())

    @property
    def bits(self) -> int:
        """Bits of a sample."""
        return 10 if self.pixel_format.endswith(TEN_BIT) else 8

    def write(self, planes: FramePlanes, pts: int, duration: int) -> None:
        """Encode one frame. `pts` and `duration` are in units of the reader's `time_base`."""
        frame = planes.to_video_frame(self._tags, self.pixel_format, self.size)
        frame.pts, frame.time_base, frame.duration = pts, self._time_base, duration
        self._container.mux(self._video.encode(frame))

    def copy(self, packet: AnyPacket) -> None:
        """Write a packet of a copied stream; ignore one of a stream that is left out."""
        stream = self._copies.get(packet.stream.index)
        if stream is not None:
            packet.stream = stream
            self._container.mux_one(packet)

    def flush(self) -> None:
        """Write the frames that the encoder still holds."""
        self._container.mux(self._video.encode(None))

    def _add_video(self, video_format: VideoFormat, reader: VideoReader) -> VideoStream:
        video = add_video_stream(
            self._container,
            video_format.encoder,
            _encoder_options(video_format, reader),
            self.size,
            self.pixel_format,
            reader.time_base,
            reader.tags,
            reader.video.average_rate or reader.video.guessed_rate or DEFAULT_RATE,
        )
        if reader.sample_aspect_ratio:
            video.codec_context.sample_aspect_ratio = reader.sample_aspect_ratio
        video.codec_context.flags |= Flags.frame_duration
        video.metadata.update(reader.video.metadata)
        video.disposition = reader.video.disposition
        if reader.display_matrix:
            video.set_display_matrix(reader.display_matrix)
        return video

    def _add_copies(self, reader: VideoReader) -> Iterator[tuple[int, Stream]]:
        """(index of the input stream, output stream) of every copied stream that the container can hold."""
        for source in reader.copied:
            codec = source.codec_context.name
            copy = add_copied_stream(self._container, source)
            if copy is not None:
                copy.metadata.update(source.metadata)
                copy.disposition = source.disposition
                yield source.index, copy
            elif source.type == "audio":
                raise UsageError(
                    f"{self._container.format.name} cannot hold {codec} audio; write a .mkv file, which can"
                )
            else:
                self.left_out.append(f"{codec} subtitles")
