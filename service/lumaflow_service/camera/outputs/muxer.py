"""An open container with its streams: made when the first picture comes, closed after an error."""

from collections import deque

from av.container import OutputContainer

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.encoder import VideoEncoder
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.config.model import EncoderConfig

MOST_EARLY = 200
"""Packets of sound that are kept until the first picture comes, which takes longer on its way."""


class Muxer:
    """What a recorder and a publisher write through."""

    def __init__(self, how: EncoderConfig) -> None:
        self.note = ""
        self._how = how
        self._kind: AudioFormat | None = None
        self._container: OutputContainer | None = None
        self._encoding: VideoEncoder | None = None
        self._early: deque[AudioPacket] = deque(maxlen=MOST_EARLY)

    def begin(self, kind: AudioFormat | None) -> None:
        """The sound from now on."""
        self._kind = kind

    def takes(self, show: OutputFrame) -> bool:
        """Whether a picture can go into what is open."""
        return self._encoding is not None and self._encoding.fits(show, self._kind)

    def open(self, container: OutputContainer, show: OutputFrame) -> None:
        """Make the streams for this picture and those that follow."""
        self._container = container
        self._encoding = VideoEncoder(container, self._how, show, self._kind)
        left_out = self._how.audio and self._kind is not None and not self._encoding.with_sound
        self.note = (
            f"{container.format.name} holds no {self._kind.codec} sound" if left_out and self._kind else ""
        )
        container.start_encoding()
        while self._early:
            self._encoding.hear(self._early.popleft())

    def write(self, show: OutputFrame) -> None:
        """Encode and write one picture."""
        assert self._encoding is not None
        self._encoding.write(show)

    def hear(self, sound: AudioPacket) -> None:
        """Write one packet of sound, now or when there is a container."""
        if self._encoding is not None:
            self._encoding.hear(sound)
        else:
            self._early.append(sound)

    def close(self) -> None:
        """Write what the encoder still holds and close the container."""
        encoding, container = self._encoding, self._container
        self._encoding = self._container = None
        try:
            if encoding is not None:
                encoding.finish()
        finally:
            if container is not None:
                _close(container)


def _close(container: OutputContainer) -> None:
    """Close a container for good: when a packet that PyAV held back cannot be written, its first attempt ends
    with the file still open."""
    try:
        container.close()
    finally:
        container.close()
