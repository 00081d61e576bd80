"""Images in and out: JPEG and PNG to pixels and back, any frame as a picture, and arrays to npz.

`decode` takes only what `lumaflow_service.media.header.read_header` let through.
"""

import numpy as np

from lumaflow.frame import Plane
from lumaflow_service.media.codec.display import displayed, kept
from lumaflow_service.media.codec.jpeg import decode_jpeg, encode_jpeg, encode_planes
from lumaflow_service.media.codec.npz import pack_npz
from lumaflow_service.media.codec.orientation import EXIF, turned
from lumaflow_service.media.codec.planes import jpeg_planes
from lumaflow_service.media.codec.png import decode_png, encode_png
from lumaflow_service.media.header import ImageHeader, ImageKind

__all__ = [
    "EXIF",
    "decode",
    "displayed",
    "encode_jpeg",
    "encode_planes",
    "encode_png",
    "jpeg_planes",
    "kept",
    "pack_npz",
    "turned",
]

_DECODERS = {ImageKind.JPEG: decode_jpeg, ImageKind.PNG: decode_png}


def decode(data: bytes | memoryview, header: ImageHeader, out: Plane | None = None) -> Plane:
    """Decode one image, turned upright by the header's orientation.

    Returns (H, W) for gray, (H, W, 3) BGR for colour and (H, W, 4) BGRA with an alpha channel, uint8 or
    uint16 by `header.bits`, with (W, H) = `header.upright_size`; written into `out` when given, which must be
    C-contiguous and of exactly that shape. Raises BadFrameError for damaged data, even where a decoder could
    make something up.
    """
    rest = () if header.channels == 1 else (header.channels,)
    shape, dtype = (*header.upright_size[::-1], *rest), np.uint8 if header.bits <= 8 else np.uint16
    if out is None:
        out = np.empty(shape, dtype)
    elif out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous:
        raise ValueError(f"out is {out.shape} {out.dtype}; a contiguous {shape} {np.dtype(dtype)} is needed")
    stored = out if header.orientation == 1 else np.empty((header.height, header.width, *rest), dtype)
    _DECODERS[header.kind](data, header, stored)
    if stored is not out:
        np.copyto(out, turned(stored, header.orientation))
    return out
