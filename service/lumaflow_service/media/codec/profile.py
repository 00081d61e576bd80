"""An ICC profile into a finished image file. Its levels stay as they are; it says which colours they mean."""

import struct
import zlib

_HEADER_BYTES = 128
_SPACE, _SIGNATURE = slice(16, 20), slice(36, 40)
_JPEG_NAME, _JPEG_PART = b"ICC_PROFILE\0", 65_535 - 2 - 14
_PNG_START = 8 + 25
"""The signature and the chunk IHDR, behind which a profile has its place."""
_TIFF_TAG, _TIFF_BYTES = 34_675, 7


def suits(profile: bytes, gray: bool) -> bool:
    """Whether this is a profile of gray levels, or else of RGB: one for inks says nothing of them."""
    space = b"GRAY" if gray else b"RGB "
    return len(profile) > _HEADER_BYTES and profile[_SIGNATURE] == b"acsp" and profile[_SPACE] == space


def with_profile(data: bytes, profile: bytes) -> bytes:
    """A JPEG, PNG or TIFF without a profile, as our encoders make them, with this one."""
    if data.startswith(b"\xff\xd8"):
        start = 4 + int.from_bytes(data[4:6])  # behind JFIF's segment, which is always the first
        return data[:start] + _segments(profile) + data[start:]
    if data.startswith(b"\x89PNG"):
        return data[:_PNG_START] + _chunk(profile) + data[_PNG_START:]
    return _with_tag(data, profile)


def _segments(profile: bytes) -> bytes:
    """One segment APP2 a part: a length, a name, the part's number from 1 and how many there are."""
    parts = [profile[at : at + _JPEG_PART] for at in range(0, len(profile), _JPEG_PART)]
    return b"".join(
        struct.pack(">HH", 0xFFE2, len(part) + 16) + _JPEG_NAME + bytes((number, len(parts))) + part
        for number, part in enumerate(parts, 1)
    )


def _chunk(profile: bytes) -> bytes:
    body = b"iCCP" + b"ICC profile\0\0" + zlib.compress(profile)
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def _with_tag(data: bytes, profile: bytes) -> bytes:
    """The profile at the file's end, then the directory anew with one entry more; entries are sorted."""
    order = "<" if data.startswith(b"II") else ">"
    (start,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, start)
    end = start + 2 + 12 * count
    data, profile_at = _even(data), len(_even(data))
    entries = [data[at : at + 12] for at in range(start + 2, end, 12)]
    entries.append(struct.pack(f"{order}HHII", _TIFF_TAG, _TIFF_BYTES, len(profile), profile_at))
    entries.sort(key=lambda entry: struct.unpack_from(f"{order}H", entry))
    profile_and_rest = _even(profile) + struct.pack(f"{order}H", len(entries)) + b"".join(entries)
    directory_at = struct.pack(f"{order}I", profile_at + len(_even(profile)))
    return data[:4] + directory_at + data[8:] + profile_and_rest + data[end : end + 4]


def _even(data: bytes) -> bytes:
    return data + bytes(len(data) % 2)
