"""The orientation in an EXIF block."""

import struct

_ORIENTATION, _SHORT = 0x0112, 3


def exif_orientation(tiff: memoryview) -> int:
    """The orientation 1..8 in an EXIF block; 1 when it is missing, damaged or out of range."""
    byte_order = {b"II": "<", b"MM": ">"}.get(bytes(tiff[:2]))
    if byte_order is None or len(tiff) < 10:
        return 1
    (directory,) = struct.unpack_from(f"{byte_order}I", tiff, 4)
    if directory + 2 > len(tiff):
        return 1
    (count,) = struct.unpack_from(f"{byte_order}H", tiff, directory)
    complete = (len(tiff) - directory - 2) // 12
    for offset in range(directory + 2, directory + 2 + 12 * min(count, complete), 12):
        tag, field_type, _, value = struct.unpack_from(f"{byte_order}HHIH", tiff, offset)
        if tag == _ORIENTATION:
            return value if field_type == _SHORT and 1 <= value <= 8 else 1
    return 1
