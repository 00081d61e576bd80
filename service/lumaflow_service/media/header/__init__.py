"""What an image says about itself: read from its bytes before any decoder sees them.

The gate against bombs and liars: it walks JPEG segments and PNG chunks, allocates nothing, and refuses
what the decoders would only notice after taking gigabytes (or never).
"""

import re

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageHeader, ImageKind, check_size
from lumaflow_service.media.header.jpeg import MAX_SCANS, read_jpeg
from lumaflow_service.media.header.png import MAX_CHUNKS, read_png
from lumaflow_service.media.header.profile import read_profile

__all__ = [
    "MAX_CHUNKS",
    "MAX_SCANS",
    "ImageHeader",
    "ImageKind",
    "check_size",
    "exif_orientation",
    "foreign_format",
    "read_header",
    "read_profile",
]


def read_header(data: bytes | memoryview, max_pixels: int) -> ImageHeader:
    """Read size and kind of a JPEG or PNG; decode nothing, allocate nothing.

    Raises BadFrameError (empty, garbage, truncated, contradicting itself), TooLargeError (more than
    `max_pixels`) and UnsupportedMediaError (another format, or a variant that is not taken).
    """
    view = memoryview(data)
    if not view:
        raise BadFrameError("an empty body came; send the bytes of one JPEG or PNG image")
    start = bytes(view[:16])
    if start.startswith(b"\xff\xd8"):
        return read_jpeg(view, max_pixels)
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return read_png(view, max_pixels)
    raise _not_an_image(start)


_FOREIGN = (
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


def foreign_format(start: bytes) -> str | None:
    """Name of the image format, other than JPEG and PNG, of a file with these first 16 bytes."""
    return next((name for magic, name in _FOREIGN if magic.match(start)), None)


def _not_an_image(start: bytes) -> BadFrameError | UnsupportedMediaError:
    name = foreign_format(start)
    if name:
        return UnsupportedMediaError(
            f"an image of the format {name} came; JPEG and PNG are taken: convert it"
        )
    return BadFrameError(
        f"bytes came that begin with {start[:8].hex(' ')} (hexadecimal); they are neither a JPEG nor a PNG"
        " image: send one"
    )
