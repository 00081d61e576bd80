"""Publishing: enhanced video to an RTSP, RTMP or SRT server."""

import av

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.muxer import Muxer
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.relay import PIPE_FORMAT
from lumaflow_service.camera.outputs.relay_pipe import RelayPipe
from lumaflow_service.camera.outputs.server_check import check_server_answers
from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import PublishConfig

TIMEOUT = "3000000"
"""In microseconds, for one write to the connection."""
INTERLEAVE = {"max_interleave_delta": "500000"}
FORMATS = {"rtsp": "rtsp", "rtsps": "rtsp", "rtmp": "flv", "rtmps": "flv", "srt": "mpegts"}
OPTIONS = {
    "rtsp": {"rtsp_transport": "tcp", "timeout": TIMEOUT},
    "flv": {"rw_timeout": TIMEOUT, "flvflags": "no_duration_filesize"},
    "mpegts": {"timeout": TIMEOUT},
}


class Publisher:
    """Sends to one URL; connects with the first picture, and anew when the geometry changes.

    Pictures are encoded here and sent by a process of its own, at the other end of a line.
    """

    def __init__(self, how: PublishConfig) -> None:
        self._how = how
        self._muxer = Muxer(how)
        self._line: RelayPipe | None = None

    @property
    def note(self) -> str:
        """What is left out."""
        return self._line.note if self._line is not None else ""

    @property
    def free_bytes(self) -> None:
        """It writes to no disk."""

    def begin(self, kind: AudioFormat | None) -> None:
        """The sound from now on."""
        self._muxer.set_audio_format(kind)

    def write(self, show: OutputFrame) -> bool:
        """Send one picture; says whether the server takes them yet. Raises SinkError; then `close` it."""
        if self._line is None or not self._muxer.accepts(show):
            self.close()
            self._line = self._open(show)
        try:
            self._muxer.write(show)
        except OSError:
            raise self._line.failure() from None
        return self._line.connected()

    def hear(self, sound: AudioPacket) -> None:
        """Send one packet of sound. Raises SinkError."""
        try:
            self._muxer.write_audio(sound)
        except OSError:
            raise (self._line.failure() if self._line else OutputError("the connection broke")) from None

    def close(self) -> None:
        """Hang up."""
        line, self._line = self._line, None
        try:
            self._muxer.close()
        finally:
            if line is not None:
                line.close()

    def _open(self, show: OutputFrame) -> RelayPipe:
        check_server_answers(self._how.url)
        kind = FORMATS[self._how.url.partition("://")[0]]
        line = RelayPipe(self._how.url, kind, INTERLEAVE | OPTIONS[kind])
        options = {"flush_packets": "1", **INTERLEAVE}
        try:
            self._muxer.open(av.open(line, "w", format=PIPE_FORMAT, container_options=options), show)
        except BaseException:
            line.close()
            raise
        return line
