"""The segments of a JPEG."""

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageHeader, ImageKind, check_size

MAX_SCANS = 64
"""Most scans of a progressive JPEG: each one costs a pass over the whole picture."""
MAX_SEGMENTS = 2_000

_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SOS, _EOI, _APP1 = 0xDA, 0xD9, 0xE1
_FRAMES_REFUSED = {0xC3: "lossless", 0xC5: "hierarchical", 0xC6: "hierarchical", 0xC7: "hierarchical"}
_MARKER = re.compile(rb"\xff+([\x01-\xfe])")
_MARKER_AFTER_SCAN = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")


def read_jpeg(view: memoryview, max_pixels: int) -> ImageHeader:
    """The header of a JPEG. Raises as `read_header` does."""
    header: ImageHeader | None = None
    orientation, scans = 1, 0
    for marker, body in segments(view):
        if marker in _SOF:
            if header is not None:
                raise BadFrameError("a JPEG with two frame headers came; it must have one")
            header = _read_sof(marker, body)
            check_size(header.width, header.height, max_pixels)
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


def segments(view: memoryview) -> Iterator[tuple[int, memoryview]]:
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
    if channels not in (1, 3, 4):
        raise BadFrameError(f"a JPEG of {channels} components came; 1 (gray), 3 or 4 (colour) are needed")
    if not height:
        raise UnsupportedMediaError("a JPEG came that gives its height only after the scan; store it anew")
    return ImageHeader(ImageKind.JPEG, width, height, min(channels, 3), bits, inks=channels == 4)
