"""A folder of files named by time, with a maximum age and a minimum of free disk space."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import RetentionConfig

GIGABYTE = 1e9
DAY_SECONDS = 86_400
CLEANUP_SECONDS = 10.0
"""How often old files are deleted while the disk has enough free space."""
_FILE_NAME = re.compile(r"^[0-9]{8}T[0-9]{9}Z(-[0-9]+)?\.(mp4|mov|mkv|jpg|npz|jsonl)$")


class RetentionFolder:
    """The files of one output. Files with other names are never deleted.

    free_bytes : free space of the disk at the last check
    """

    def __init__(self, config: RetentionConfig, folder: Path) -> None:
        self._folder = folder / config.path
        self._keep_seconds = config.keep_days and config.keep_days * DAY_SECONDS
        self._keep_free_bytes = config.keep_free_gb * GIGABYTE
        self._last_cleanup: float | None = None
        self.free_bytes: int | None = None

    def new_path(self, wall: float, suffix: str) -> Path:
        """Delete old files and return an unused path for a file that begins at `wall` (seconds since 1970).

        Raises OutputError when the disk has too little free space, OSError when the folder cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        recent = self._last_cleanup is not None and 0 <= wall - self._last_cleanup < CLEANUP_SECONDS
        if not recent or self._check_free_bytes() < self._keep_free_bytes:
            self.delete_old(wall)
        stem = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"
        path, number = self._folder / f"{stem}{suffix}", 1
        while path.exists():
            path, number = self._folder / f"{stem}-{number}{suffix}", number + 1
        return path

    def write_file(self, wall: float, suffix: str, data: bytes) -> None:
        """Write a whole file, which appears under its name when it is complete. Raises as `new_path`."""
        path = self.new_path(wall, suffix)
        part = path.with_name(f".{path.name}")
        part.write_bytes(data)
        part.rename(path)

    def delete_old(self, wall: float, open_file: Path | None = None) -> None:
        """Delete files that are too old, and the oldest ones while the disk has too little free space.

        open_file : a file that must not be deleted

        Raises OutputError when deleting does not free enough space.
        """
        self._last_cleanup = wall
        for path in [path for path in self._files() if path != open_file]:
            expired = self._keep_seconds is not None and wall - _time_of(path) > self._keep_seconds
            if not expired and self._check_free_bytes() >= self._keep_free_bytes:
                return
            path.unlink(missing_ok=True)
        if self._check_free_bytes() < self._keep_free_bytes:
            minimum = f"{self._keep_free_bytes / GIGABYTE:g} GB"
            raise OutputError(f"expected at least {minimum} of free disk space, got less; delete other files")

    def _check_free_bytes(self) -> int:
        self.free_bytes = shutil.disk_usage(self._folder).free
        return self.free_bytes

    def _files(self) -> list[Path]:
        """The files of this output, the oldest first."""
        paths = self._folder.iterdir()
        return sorted(path for path in paths if _FILE_NAME.match(path.name) and path.is_file())


def _time_of(path: Path) -> float:
    return datetime.strptime(path.name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()
