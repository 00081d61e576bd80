"""Validation of the chunks of a PNG."""

import struct
from collections.abc import Iterator
from dataclasses import replace

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageFormat, ImageHeader, check_size

MAX_CHUNKS = 20_000

_GRAY, _COLOR, _PALETTE, _GRAY_ALPHA, _COLOR_ALPHA = 0, 2, 3, 4, 6
_PNG_BITS = {
    _GRAY: (1, 2, 4, 8, 16),
    _COLOR: (8, 16),
    _PALETTE: (1, 2, 4, 8),
    _GRAY_ALPHA: (8, 16),
    _COLOR_ALPHA: (8, 16),
}


def read_png(view: memoryview, max_pixels: int) -> ImageHeader:
    """The header of a PNG. Raises the errors of `read_header`."""
    header: ImageHeader | None = None
    color, orientation, chunk_names = _GRAY, 1, set()
    for name, body in chunks(view):
        if (name == b"IHDR") is (header is not None):
            raise BadFrameError(
                "the PNG is damaged: it does not begin with one IHDR chunk; send another image"
            )
        if header is None:
            header, color = _read_ihdr(body)
            check_size(header.width, header.height, max_pixels)
        elif name == b"eXIf":
            orientation = exif_orientation(body)
        chunk_names.add(name)
    if header is None or b"IDAT" not in chunk_names:
        raise BadFrameError("the PNG has no IDAT chunk; send the complete image")
    if color == _PALETTE and b"PLTE" not in chunk_names:
        raise BadFrameError("the PNG is damaged: it has no palette (PLTE chunk); send another image")
    if b"tRNS" in chunk_names and color in (_PALETTE, _COLOR):
        header = replace(header, channels=4)
    return replace(header, orientation=orientation, animated=b"acTL" in chunk_names)


def chunks(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Name and body of every chunk up to IEND. Each chunk must end within the file."""
    offset = 8
    for _ in range(MAX_CHUNKS):
        remaining = len(view) - offset - 12
        if remaining < 0:
            raise BadFrameError(
                f"the PNG is truncated: no IEND chunk in {len(view)} bytes; send the complete image"
            )
        length, name = struct.unpack_from(">I4s", view, offset)
        if length > remaining:
            raise BadFrameError(
                f"the PNG is truncated or damaged: its chunk {name.decode('latin-1')!a} claims {length} bytes"
                f" of {remaining} left; send the complete image"
            )
        yield name, view[offset + 8 : offset + 8 + length]
        if name == b"IEND":
            return
        offset += 12 + length
    raise UnsupportedMediaError(f"expected a PNG of at most {MAX_CHUNKS} chunks, got more; save it again")


def _read_ihdr(body: memoryview) -> tuple[ImageHeader, int]:
    if len(body) != 13:
        raise BadFrameError(
            f"the PNG is damaged: expected an IHDR chunk of 13 bytes, got {len(body)}; send another"
        )
    width, height, bits, color, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    if bits not in _PNG_BITS.get(color, ()) or compression or filtering or interlace > 1:
        raise BadFrameError(
            f"the PNG is damaged: its header has color type {color} with {bits} bits; send another image"
        )
    channels = {_GRAY: 1, _GRAY_ALPHA: 4, _COLOR_ALPHA: 4}.get(color, 3)
    return ImageHeader(ImageFormat.PNG, width, height, channels, bits), color
