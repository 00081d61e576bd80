"""Images: JPEG and PNG decoded and encoded, pixels of any frame for display, and arrays as npz.

`decode` needs the header that `lumaflow_service.media.header.read_header` has validated.
"""

import numpy as np

from lumaflow.frame import Plane
from lumaflow_service.media.codec.display import display_pixels, lossless_pixels
from lumaflow_service.media.codec.exif_orientation import EXIF_NUMBERS, exif_transpose
from lumaflow_service.media.codec.jpeg import decode_jpeg, encode_jpeg, encode_jpeg_planes
from lumaflow_service.media.codec.jpeg_planes import jpeg_planes
from lumaflow_service.media.codec.npz import pack_npz
from lumaflow_service.media.codec.png import decode_png, encode_png
from lumaflow_service.media.header import ImageFormat, ImageHeader

__all__ = [
    "EXIF_NUMBERS",
    "decode",
    "display_pixels",
    "encode_jpeg",
    "encode_jpeg_planes",
    "encode_png",
    "exif_transpose",
    "jpeg_planes",
    "lossless_pixels",
    "pack_npz",
]

_DECODERS = {ImageFormat.JPEG: decode_jpeg, ImageFormat.PNG: decode_png}


def decode(data: bytes | memoryview, header: ImageHeader, out: Plane | None = None) -> Plane:
    """Decode one image, upright by the header's EXIF orientation.

    Returns (H, W) for gray, (H, W, 3) BGR for colour and (H, W, 4) BGRA with an alpha channel, uint8 or
    uint16 by `header.bits`, with (W, H) = `header.upright_size`. `out`, if given, receives the pixels; it
    must be C-contiguous and of that shape and type. Raises BadFrameError for damaged data, also where the
    decoder would replace missing pixels.
    """
    channels = () if header.channels == 1 else (header.channels,)
    shape, dtype = (*header.upright_size[::-1], *channels), np.uint8 if header.bits <= 8 else np.uint16
    if out is None:
        out = np.empty(shape, dtype)
    elif out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(
            f"expected out of {shape} {np.dtype(dtype)}, contiguous, got {out.shape} {out.dtype}"
        )
    stored = out if header.orientation == 1 else np.empty((header.height, header.width, *channels), dtype)
    _DECODERS[header.format](data, header, stored)
    if stored is not out:
        np.copyto(out, exif_transpose(stored, header.orientation))
    return out
