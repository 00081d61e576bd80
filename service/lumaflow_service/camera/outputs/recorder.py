"""Records enhanced video in segments that stay playable when the process is killed."""

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
CLEANUP_SECONDS = 10.0
"""How often old files are deleted while a segment is written."""


class Recorder:
    """An OutputSink for video files. A segment ends after `segment_seconds` and when the format changes."""

    def __init__(self, config: RecordConfig, folder: Path) -> None:
        self._config = config
        self._folder = RetentionFolder(config, folder)
        self._muxer = Muxer(config)
        self._path: Path | None = None
        self._file: FileIO | None = None
        self._frames = 0
        self._segment_start = Fraction(0)
        self._last_cleanup = 0.0

    @property
    def note(self) -> str:
        """The audio that is left out, as text."""
        return self._muxer.note

    @property
    def free_bytes(self) -> int | None:
        """Free space of the disk."""
        return self._folder.free_bytes

    def set_audio_format(self, audio: AudioFormat | None) -> None:
        """Set the format of the audio packets that follow."""
        self._muxer.set_audio_format(audio)

    def write(self, frame: OutputFrame) -> bool:
        """Record one frame. Raises OutputError, OSError, av.FFmpegError; call `close` afterwards."""
        seconds = frame.pts * frame.time_base
        segment_seconds = Fraction(self._config.segment_seconds)
        if not self._muxer.accepts(frame) or seconds - self._segment_start >= segment_seconds:
            self.close()
            self._open(frame)
            self._segment_start = seconds
        if abs(frame.arrived - self._last_cleanup) > CLEANUP_SECONDS:
            self._last_cleanup = frame.arrived
            self._folder.delete_old(frame.wall, self._path)
        self._muxer.write(frame)
        self._frames += 1
        return True

    def write_audio(self, audio: AudioPacket) -> None:
        """Record one audio packet."""
        self._muxer.write_audio(audio)

    def close(self) -> None:
        """Finish the segment; delete it when it has no frame."""
        path, file, frames = self._path, self._file, self._frames
        self._path, self._file, self._frames = None, None, 0
        try:
            self._muxer.close()
        finally:
            if file is not None:
                file.close()
            if path is not None and not frames:
                path.unlink(missing_ok=True)

    def _open(self, first: OutputFrame) -> None:
        self._path = self._folder.new_path(first.wall, f".{self._config.container}")
        # PyAV does not close a file that it opened itself when the header cannot be written.
        self._file = FileIO(self._path, "w")
        options = crash_safe_options(self._config.container)
        name = FORMATS[self._config.container]
        self._muxer.open(av.open(self._file, "w", format=name, container_options=options), first)


def crash_safe_options(container: str) -> dict[str, str]:
    """Return muxer options for a file that plays without a trailer and keeps the times of its packets."""
    options = {"flush_packets": "1", "max_interleave_delta": "500000", "avoid_negative_ts": "disabled"}
    if container == "mkv":
        return {**options, "cluster_time_limit": f"{round(FRAGMENT_SECONDS * 1000)}"}
    return {
        **options,
        "movflags": "empty_moov+default_base_moof+frag_discont+skip_trailer",
        "frag_duration": f"{round(FRAGMENT_SECONDS * 1e6)}",
    }
