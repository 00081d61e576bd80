"""What a path holds, by its first bytes rather than by its name."""

from enum import StrEnum
from pathlib import Path

from service.files.errors import BadFileError, UsageError
from service.header import foreign_format

IMAGES = frozenset({".jpg", ".jpeg", ".png"})
VIDEOS = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".wmv"}
    | {".flv", ".3gp", ".ogv", ".h264", ".264", ".h265", ".265", ".hevc", ".mjpeg", ".mjpg"}
)
"""Suffixes that are taken from a folder; a single file may have any."""


class Kind(StrEnum):
    """The three things that can be enhanced."""

    IMAGE = "image"
    VIDEO = "video"
    FOLDER = "folder"


def kind_of(path: Path) -> Kind:
    """Look at a path. Raises UsageError (missing, a foreign image format), BadFileError (empty)."""
    if path.is_dir():
        return Kind.FOLDER
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    with path.open("rb") as file:
        start = file.read(16)
    if not start:
        raise BadFileError(f"{path} is empty")
    name = foreign_format(start)
    if name:
        raise UsageError(f"{path} is a {name} image; JPEG and PNG are taken: convert it")
    suffix = path.suffix.lower()
    looks_still = start.startswith((b"\xff\xd8", b"\x89PNG")) and suffix not in VIDEOS
    return Kind.IMAGE if looks_still or suffix in IMAGES else Kind.VIDEO
