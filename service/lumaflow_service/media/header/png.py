"""The chunks of a PNG."""

import struct
from collections.abc import Iterator
from dataclasses import replace

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageHeader, ImageKind, check_size

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
    """The header of a PNG. Raises as `read_header` does."""
    header: ImageHeader | None = None
    color, orientation, seen = _GRAY, 1, set()
    for name, body in chunks(view):
        if (name == b"IHDR") is (header is not None):
            raise BadFrameError("a PNG came that does not begin with one IHDR chunk; it is damaged")
        if header is None:
            header, color = _read_ihdr(body)
            check_size(header.width, header.height, max_pixels)
        elif name == b"eXIf":
            orientation = exif_orientation(body)
        seen.add(name)
    if header is None or b"IDAT" not in seen:
        raise BadFrameError("a PNG without picture data came (no IDAT chunk); send a whole image")
    if color == _PALETTE and b"PLTE" not in seen:
        raise BadFrameError("a PNG with a palette came, but without the palette (no PLTE chunk)")
    if b"tRNS" in seen and color in (_PALETTE, _COLOR):
        header = replace(header, channels=4)
    return replace(header, orientation=orientation, animated=b"acTL" in seen)


def chunks(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Name and body of every chunk up to IEND; each length must fit what is left of the file."""
    at = 8
    for _ in range(MAX_CHUNKS):
        left = len(view) - at - 12
        if left < 0:
            raise BadFrameError(f"a PNG of {len(view)} bytes came that ends before its IEND chunk: truncated")
        length, name = struct.unpack_from(">I4s", view, at)
        if length > left:
            raise BadFrameError(
                f"a PNG came whose chunk {name.decode('latin-1')!a} claims {length} bytes of {left} left:"
                " truncated or damaged"
            )
        yield name, view[at + 8 : at + 8 + length]
        if name == b"IEND":
            return
        at += 12 + length
    raise UnsupportedMediaError(f"a PNG of more than {MAX_CHUNKS} chunks came; store it anew")


def _read_ihdr(body: memoryview) -> tuple[ImageHeader, int]:
    if len(body) != 13:
        raise BadFrameError(f"a PNG with an IHDR chunk of {len(body)} bytes came; 13 are needed")
    width, height, bits, color, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    if bits not in _PNG_BITS.get(color, ()) or compression or filtering or interlace > 1:
        raise BadFrameError(
            f"a PNG of color type {color} with {bits} bits came; no such PNG exists: it is damaged"
        )
    channels = {_GRAY: 1, _GRAY_ALPHA: 4, _COLOR_ALPHA: 4}.get(color, 3)
    return ImageHeader(ImageKind.PNG, width, height, channels, bits), color
