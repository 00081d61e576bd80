"""Writes a JPEG of the enhanced frame at a fixed interval."""

from pathlib import Path

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.config.model import SnapshotConfig
from lumaflow_service.media.codec.display import display_pixels
from lumaflow_service.media.codec.jpeg import encode_jpeg

QUALITY = 90


class Snapshots:
    """An OutputSink for JPEG files in one folder."""

    note = ""

    def __init__(self, config: SnapshotConfig, folder: Path) -> None:
        self._every_seconds = config.every_seconds
        self._folder = RetentionFolder(config, folder)
        self._next: float | None = None

    @property
    def free_bytes(self) -> int | None:
        """Free space of the disk."""
        return self._folder.free_bytes

    def set_audio_format(self, audio: AudioFormat | None) -> None:
        """Snapshots have no audio."""

    def write(self, frame: OutputFrame) -> bool:
        """Write this frame when a snapshot is due."""
        if self._next is not None and frame.arrived < self._next:
            return False
        self._folder.write_file(frame.wall, ".jpg", encode_jpeg(display_pixels(frame.frame), QUALITY))
        self._next = frame.arrived + self._every_seconds
        return True

    def write_audio(self, audio: AudioPacket) -> None:
        """Snapshots have no audio."""

    def close(self) -> None:
        """No file is open."""
