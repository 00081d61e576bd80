"""Recording: enhanced video in segments, each playable up to its last second whenever the process dies."""

from fractions import Fraction
from io import FileIO
from pathlib import Path

import av

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.muxer import Muxer
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.config.model import RecordConfig

FORMATS = {"mp4": "mp4", "mov": "mov", "mkv": "matroska"}
FRAGMENT_SECONDS = 0.5
ROOM_SECONDS = 10.0
"""How often to look for room on the disk while a segment is written."""


class Recorder:
    """Writes to one folder. A new segment begins after `segment_seconds`, and with a new geometry."""

    def __init__(self, how: RecordConfig, folder: Path) -> None:
        self._how = how
        self._shelf = RetentionFolder(how, folder)
        self._muxer = Muxer(how)
        self._path: Path | None = None
        self._file: FileIO | None = None
        self._written = 0
        self._began = Fraction(0)
        self._looked = 0.0

    @property
    def note(self) -> str:
        """What is left out."""
        return self._muxer.note

    @property
    def free_bytes(self) -> int | None:
        """What is free on its disk."""
        return self._shelf.free_bytes

    def begin(self, kind: AudioFormat | None) -> None:
        """The sound from now on."""
        self._muxer.set_audio_format(kind)

    def write(self, show: OutputFrame) -> bool:
        """Record one picture. Raises SinkError, OSError and what PyAV raises; then `close` it."""
        seconds = show.pts * show.time_base
        if not self._muxer.accepts(show) or seconds - self._began >= Fraction(self._how.segment_seconds):
            self.close()
            self._open(show)
            self._began = seconds
        if abs(show.arrived - self._looked) > ROOM_SECONDS:
            self._looked = show.arrived
            self._shelf.make_room(show.wall, self._path)
        self._muxer.write(show)
        self._written += 1
        return True

    def hear(self, sound: AudioPacket) -> None:
        """Record one packet of sound."""
        self._muxer.write_audio(sound)

    def close(self) -> None:
        """End the segment; one without a picture is not kept."""
        path, file, written = self._path, self._file, self._written
        self._path, self._file, self._written = None, None, 0
        try:
            self._muxer.close()
        finally:
            if file is not None:
                file.close()
            if path is not None and not written:
                path.unlink(missing_ok=True)

    def _open(self, show: OutputFrame) -> None:
        self._path = self._shelf.new(show.wall, f".{self._how.container}")
        # A file of ours: PyAV would leave its own open when the header cannot be written.
        self._file = FileIO(self._path, "w")
        options = safe_options(self._how.container)
        container = av.open(self._file, "w", format=FORMATS[self._how.container], container_options=options)
        self._muxer.open(container, show)


def safe_options(container: str) -> dict[str, str]:
    """Options by which a file plays though it was never finished, with the times as they are."""
    written = {"flush_packets": "1", "max_interleave_delta": "500000", "avoid_negative_ts": "disabled"}
    if container == "mkv":
        return {**written, "cluster_time_limit": f"{round(FRAGMENT_SECONDS * 1000)}"}
    return {
        **written,
        "movflags": "empty_moov+default_base_moof+frag_discont+skip_trailer",
        "frag_duration": f"{round(FRAGMENT_SECONDS * 1e6)}",
    }
