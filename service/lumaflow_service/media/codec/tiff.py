"""TIFF, 8 or 16 bits a sample."""

import io

import numpy as np
from PIL import Image

from lumaflow.frame import Plane
from lumaflow_service.media.codec.opencv import cv2

MAX_SAMPLE_VALUE = 281
"""The tag that says how many of a sample's bits are used."""


def encode_tiff(pixels: Plane, bits: int) -> bytes:
    """TIFF of (H, W) gray, (H, W, 3) BGR or (H, W, 4) BGRA pixels whose samples have so many valid bits."""
    if pixels.ndim == 3 and pixels.dtype == np.uint16:
        return bytes(cv2.imencode(".tiff", pixels)[1].tobytes())  # Pillow knows no deep colour
    levels = pixels[..., [2, 1, 0, 3][: pixels.shape[2]]] if pixels.ndim == 3 else pixels
    image, out = Image.fromarray(np.ascontiguousarray(levels)), io.BytesIO()
    if bits == 8 * pixels.itemsize:
        image.save(out, "TIFF", compression="tiff_lzw")
    else:  # uncompressed, for libtiff, which compresses, writes a value of its own to this tag
        image.save(out, "TIFF", tiffinfo={MAX_SAMPLE_VALUE: (1 << bits) - 1})
    return out.getvalue()
