"""What an image says about itself: read from its bytes before any decoder sees them.

The gate against bombs and liars: it walks JPEG segments and PNG chunks, allocates nothing, and refuses
what the decoders would only notice after taking gigabytes (or never).
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from pipeline.frame import MAX_SIDE_PX
from service.errors import BadFrameError, TooLargeError, UnsupportedMediaError

MAX_SCANS = 64
"""Most scans of a progressive JPEG: each one costs a pass over the whole picture."""
MAX_SEGMENTS = 2_000
MAX_CHUNKS = 20_000


class ImageKind(StrEnum):
    """The two kinds of image that are taken, by media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the decoder will make of an image.

    width, height : pixels as stored, before any turn
    channels : 1 (gray) or 3 (colour) of the decoded picture; an alpha channel is dropped
    bits : of a stored sample, at most 8
    orientation : EXIF's 1..8; 5..8 exchange width and height
    """

    kind: ImageKind
    width: int
    height: int
    channels: int
    bits: int
    orientation: int = 1

    @property
    def upright_size(self) -> tuple[int, int]:
        """(width, height) after the turn that the orientation asks for."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)


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
        return _read_jpeg(view, max_pixels)
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return _read_png(view, max_pixels)
    raise _not_an_image(start)


def _check_size(width: int, height: int, max_pixels: int) -> None:
    came = f"an image of {width}x{height} pixels came"
    if not width or not height:
        raise BadFrameError(f"{came}; both sides must be at least 1")
    if width * height > max_pixels:
        raise TooLargeError(f"{came}, {width * height} in all; at most {max_pixels} are taken: scale it down")
    if max(width, height) > MAX_SIDE_PX:
        raise TooLargeError(f"{came}; a side may have at most {MAX_SIDE_PX}: scale it down or cut it")


_FOREIGN = (
    (re.compile(rb"GIF8"), "GIF"),
    (re.compile(rb"BM"), "BMP"),
    (re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+"), "TIFF"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "WebP"),
    (re.compile(rb"....ftyp(avif|avis)", re.DOTALL), "AVIF"),
    (re.compile(rb"....ftyp(heic|heix|mif1|msf1)", re.DOTALL), "HEIC"),
    (re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", re.DOTALL), "JPEG 2000"),
    (re.compile(rb"P[1-7]\s"), "PNM"),
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
        f"the bytes that came begin with {start[:8]!r}; they are neither a JPEG nor a PNG image"
    )


# JPEG ---------------------------------------------------------------------------------------------

_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SOS, _EOI, _APP1 = 0xDA, 0xD9, 0xE1
_FRAMES_REFUSED = {0xC3: "lossless", 0xC5: "hierarchical", 0xC6: "hierarchical", 0xC7: "hierarchical"}
_MARKER = re.compile(rb"\xff+([\x01-\xfe])")
_MARKER_AFTER_SCAN = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")


def _read_jpeg(view: memoryview, max_pixels: int) -> ImageHeader:
    header: ImageHeader | None = None
    orientation, scans = 1, 0
    for marker, body in _segments(view):
        if marker in _SOF:
            if header is not None:
                raise BadFrameError("a JPEG with two frame headers came; it must have one")
            header = _read_sof(marker, body)
            _check_size(header.width, header.height, max_pixels)
        elif marker == _SOS:
            scans += 1
            if header is None or len(body) < 6:
                raise BadFrameError("a JPEG came whose scan has no frame header before it; it is damaged")
            if scans > MAX_SCANS:
                raise UnsupportedMediaError(
                    f"a JPEG of more than {MAX_SCANS} scans came; store it as baseline"
                )
        elif marker == _APP1 and bytes(body[:6]) == b"Exif\0\0" and orientation == 1:
            orientation = exif_orientation(body[6:])
    if header is None or not scans:
        raise BadFrameError("a JPEG without picture data came; send a whole image")
    return replace(header, orientation=orientation)


def _segments(view: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Marker and body of every segment up to the end of the image; the coded data is stepped over."""
    at, pattern = 2, _MARKER
    for _ in range(MAX_SEGMENTS):
        found = pattern.match(view, at) if pattern is _MARKER else pattern.search(view, at)
        if found is None:
            if at >= len(view) or pattern is _MARKER_AFTER_SCAN:
                raise BadFrameError(
                    f"a JPEG of {len(view)} bytes came that ends before its end marker: truncated"
                )
            raise BadFrameError(f"a JPEG came with garbage between its segments, at byte {at}; it is damaged")
        marker, at = found[1][0], found.end()
        if marker == _EOI:
            return
        if marker == 0x01:
            continue
        body = _segment_body(view, at)
        yield marker, body
        at += 2 + len(body)
        pattern = _MARKER_AFTER_SCAN if marker == _SOS else _MARKER
    raise UnsupportedMediaError(f"a JPEG of more than {MAX_SEGMENTS} segments came; store it anew")


def _segment_body(view: memoryview, at: int) -> memoryview:
    length = int.from_bytes(view[at : at + 2])
    if length < 2 or at + length > len(view):
        raise BadFrameError(
            f"a JPEG came whose segment at byte {at} claims {length} bytes of {len(view) - at} left: "
            "truncated or damaged"
        )
    return view[at + 2 : at + length]


def _read_sof(marker: int, body: memoryview) -> ImageHeader:
    if len(body) < 6:
        raise BadFrameError(f"a JPEG with a frame header of {len(body)} bytes came; it is damaged")
    bits, height, width, channels = struct.unpack_from(">BHHB", body)
    if len(body) < 6 + 3 * channels:
        raise BadFrameError(f"a JPEG came whose frame header is too short for {channels} components")
    if marker > 0xC8:
        raise UnsupportedMediaError(
            "an arithmetic-coded JPEG came; store it Huffman-coded (any baseline JPEG)"
        )
    if marker in _FRAMES_REFUSED:
        raise UnsupportedMediaError(
            f"a {_FRAMES_REFUSED[marker]} JPEG came; store it as baseline or progressive"
        )
    if bits != 8:
        raise UnsupportedMediaError(f"a JPEG of {bits} bits a sample came; 8 are taken")
    if channels == 4:
        raise UnsupportedMediaError("a CMYK JPEG came; gray and colour (YCbCr, RGB) are taken: convert it")
    if channels not in (1, 3):
        raise BadFrameError(f"a JPEG of {channels} components came; 1 (gray) or 3 (colour) are needed")
    if not height:
        raise UnsupportedMediaError("a JPEG came that gives its height only after the scan; store it anew")
    return ImageHeader(ImageKind.JPEG, width, height, channels, bits)


# PNG ----------------------------------------------------------------------------------------------

_GRAY, _COLOR, _PALETTE, _GRAY_ALPHA, _COLOR_ALPHA = 0, 2, 3, 4, 6
_PNG_BITS = {
    _GRAY: (1, 2, 4, 8, 16),
    _COLOR: (8, 16),
    _PALETTE: (1, 2, 4, 8),
    _GRAY_ALPHA: (8, 16),
    _COLOR_ALPHA: (8, 16),
}


def _read_png(view: memoryview, max_pixels: int) -> ImageHeader:
    header: ImageHeader | None = None
    color, orientation, seen = _GRAY, 1, set()
    for name, body in _chunks(view):
        if (name == b"IHDR") is (header is not None):
            raise BadFrameError("a PNG came that does not begin with one IHDR chunk; it is damaged")
        if header is None:
            header, color = _read_ihdr(body)
            _check_size(header.width, header.height, max_pixels)
        elif name == b"acTL":
            raise UnsupportedMediaError(
                "an animated PNG came; one picture is taken: send its frames one by one"
            )
        elif name == b"eXIf":
            orientation = exif_orientation(body)
        seen.add(name)
    if header is None or b"IDAT" not in seen:
        raise BadFrameError("a PNG without picture data came (no IDAT chunk); send a whole image")
    if color == _PALETTE and b"PLTE" not in seen:
        raise BadFrameError("a PNG with a palette came, but without the palette (no PLTE chunk)")
    return replace(header, orientation=orientation)


def _chunks(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Name and body of every chunk up to IEND; each length must fit what is left of the file."""
    at = 8
    for _ in range(MAX_CHUNKS):
        left = len(view) - at - 12
        if left < 0:
            raise BadFrameError(f"a PNG of {len(view)} bytes came that ends before its IEND chunk: truncated")
        length, name = struct.unpack_from(">I4s", view, at)
        if length > left:
            raise BadFrameError(
                f"a PNG came whose chunk {name!r} claims {length} bytes of {left} left: truncated or damaged"
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
    if bits == 16:
        raise UnsupportedMediaError("a PNG of 16 bits a sample came; 8 are taken: store it with 8")
    channels = 1 if color in (_GRAY, _GRAY_ALPHA) else 3
    return ImageHeader(ImageKind.PNG, width, height, channels, bits), color


# EXIF ---------------------------------------------------------------------------------------------

_ORIENTATION, _SHORT = 0x0112, 3


def exif_orientation(tiff: memoryview) -> int:
    """Orientation 1..8 in an EXIF block; 1 when it is missing, damaged or out of range."""
    order = {b"II": "<", b"MM": ">"}.get(bytes(tiff[:2]))
    if order is None or len(tiff) < 10:
        return 1
    (start,) = struct.unpack_from(f"{order}I", tiff, 4)
    if start + 2 > len(tiff):
        return 1
    (entries,) = struct.unpack_from(f"{order}H", tiff, start)
    fits = (len(tiff) - start - 2) // 12
    for at in range(start + 2, start + 2 + 12 * min(entries, fits), 12):
        tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, at)
        if tag == _ORIENTATION:
            return value if kind == _SHORT and 1 <= value <= 8 else 1
    return 1
