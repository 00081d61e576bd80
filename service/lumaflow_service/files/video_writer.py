"""The writing side of a video: enhanced frames encoded, everything else copied."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path

import av
from av.codec.context import Flags
from av.container import OutputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.picture import RGB, MediaPicture
from lumaflow_service.files.video_reader import AnyPacket, VideoReader
from lumaflow_service.media.color import stored_as

_X264 = {"crf": "18", "preset": "fast"}
_VP9 = {"crf": "28", "b": "0", "deadline": "good", "cpu-used": "5", "row-mt": "1"}


@dataclass(frozen=True, slots=True)
class VideoFormat:
    """How a video is stored: the container by the file's suffix, and the encoder in it, of so many bits."""

    container: str
    codec: str
    options: dict[str, str]
    even_only: bool = True
    bits: int = 10


SHAPES = {
    ".mp4": VideoFormat("mp4", "libx264", _X264),
    ".m4v": VideoFormat("mp4", "libx264", _X264),
    ".mov": VideoFormat("mov", "libx264", _X264),
    ".mkv": VideoFormat("matroska", "libx264", _X264),
    ".webm": VideoFormat("webm", "libvpx-vp9", _VP9, even_only=False, bits=8),
}


def shape_of(target: Path) -> VideoFormat:
    """How `target` is stored. Raises UsageError for a suffix that cannot be written."""
    try:
        return SHAPES[target.suffix.lower()]
    except KeyError:
        raise UsageError(f"{target} cannot be written as a video; give one of {', '.join(SHAPES)}") from None


@contextmanager
def open_recording(
    part: Path, shape: VideoFormat, film: VideoReader, size: tuple[int, int]
) -> Iterator["VideoWriter"]:
    """Start writing a video like `film`, of `size` (width, height), to `part`.

    Raises UsageError when the container cannot hold an audio stream of the film as it is.
    """
    container = av.open(
        str(part.resolve()), "w", format=shape.container, container_options=_exact_times(shape, film)
    )
    try:
        recording = VideoWriter(container, shape, film, size)
        yield recording
        recording.finish()
    finally:
        container.close()


def _exact_times(shape: VideoFormat, film: VideoReader) -> dict[str, str]:
    """Options by which the container keeps the start of every stream to the tick."""
    if shape.container in ("matroska", "webm"):
        # Otherwise all times are shifted until the first dts is positive.
        return {"avoid_negative_ts": "disabled"}
    # An edit list counts in movie time, of 1/1000 s unless told otherwise.
    bases = (stream.time_base for stream in (film.video, *film.passengers))
    ticks = lcm(*(base.denominator for base in bases if base))
    return {"movie_timescale": str(ticks)} if ticks < 1 << 31 else {}


def _encoding(shape: VideoFormat, film: VideoReader) -> dict[str, str]:
    """The encoder's options; x264 also keeps the fields of interlaced video."""
    if film.interlaced and shape.codec == "libx264":
        return {**shape.options, "x264-params": f"{film.interlaced}=1"}
    return shape.options


def encoded_as(film: VideoReader, shape: VideoFormat) -> str:
    """The pixel format to encode in: as deep and with such chroma as the film's where the encoder can."""
    whole = film.turn.swaps_sides and film.format.startswith("yuv444p")
    name = "yuv444p" if whole else stored_as(film.first, shape.even_only)
    deep = min(film.bits, shape.bits) > 8 and film.format != RGB
    return f"{name}10le" if deep else name


class VideoWriter:
    """An open output. `without` names the subtitles that the container cannot hold."""

    def __init__(
        self, container: OutputContainer, shape: VideoFormat, film: VideoReader, size: tuple[int, int]
    ) -> None:
        self.size = size
        self.without: list[str] = []
        self.pixel_format = encoded_as(film, shape)
        self._container, self._color, self._time_base = container, film.color, film.time_base
        self._video = self._add_video(shape, film)
        self._copies = dict(self._add_copies(film))
        container.metadata.update(film.container.metadata)
        container.set_chapters(film.container.chapters())

    @property
    def bits(self) -> int:
        """Bits of a sample."""
        return 10 if self.pixel_format.endswith("10le") else 8

    def write(self, picture: MediaPicture, pts: int, duration: int) -> None:
        """Encode one picture."""
        frame = picture.to_video(self._color, self.pixel_format, self.size)
        frame.pts, frame.time_base, frame.duration = pts, self._time_base, duration
        self._container.mux(self._video.encode(frame))

    def copy(self, packet: AnyPacket) -> None:
        """Pass on a packet of a copied stream; one of another stream is left out."""
        stream = self._copies.get(packet.stream.index)
        if stream is not None:
            packet.stream = stream
            self._container.mux_one(packet)

    def finish(self) -> None:
        """Write what the encoder still holds."""
        self._container.mux(self._video.encode(None))

    def _add_video(self, shape: VideoFormat, film: VideoReader) -> VideoStream:
        rate = film.video.average_rate or film.video.guessed_rate or Fraction(25)
        video = self._container.add_stream(shape.codec, rate=rate, options=_encoding(shape, film))
        assert isinstance(video, VideoStream)
        context = video.codec_context
        video.width, video.height = self.size
        video.pix_fmt = self.pixel_format
        video.time_base = context.time_base = film.time_base
        if film.sample_aspect_ratio:
            context.sample_aspect_ratio = film.sample_aspect_ratio
        context.flags |= Flags.frame_duration
        film.color.tag(context)
        video.metadata.update(film.video.metadata)
        video.disposition = film.video.disposition
        if film.display_matrix:
            video.set_display_matrix(film.display_matrix)
        return video

    def _add_copies(self, film: VideoReader) -> Iterator[tuple[int, Stream]]:
        """(index in the film, stream here) of every passenger that the container can hold."""
        for source in film.passengers:
            try:
                copy = self._container.add_stream_from_template(source)
            except ValueError as error:
                if source.type == "audio":
                    raise UsageError(
                        f"{error}; write a .mkv file, which holds every kind of audio"
                    ) from error
                self.without.append(f"{source.codec_context.name} subtitles")
                continue
            copy.metadata.update(source.metadata)
            copy.disposition = source.disposition
            yield source.index, copy
