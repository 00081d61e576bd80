"""A camera's sound, passed through: what kind it is, kept longer than the connection it came from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO

import av
from av.audio.stream import AudioStream
from av.container import OutputContainer

from lumaflow_service.media.video.reader import AnyPacket
from lumaflow_service.media.video.writer import add_copied_stream


class AudioFormat:
    """Codec and parameters of a connection's sound; equal to another's whose packets can follow in one file.

    They are copied into a container that is never written: those of the connection end with it.
    """

    def __init__(self, stream: AudioStream) -> None:
        self._keeper = av.open(BytesIO(), "w", format="nut")
        self._template = self._keeper.add_stream_from_template(stream)
        context = stream.codec_context
        self.codec = context.name
        self._parameters = self.codec, context.rate, context.layout.name, context.extradata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AudioFormat) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self._parameters)

    def add_to(self, container: OutputContainer) -> AudioStream | None:
        """A stream for this sound; None where the container cannot hold it."""
        return add_copied_stream(container, self._template)


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """One packet of sound; `seconds` is its time on the timeline of the pictures."""

    kind: AudioFormat
    data: bytes
    seconds: Fraction
    time_base: Fraction
    duration: int

    @classmethod
    def of(cls, kind: AudioFormat, packet: AnyPacket, offset: Fraction) -> AudioPacket | None:
        """The sound in a packet; None without a time."""
        if packet.pts is None or packet.time_base is None:
            return None
        seconds = packet.pts * packet.time_base + offset
        return cls(kind, bytes(packet), seconds, packet.time_base, packet.duration or 0)
