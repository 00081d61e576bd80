"""Audio formats and packets that are copied from a camera to its outputs."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import av
from av.audio.stream import AudioStream
from av.packet import Packet

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket


@contextmanager
def audio_stream(codec: str, rate: int) -> Iterator[AudioStream]:
    """An audio stream of a container that is closed afterwards."""
    with av.open(io.BytesIO(), "w", format="nut") as container:
        stream = container.add_stream(codec, rate=rate)
        assert isinstance(stream, AudioStream)
        yield stream


def audio_format(codec: str = "pcm_alaw", rate: int = 8000) -> AudioFormat:
    """The format of a stream that is already closed."""
    with audio_stream(codec, rate) as stream:
        return AudioFormat(stream)


def packet(pts: int | None) -> Packet:
    """A packet of 20 ms at 8 kHz."""
    made = Packet(b"audio")
    made.pts, made.time_base, made.duration = pts, Fraction(1, 8000), 160
    return made


def test_formats_of_equal_parameters_are_equal() -> None:
    assert audio_format() == audio_format()
    assert hash(audio_format()) == hash(audio_format())
    assert audio_format() != audio_format(rate=16_000)
    assert audio_format() != audio_format("pcm_mulaw")
    assert audio_format() != "pcm_alaw"


def test_a_format_outlives_its_connection() -> None:
    copied = audio_format()
    with av.open(io.BytesIO(), "w", format="mov") as container:
        stream = copied.add_to(container)
        assert stream is not None
        assert (stream.codec_context.name, stream.codec_context.rate) == ("pcm_alaw", 8000)


def test_a_container_that_cannot_hold_a_format_gets_no_stream() -> None:
    with av.open(io.BytesIO(), "w", format="mp4") as container:
        assert audio_format().add_to(container) is None


def test_the_time_of_a_packet_is_shifted_by_the_offset() -> None:
    format_ = audio_format()
    copied = AudioPacket.of(format_, packet(4000), Fraction(3, 2))
    assert copied == AudioPacket(format_, b"audio", Fraction(2), Fraction(1, 8000), 160)


def test_a_packet_without_a_time_is_left_out() -> None:
    assert AudioPacket.of(audio_format(), packet(None), Fraction(0)) is None
