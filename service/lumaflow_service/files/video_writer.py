"""Writing of a video file: enhanced frames are encoded, other streams are copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import lcm
from pathlib import Path

import av
from av.codec.context import Flags
from av.container import OutputContainer
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from lumaflow_service.files.encoding import VideoFormat
from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.frame_planes import BGR, FramePlanes
from lumaflow_service.files.video_reader import VideoReader
from lumaflow_service.files.worker_threads import WriterThread
from lumaflow_service.media.pixel_format import TEN_BIT, chroma_subsampling, encoder_format, planar_yuv
from lumaflow_service.media.video.reader import AnyPacket
from lumaflow_service.media.video.writer import DEFAULT_RATE, add_copied_stream, add_video_stream

WRITE_BEHIND = 8
"""Frames and packets that wait for the encoder at most."""


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
        with WriterThread(WRITE_BEHIND) as thread:
            writer = VideoWriter(container, thread, video_format, reader, size)
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
    bits = 10 if min(reader.bits, video_format.bits) > 8 and reader.pixel_format != BGR else 8
    is_444 = reader.orientation.swaps_sides and reader.pixel_format.startswith("yuv444p")
    subsampling = (1, 1) if is_444 else chroma_subsampling(reader.first)
    size = reader.first.width, reader.first.height
    wanted = encoder_format(subsampling, size, bits, video_format.even_only)
    available = [one.name for one in av.Codec(video_format.encoder, "w").video_formats or ()]
    candidates = (wanted, planar_yuv((2, 2), bits), "p010le")
    return next((name for name in candidates if name in available), "yuv420p")


class VideoWriter:
    """An open output, written on `thread`. `left_out` names the subtitles that the container cannot hold."""

    def __init__(
        self,
        container: OutputContainer,
        thread: WriterThread,
        video_format: VideoFormat,
        reader: VideoReader,
        size: tuple[int, int],
    ) -> None:
        self.size = size
        self.left_out: list[str] = []
        self.encoder = video_format.encoder
        self.pixel_format = _output_format(reader, video_format)
        self._container, self._thread = container, thread
        self._tags, self._time_base = reader.tags, reader.time_base
        self._video = self._add_video(video_format, reader)
        self._copies = dict(self._add_copies(reader))
        container.metadata.update(reader.container.metadata)
        container.set_chapters(reader.container.chapters())

    @property
    def bits(self) -> int:
        """Bits of a sample."""
        return 10 if self.pixel_format.endswith(TEN_BIT) else 8

    def write(self, planes: FramePlanes, pts: int, duration: int) -> None:
        """Copy one frame, to be encoded behind. `pts` and `duration` are in the reader's `time_base`."""
        frame = planes.to_video_frame(self._tags, self.pixel_format, self.size)
        frame.pts, frame.time_base, frame.duration = pts, self._time_base, duration
        self._thread.submit(self._encode, frame)

    def copy(self, packet: AnyPacket) -> None:
        """Write a packet of a copied stream; ignore one of a stream that is left out."""
        stream = self._copies.get(packet.stream.index)
        if stream is not None:
            packet.stream = stream
            self._thread.submit(self._container.mux_one, packet)

    def flush(self) -> None:
        """Write the frames that the encoder still holds."""
        self._thread.submit(self._encode, None)

    def _encode(self, frame: VideoFrame | None) -> None:
        self._container.mux(self._video.encode(frame))

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
