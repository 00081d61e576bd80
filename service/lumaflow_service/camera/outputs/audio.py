"""Audio of a camera, copied without re-encoding: its format and its packets."""

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
    """Codec and parameters of an audio stream. Packets of equal formats can follow each other in one file.

    The parameters are copied into an unused container: those of the stream are freed with its connection.
    """

    def __init__(self, stream: AudioStream) -> None:
        self._container = av.open(BytesIO(), "w", format="nut")
        self._template = self._container.add_stream_from_template(stream)
        context = stream.codec_context
        self.codec = context.name
        self._parameters = self.codec, context.rate, context.layout.name, context.extradata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AudioFormat) and self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash(self._parameters)

    def add_to(self, container: OutputContainer) -> AudioStream | None:
        """Add a stream of this format; return None when the container does not support it."""
        return add_copied_stream(container, self._template)


@dataclass(frozen=True, slots=True)
class AudioPacket:
    """One audio packet; `seconds` is its time on the timeline of the frames."""

    format: AudioFormat
    data: bytes
    seconds: Fraction
    time_base: Fraction
    duration: int

    @classmethod
    def of(cls, format_: AudioFormat, packet: AnyPacket, offset: Fraction) -> AudioPacket | None:
        """Copy a packet and add `offset` seconds to its time; return None for a packet without a time."""
        if packet.pts is None or packet.time_base is None:
            return None
        seconds = packet.pts * packet.time_base + offset
        return cls(format_, bytes(packet), seconds, packet.time_base, packet.duration or 0)
