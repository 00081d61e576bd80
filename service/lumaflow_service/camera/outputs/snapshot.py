"""Snapshots: a JPEG of the enhanced picture every so often."""

from pathlib import Path

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.retention_folder import RetentionFolder
from lumaflow_service.config.model import SnapshotConfig
from lumaflow_service.media.codec.display import display_pixels
from lumaflow_service.media.codec.jpeg import encode_jpeg

QUALITY = 90


class Snapshots:
    """Writes to one folder."""

    def __init__(self, how: SnapshotConfig, folder: Path) -> None:
        self._every_seconds = how.every_seconds
        self._shelf = RetentionFolder(how, folder)
        self._due: float | None = None

    @property
    def note(self) -> str:
        """Nothing is left out."""
        return ""

    @property
    def free_bytes(self) -> int | None:
        """What is free on its disk."""
        return self._shelf.free_bytes

    def begin(self, kind: AudioFormat | None) -> None:
        """Sound is not for pictures."""

    def write(self, show: OutputFrame) -> bool:
        """Keep this picture if it is time for one; a picture appears only when it is complete."""
        if self._due is not None and show.arrived < self._due:
            return False
        path = self._shelf.new(show.wall, ".jpg")
        part = path.with_name(f".{path.name}")
        part.write_bytes(encode_jpeg(display_pixels(show.frame), QUALITY))
        part.rename(path)
        self._due = show.arrived + self._every_seconds
        return True

    def hear(self, sound: AudioPacket) -> None:
        """Sound is not for pictures."""

    def close(self) -> None:
        """Nothing is open."""
