"""The kind of a file, by its first bytes rather than by its name."""

from enum import StrEnum
from pathlib import Path

from PIL import Image

from lumaflow_service.files.errors import UsageError
from lumaflow_service.files.pillow_decoder import PILLOW_FORMATS
from lumaflow_service.media.header import other_image_format

IMAGE_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".bmp", ".gif", ".avif", ".jp2", ".ico"}
    | {".pgm", ".ppm", ".pbm", ".pnm"}
)
VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts", ".m2ts", ".mts", ".mpg", ".mpeg", ".wmv"}
    | {".flv", ".3gp", ".ogv", ".h264", ".264", ".h265", ".265", ".hevc", ".mjpeg", ".mjpg"}
)
"""Suffixes of the files in a folder that are enhanced. A file named alone may have any suffix."""
READABLE_IMAGES = f"JPEG, PNG, {', '.join(PILLOW_FORMATS)}"
"""The readable image formats, for messages."""
_ACTL_BYTES = 1 << 16
"""The chunk acTL, which makes a PNG an animation, is searched for in so many bytes."""


class FileKind(StrEnum):
    """The kinds of input."""

    IMAGE = "image"
    VIDEO = "video"
    FOLDER = "folder"


def detect_kind(path: Path) -> FileKind:
    """The kind of a path.

    Raises UsageError when it is missing, empty, a pipe or device, or no image despite its suffix.
    """
    if path.is_dir():
        return FileKind.FOLDER
    if not path.exists():
        raise UsageError(f"{path} does not exist; check its spelling")
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device, which cannot be read twice; save it to a file first")
    first_bytes = _read_start(path, 16)
    if not first_bytes:
        raise UsageError(f"{path} is empty; give a video or an image")
    other_format = other_image_format(first_bytes)
    if other_format and other_format not in PILLOW_FORMATS:
        raise UsageError(f"{path} is a {other_format} image; convert it to JPEG, PNG or TIFF")
    suffix = path.suffix.lower()
    is_jpeg_or_png = first_bytes.startswith((b"\xff\xd8", b"\x89PNG"))
    if suffix in IMAGE_SUFFIXES and not (other_format or is_jpeg_or_png):
        raise UsageError(f"{path} is not an image, despite its name; expected one of {READABLE_IMAGES}")
    is_image = other_format or (is_jpeg_or_png and suffix not in VIDEO_SUFFIXES)
    return FileKind.IMAGE if is_image else FileKind.VIDEO


def is_animated(path: Path) -> bool:
    """Whether an image file is an animation that FFmpeg can read as a video: an animated GIF or PNG."""
    start = _read_start(path, _ACTL_BYTES)
    if start.startswith(b"GIF8"):
        return _is_animated_gif(path)
    return start.startswith(b"\x89PNG") and b"acTL" in start.partition(b"IDAT")[0]


def _is_animated_gif(path: Path) -> bool:
    try:
        with Image.open(path, formats=["GIF"]) as image:
            return bool(getattr(image, "is_animated", False))
    except (OSError, SyntaxError, ValueError):
        return False


def _read_start(path: Path, length: int) -> bytes:
    with path.open("rb") as file:
        return file.read(length)
