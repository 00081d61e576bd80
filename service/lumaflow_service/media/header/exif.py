"""The one thing that matters in an EXIF block."""

import struct

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
