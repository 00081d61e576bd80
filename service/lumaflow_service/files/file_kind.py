"""What a path holds, by its first bytes rather than by its name."""

from enum import StrEnum
from pathlib import Path

from PIL import Image

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.pillow_decoder import FORMATS
from lumaflow_service.media.header import foreign_format

IMAGES = frozenset(
    {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".bmp", ".gif", ".avif", ".jp2", ".ico"}
    | {".pgm", ".ppm", ".pbm", ".pnm"}
)
VIDEOS = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".wmv"}
    | {".flv", ".3gp", ".ogv", ".h264", ".264", ".h265", ".265", ".hevc", ".mjpeg", ".mjpg"}
)
"""Suffixes that are taken from a folder; a single file may have any."""
READ = f"JPEG, PNG, {', '.join(FORMATS)}"
"""The image formats that are read, in words."""
_MOVES_BYTES = 1 << 16
"""How far into a PNG the chunk is looked for that makes it an animation."""


class FileKind(StrEnum):
    """The three things that can be enhanced."""

    IMAGE = "image"
    VIDEO = "video"
    FOLDER = "folder"


def kind_of(path: Path) -> FileKind:
    """Look at a path. Raises UsageError: it is missing, no file, empty, or no image despite its name."""
    if path.is_dir():
        return FileKind.FOLDER
    if not path.exists():
        raise UsageError(f"{path} does not exist; see its spelling")
    if not path.is_file():
        raise UsageError(
            f"{path} is a pipe or a device, which cannot be read twice; store it in a file first"
        )
    start = _start(path, 16)
    if not start:
        raise UsageError(f"{path} is empty; give a video or an image")
    name = foreign_format(start)
    if name and name not in FORMATS:
        raise UsageError(f"{path} is a {name} image; convert it to JPEG, PNG or TIFF")
    suffix = path.suffix.lower()
    looks_still = start.startswith((b"\xff\xd8", b"\x89PNG"))
    if suffix in IMAGES and not (name or looks_still):
        raise UsageError(f"{path} is no image, whatever its name; the images that are read are {READ}")
    return FileKind.IMAGE if name or (looks_still and suffix not in VIDEOS) else FileKind.VIDEO


def moves(path: Path) -> bool:
    """Whether an image file is an animation that can be read as a video: a GIF or PNG of many pictures."""
    start = _start(path, _MOVES_BYTES)
    if start.startswith(b"GIF8"):
        return _is_animated(path)
    return start.startswith(b"\x89PNG") and b"acTL" in start.partition(b"IDAT")[0]


def _is_animated(path: Path) -> bool:
    try:
        with Image.open(path, formats=["GIF"]) as image:
            return bool(getattr(image, "is_animated", False))
    except (OSError, SyntaxError, ValueError):
        return False


def _start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)
