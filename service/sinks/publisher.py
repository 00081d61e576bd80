"""Publishing: enhanced video to an RTSP, RTMP or SRT server."""

import av

from service.ingest.config import Publish
from service.ingest.errors import SinkError
from service.ingest.opening import explain
from service.sinks.muxer import Muxer
from service.sinks.reach import check_answers
from service.sinks.show import Show
from service.sinks.sound import Sound, SoundKind

TIMEOUT = "3000000"
"""In microseconds, for one write to the connection."""
FORMATS = {"rtsp": "rtsp", "rtsps": "rtsp", "rtmp": "flv", "rtmps": "flv", "srt": "mpegts"}
OPTIONS = {
    "rtsp": {"rtsp_transport": "tcp", "timeout": TIMEOUT},
    "flv": {"rw_timeout": TIMEOUT, "flvflags": "no_duration_filesize"},
    "mpegts": {"timeout": TIMEOUT},
}


class Publisher:
    """Sends to one URL; connects with the first picture, and anew when the geometry changes."""

    def __init__(self, how: Publish) -> None:
        self._how = how
        self._muxer = Muxer(how)

    @property
    def note(self) -> str:
        """What is left out."""
        return self._muxer.note

    def begin(self, kind: SoundKind | None) -> None:
        """The sound from now on."""
        self._muxer.begin(kind)

    def write(self, show: Show) -> bool:
        """Send one picture. Raises SinkError; then `close` it."""
        if not self._muxer.takes(show):
            self.close()
            self._open(show)
        try:
            self._muxer.write(show)
        except av.FFmpegError as error:
            raise SinkError(f"the connection broke: {error.strerror}") from None
        return True

    def hear(self, sound: Sound) -> None:
        """Send one packet of sound."""
        self._muxer.hear(sound)

    def close(self) -> None:
        """Hang up."""
        self._muxer.close()

    def _open(self, show: Show) -> None:
        scheme = self._how.url.partition("://")[0]
        kind = FORMATS[scheme]
        options = {"max_interleave_delta": "500000", **OPTIONS[kind]}
        check_answers(self._how.url)
        try:
            self._muxer.open(av.open(self._how.url, "w", format=kind, container_options=options), show)
        except (av.FFmpegError, ValueError) as error:
            raise SinkError(explain(error, scheme)[1]) from None
