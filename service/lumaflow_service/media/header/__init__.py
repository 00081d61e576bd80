"""Validates the header of a JPEG or PNG before any decoder reads the data.

This rejects decompression bombs and inconsistent files: it walks JPEG segments and PNG chunks, allocates
nothing, and refuses what the decoders notice only after taking gigabytes, or never.
"""

import re

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageFormat, ImageHeader, check_size
from lumaflow_service.media.header.jpeg import MAX_SCANS, read_jpeg
from lumaflow_service.media.header.png import MAX_CHUNKS, read_png

__all__ = [
    "MAX_CHUNKS",
    "MAX_SCANS",
    "ImageFormat",
    "ImageHeader",
    "check_size",
    "exif_orientation",
    "other_image_format",
    "read_header",
]


def read_header(data: bytes | memoryview, max_pixels: int) -> ImageHeader:
    """Read size, format and orientation of a JPEG or PNG without decoding it.

    Raises BadFrameError (empty, unknown, truncated or inconsistent data), TooLargeError (more than
    `max_pixels`) and UnsupportedMediaError (another format, or an unsupported variant).
    """
    view = memoryview(data)
    if not view:
        raise BadFrameError("expected one JPEG or PNG image, got an empty body; send the image's bytes")
    first_bytes = bytes(view[:16])
    if first_bytes.startswith(b"\xff\xd8"):
        return read_jpeg(view, max_pixels)
    if first_bytes.startswith(b"\x89PNG\r\n\x1a\n"):
        return read_png(view, max_pixels)
    raise _unsupported_format(first_bytes)


_SIGNATURES = (
    (re.compile(rb"GIF8"), "GIF"),
    (re.compile(rb"BM"), "BMP"),
    (re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+"), "TIFF"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "WebP"),
    (re.compile(rb"....ftyp(avif|avis)", re.DOTALL), "AVIF"),
    (re.compile(rb"....ftyp(heic|heix|mif1|msf1)", re.DOTALL), "HEIC"),
    (re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", re.DOTALL), "JPEG 2000"),
    (re.compile(rb"P[1-7]\s"), "PNM"),
    (re.compile(b"\0\0\1\0(?!ftyp)"), "ICO"),
)


def other_image_format(first_bytes: bytes) -> str | None:
    """The name of an image format other than JPEG and PNG, by the first 16 bytes of a file, or None."""
    return next((name for signature, name in _SIGNATURES if signature.match(first_bytes)), None)


def _unsupported_format(first_bytes: bytes) -> BadFrameError | UnsupportedMediaError:
    name = other_image_format(first_bytes)
    if name:
        return UnsupportedMediaError(f"expected a JPEG or PNG image, got {name}; convert it")
    return BadFrameError(
        f"expected a JPEG or PNG image, got bytes that begin with {first_bytes[:8].hex(' ')} (hexadecimal);"
        " send an image"
    )
