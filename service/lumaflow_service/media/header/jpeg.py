"""Validation of the segments of a JPEG."""

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from lumaflow_service.errors import BadFrameError, UnsupportedMediaError
from lumaflow_service.media.header.exif import exif_orientation
from lumaflow_service.media.header.image import ImageFormat, ImageHeader, check_size

MAX_SCANS = 64
"""Limit on the scans of a progressive JPEG. Each costs a pass over the whole image."""
MAX_SEGMENTS = 2_000

_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SOS, _EOI, _APP1 = 0xDA, 0xD9, 0xE1
_UNSUPPORTED_FRAMES = {0xC3: "lossless", 0xC5: "hierarchical", 0xC6: "hierarchical", 0xC7: "hierarchical"}
_MARKER = re.compile(rb"\xff+([\x01-\xfe])")
_MARKER_AFTER_SCAN = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")


def read_jpeg(view: memoryview, max_pixels: int) -> ImageHeader:
    """The header of a JPEG. Raises the errors of `read_header`."""
    header: ImageHeader | None = None
    orientation, scans = 1, 0
    for marker, body in segments(view):
        if marker in _SOF:
            if header is not None:
                raise BadFrameError(
                    "the JPEG is damaged: expected one frame header, got two; send another image"
                )
            header = _read_sof(marker, body)
            check_size(header.width, header.height, max_pixels)
        elif marker == _SOS:
            scans += 1
            if header is None or len(body) < 6:
                raise BadFrameError("the JPEG is damaged: a scan has no frame header; send another image")
            if scans > MAX_SCANS:
                raise UnsupportedMediaError(
                    f"expected a JPEG of at most {MAX_SCANS} scans, got more; save it as baseline"
                )
        elif marker == _APP1 and bytes(body[:6]) == b"Exif\0\0" and orientation == 1:
            orientation = exif_orientation(body[6:])
    if header is None or not scans:
        raise BadFrameError("expected a JPEG with a scan, got only headers; send the complete image")
    return replace(header, orientation=orientation)


def segments(view: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Marker and body of every segment up to the end of the image; entropy-coded data is skipped."""
    offset, pattern = 2, _MARKER
    for _ in range(MAX_SEGMENTS):
        match = pattern.match(view, offset) if pattern is _MARKER else pattern.search(view, offset)
        if match is None:
            if offset >= len(view) or pattern is _MARKER_AFTER_SCAN:
                raise BadFrameError(
                    f"the JPEG is truncated: no end marker in {len(view)} bytes; send the complete image"
                )
            raise BadFrameError(f"the JPEG is damaged: no marker at byte {offset}; send another image")
        marker, offset = match[1][0], match.end()
        if marker == _EOI:
            return
        if marker == 0x01:
            continue
        body = _segment_body(view, offset)
        yield marker, body
        offset += 2 + len(body)
        pattern = _MARKER_AFTER_SCAN if marker == _SOS else _MARKER
    raise UnsupportedMediaError(
        f"expected a JPEG of at most {MAX_SEGMENTS} segments, got more; save it again"
    )


def _segment_body(view: memoryview, offset: int) -> memoryview:
    length = int.from_bytes(view[offset : offset + 2])
    if length < 2 or offset + length > len(view):
        raise BadFrameError(
            f"the JPEG is truncated or damaged: its segment at byte {offset} claims {length} bytes of"
            f" {len(view) - offset} left; send the complete image"
        )
    return view[offset + 2 : offset + length]


def _read_sof(marker: int, body: memoryview) -> ImageHeader:
    if len(body) < 6:
        raise BadFrameError(
            f"the JPEG is damaged: its frame header has {len(body)} bytes; send another image"
        )
    bits, height, width, channels = struct.unpack_from(">BHHB", body)
    if len(body) < 6 + 3 * channels:
        raise BadFrameError(
            f"the JPEG is damaged: {channels} components in a short frame header; send another"
        )
    if marker > 0xC8:
        raise UnsupportedMediaError(
            "expected a Huffman-coded JPEG, got an arithmetic-coded one; save it as baseline"
        )
    if marker in _UNSUPPORTED_FRAMES:
        raise UnsupportedMediaError(
            f"expected a baseline JPEG, got a {_UNSUPPORTED_FRAMES[marker]} one; save it as baseline"
        )
    if bits != 8:
        raise UnsupportedMediaError(f"expected a JPEG of 8 bits a sample, got {bits} bits; convert it to 8")
    if channels not in (1, 3, 4):
        raise BadFrameError(f"expected a JPEG of 1, 3 or 4 components, got {channels} components; convert it")
    if not height:
        raise UnsupportedMediaError(
            "expected a JPEG with its height in the frame header, got 0 (DNL marker); save it again"
        )
    return ImageHeader(ImageFormat.JPEG, width, height, min(channels, 3), bits, cmyk=channels == 4)
