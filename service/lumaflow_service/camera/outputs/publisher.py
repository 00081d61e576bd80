"""Publishes enhanced video to an RTSP, RTMP or SRT server."""

import av

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.muxer import Muxer
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.relay import PIPE_FORMAT
from lumaflow_service.camera.outputs.relay_pipe import RelayPipe
from lumaflow_service.camera.rtsp_preflight import check_server_answers
from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import PublishConfig

TIMEOUT = "3000000"
"""For one write to the connection, in microseconds."""
INTERLEAVE = {"max_interleave_delta": "500000"}
FORMATS = {"rtsp": "rtsp", "rtsps": "rtsp", "rtmp": "flv", "rtmps": "flv", "srt": "mpegts"}
OPTIONS = {
    "rtsp": {"rtsp_transport": "tcp", "timeout": TIMEOUT},
    "flv": {"rw_timeout": TIMEOUT, "flvflags": "no_duration_filesize"},
    "mpegts": {"timeout": TIMEOUT},
}


class Publisher:
    """An OutputSink for one server. It connects at the first frame, and again when the format changes.

    Frames are encoded here; a relay process sends them.
    """

    free_bytes = None

    def __init__(self, config: PublishConfig) -> None:
        self._url = config.url
        self._muxer = Muxer(config)
        self._pipe: RelayPipe | None = None

    @property
    def note(self) -> str:
        """The audio that is left out, as text."""
        return self._pipe.note if self._pipe is not None else ""

    def set_audio_format(self, audio: AudioFormat | None) -> None:
        """Set the format of the audio packets that follow."""
        self._muxer.set_audio_format(audio)

    def write(self, frame: OutputFrame) -> bool:
        """Send one frame; return whether the server accepts frames yet.

        Raises OutputError; call `close` afterwards.
        """
        if self._pipe is None or not self._muxer.accepts(frame):
            self.close()
            self._pipe = self._open(frame)
        try:
            self._muxer.write(frame)
        except OSError:
            raise self._pipe.failure() from None
        return self._pipe.connected()

    def write_audio(self, audio: AudioPacket) -> None:
        """Send one audio packet. Raises OutputError."""
        try:
            self._muxer.write_audio(audio)
        except OSError:
            raise (self._pipe.failure() if self._pipe else OutputError("the connection broke")) from None

    def close(self) -> None:
        """Close the connection."""
        pipe, self._pipe = self._pipe, None
        try:
            self._muxer.close()
        finally:
            if pipe is not None:
                pipe.close()

    def _open(self, first: OutputFrame) -> RelayPipe:
        check_server_answers(self._url)
        name = FORMATS[self._url.partition("://")[0]]
        pipe = RelayPipe(self._url, name, INTERLEAVE | OPTIONS[name])
        options = {"flush_packets": "1", **INTERLEAVE}
        try:
            self._muxer.open(av.open(pipe, "w", format=PIPE_FORMAT, container_options=options), first)
        except BaseException:
            pipe.close()
            raise
        return pipe
