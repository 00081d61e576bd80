"""An open container with its streams, which are added when the first frame arrives."""

from collections import deque

from av.container import OutputContainer

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.encoder import VideoEncoder
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.config.model import EncoderConfig

MAX_EARLY_AUDIO = 200
"""Audio packets to keep until the first frame, which arrives later than its audio."""


class Muxer:
    """The container of a recorder or publisher. `note` tells which audio is left out. Close it on errors."""

    def __init__(self, config: EncoderConfig) -> None:
        self.note = ""
        self._config = config
        self._audio_format: AudioFormat | None = None
        self._container: OutputContainer | None = None
        self._encoder: VideoEncoder | None = None
        self._early_audio: deque[AudioPacket] = deque(maxlen=MAX_EARLY_AUDIO)

    def set_audio_format(self, audio: AudioFormat | None) -> None:
        """Set the format of the audio packets that follow."""
        self._audio_format = audio

    def accepts(self, frame: OutputFrame) -> bool:
        """Whether a container is open that the frame continues."""
        return self._encoder is not None and self._encoder.accepts(frame, self._audio_format)

    def open(self, container: OutputContainer, first: OutputFrame) -> None:
        """Add the streams for this frame and those that follow it."""
        audio = self._audio_format
        self._container = container
        self._encoder = VideoEncoder(container, self._config, first, audio)
        left_out = audio is not None and self._config.audio and not self._encoder.has_audio
        self.note = f"{container.format.name} cannot hold {audio.codec} audio" if left_out and audio else ""
        container.start_encoding()
        while self._early_audio:
            self._encoder.write_audio(self._early_audio.popleft())

    def write(self, frame: OutputFrame) -> None:
        """Encode and write one frame."""
        assert self._encoder is not None
        self._encoder.write(frame)

    def write_audio(self, audio: AudioPacket) -> None:
        """Write one audio packet, or keep it until a container is open."""
        if self._encoder is not None:
            self._encoder.write_audio(audio)
        else:
            self._early_audio.append(audio)

    def close(self) -> None:
        """Write the frames that the encoder still holds and close the container."""
        encoder, container = self._encoder, self._container
        self._encoder = self._container = None
        try:
            if encoder is not None:
                encoder.flush()
        finally:
            if container is not None:
                _close(container)


def _close(container: OutputContainer) -> None:
    """Close twice: when PyAV cannot write a buffered packet, the first call leaves the file open."""
    try:
        container.close()
    finally:
        container.close()
