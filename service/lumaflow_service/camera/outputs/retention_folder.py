"""A folder of files named by their time: the newest are kept, the oldest go first."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from lumaflow_service.config.camera_errors import OutputError
from lumaflow_service.config.model import RetentionConfig

GIGABYTE = 1e9
DAY_SECONDS = 86_400
TIDY_SECONDS = 10.0
"""How often to look for files that are too old, while the disk has room."""
_OURS = re.compile(r"^[0-9]{8}T[0-9]{9}Z(-[0-9]+)?\.(mp4|mov|mkv|jpg|npz|jsonl)$")


class RetentionFolder:
    """The files of one output; no file that is named otherwise is ever touched.

    free_bytes : of the disk, when that was last looked at
    """

    def __init__(self, kept: RetentionConfig, folder: Path) -> None:
        self._folder = folder / kept.path
        self._keep_seconds = kept.keep_days and kept.keep_days * DAY_SECONDS
        self._keep_free = kept.keep_free_gb * GIGABYTE
        self._tidied: float | None = None
        self.free_bytes: int | None = None

    def new(self, wall: float, suffix: str) -> Path:
        """A name for a file that begins at this time, after making room.

        Raises SinkError when too little of the disk is free, OSError when the folder cannot be made.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        tidy = self._tidied is not None and 0 <= wall - self._tidied < TIDY_SECONDS
        if not tidy or self._free() < self._keep_free:
            self.make_room(wall)
        stem = datetime.fromtimestamp(wall, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3] + "Z"
        path, number = self._folder / f"{stem}{suffix}", 1
        while path.exists():
            path, number = self._folder / f"{stem}-{number}{suffix}", number + 1
        return path

    def make_room(self, wall: float, open_file: Path | None = None) -> None:
        """Delete what is too old, and the oldest while too little is free; never the file that is open."""
        self._tidied = wall
        files = [one for one in self._files() if one != open_file]
        for path in files:
            old = self._keep_seconds is not None and wall - _time_of(path) > self._keep_seconds
            if not old and self._free() >= self._keep_free:
                return
            path.unlink(missing_ok=True)
        if self._free() < self._keep_free:
            raise OutputError(f"less than {self._keep_free / GIGABYTE:g} GB of the disk are free; make room")

    def _free(self) -> int:
        self.free_bytes = shutil.disk_usage(self._folder).free
        return self.free_bytes

    def _files(self) -> Iterator[Path]:
        """Our files, the oldest first."""
        yield from sorted(one for one in self._folder.iterdir() if _OURS.match(one.name) and one.is_file())


def _time_of(path: Path) -> float:
    return datetime.strptime(path.name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).timestamp()
