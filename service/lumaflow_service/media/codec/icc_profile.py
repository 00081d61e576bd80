"""ICC profiles of image files. A profile says which colours the levels mean; it changes no level.

Pillow reads them. Pillow writes them only when it encodes the pixels itself, and it has no 16-bit colour, so
a profile is inserted here into the finished file of an encoder.
"""

import io
import struct
import zlib

from PIL import PngImagePlugin
from PIL.JpegImagePlugin import JpegImageFile

MAX_BYTES = 16 << 20
"""Limit on a decompressed profile in a PNG. Profiles of printers have up to 4 MiB; Pillow's default is 1."""
PngImagePlugin.MAX_TEXT_CHUNK = MAX_BYTES

_HEADER_BYTES = 128
_COLOR_SPACE, _SIGNATURE = slice(16, 20), slice(36, 40)
_JPEG_NAME, _JPEG_PART_BYTES = b"ICC_PROFILE\0", 65_535 - 2 - 14
_AFTER_IHDR = 8 + 25
_TIFF_TAG, _TIFF_UNDEFINED = 34_675, 7


def read_icc_profile(data: bytes) -> bytes | None:
    """The profile of a JPEG or PNG; None without one, or when it is damaged or too large."""
    plugin = JpegImageFile if data.startswith(b"\xff\xd8") else PngImagePlugin.PngImageFile
    try:  # not Image.open, which limits the pixels: the header has been validated
        return plugin(io.BytesIO(data)).info.get("icc_profile")
    except Exception:  # damaged metadata, for which Pillow raises almost anything
        return None


def fits_profile(profile: bytes, gray: bool) -> bool:
    """Whether a profile is one of gray or RGB levels. A CMYK profile, for example, fits neither."""
    color_space = b"GRAY" if gray else b"RGB "
    is_icc = len(profile) > _HEADER_BYTES and profile[_SIGNATURE] == b"acsp"
    return is_icc and profile[_COLOR_SPACE] == color_space


def insert_icc_profile(data: bytes, profile: bytes) -> bytes:
    """A JPEG, PNG or TIFF of the encoders of this package, which has no profile, with this one."""
    if data.startswith(b"\xff\xd8"):
        after_jfif = 4 + int.from_bytes(data[4:6])
        return data[:after_jfif] + _jpeg_segments(profile) + data[after_jfif:]
    if data.startswith(b"\x89PNG"):
        return data[:_AFTER_IHDR] + _png_chunk(profile) + data[_AFTER_IHDR:]
    return _add_tiff_tag(data, profile)


def _jpeg_segments(profile: bytes) -> bytes:
    """One APP2 segment for each part: length, name, number of the part from 1, number of parts."""
    starts = range(0, len(profile), _JPEG_PART_BYTES)
    parts = [profile[start : start + _JPEG_PART_BYTES] for start in starts]
    return b"".join(
        struct.pack(">HH", 0xFFE2, len(part) + 16) + _JPEG_NAME + bytes((number, len(parts))) + part
        for number, part in enumerate(parts, 1)
    )


def _png_chunk(profile: bytes) -> bytes:
    body = b"iCCP" + b"ICC profile\0\0" + zlib.compress(profile)
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def _add_tiff_tag(data: bytes, profile: bytes) -> bytes:
    """Append the profile, and a copy of the directory with one more entry. Entries are sorted by tag."""
    order = "<" if data.startswith(b"II") else ">"
    (directory,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, directory)
    end = directory + 2 + 12 * count
    even_data, even_profile = data + bytes(len(data) % 2), profile + bytes(len(profile) % 2)
    entries = [data[start : start + 12] for start in range(directory + 2, end, 12)]
    entries.append(struct.pack(f"{order}HHII", _TIFF_TAG, _TIFF_UNDEFINED, len(profile), len(even_data)))
    entries.sort(key=lambda entry: struct.unpack_from(f"{order}H", entry))
    new_directory = struct.pack(f"{order}H", len(entries)) + b"".join(entries) + data[end : end + 4]
    pointer = struct.pack(f"{order}I", len(even_data) + len(even_profile))
    return even_data[:4] + pointer + even_data[8:] + even_profile + new_directory
