"""The ICC profile of an image: which colours its levels mean."""

import zlib

from lumaflow_service.media.header.jpeg import segments
from lumaflow_service.media.header.png import chunks

MAX_BYTES = 16 << 20
"""Largest profile that is unpacked; real ones have from 0.5 KiB to 4 MiB."""
_APP2, _SOS = 0xE2, 0xDA
_JPEG_NAME = b"ICC_PROFILE\0"


def read_profile(data: bytes | memoryview) -> bytes | None:
    """The profile in a JPEG or PNG that `read_header` let through; None without a whole one."""
    view = memoryview(data)
    return _in_jpeg(view) if bytes(view[:2]) == b"\xff\xd8" else _in_png(view)


def _in_jpeg(view: memoryview) -> bytes | None:
    """Its segments hold one part each, after the part's number from 1 and how many there are."""
    parts: dict[int, bytes] = {}
    count = 0
    for marker, body in segments(view):
        if marker == _SOS:
            break
        if marker == _APP2 and len(body) >= 14 and bytes(body[:12]) == _JPEG_NAME:
            number, count = body[12:14]
            parts[number] = bytes(body[14:])
    whole = count > 0 and sorted(parts) == list(range(1, count + 1))
    return b"".join(parts[number] for number in sorted(parts)) if whole else None


def _in_png(view: memoryview) -> bytes | None:
    for name, body in chunks(view):
        if name == b"IDAT":
            break
        if name == b"iCCP":
            packed = bytes(body).partition(b"\0")[2][1:]
            return _unpacked(packed)
    return None


def _unpacked(packed: bytes) -> bytes | None:
    unpacker = zlib.decompressobj()
    try:
        profile = unpacker.decompress(packed, MAX_BYTES)
    except zlib.error:
        return None
    return profile if unpacker.eof else None
