"""Streams of an output container, encoded or copied, for files and for cameras."""

from fractions import Fraction
from typing import TypeVar

from av.container import OutputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from lumaflow_service.media.color import ColorTags

AnyStream = TypeVar("AnyStream", bound=Stream)
DEFAULT_RATE = Fraction(25)
"""A hint for encoders that need a frame rate. The times of the frames are exact without it."""


def add_video_stream(
    container: OutputContainer,
    encoder: str,
    options: dict[str, str],
    size: tuple[int, int],
    pixel_format: str,
    time_base: Fraction,
    tags: ColorTags,
    rate: Fraction = DEFAULT_RATE,
) -> VideoStream:
    """Add a stream that `encoder` fills with frames of `size` (width, height). Raises ValueError."""
    stream = container.add_stream(encoder, rate=rate, options=options)
    assert isinstance(stream, VideoStream)
    stream.width, stream.height = size
    stream.pix_fmt = pixel_format
    stream.time_base = stream.codec_context.time_base = time_base
    tags.apply_to(stream.codec_context)
    return stream


def add_copied_stream(container: OutputContainer, template: AnyStream) -> AnyStream | None:
    """Add a stream for packets copied from `template`; None when the container cannot hold its codec."""
    try:
        return container.add_stream_from_template(template)
    except ValueError:
        return None
