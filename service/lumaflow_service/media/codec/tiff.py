"""TIFF, 8 or 16 bits a sample."""

import io

import numpy as np
from PIL import Image

from lumaflow.frame import Plane
from lumaflow_service.media.codec.opencv import cv2

MAX_SAMPLE_VALUE = 281
"""The TIFF tag MaxSampleValue. It tells how many bits of a sample are valid."""


def encode_tiff(pixels: Plane, bits: int) -> bytes:
    """TIFF of (H, W) gray, (H, W, 3) BGR or (H, W, 4) BGRA pixels with `bits` valid bits a sample."""
    if pixels.ndim == 3 and pixels.dtype == np.uint16:
        return bytes(cv2.imencode(".tiff", pixels)[1].tobytes())  # Pillow has no 16-bit colour
    levels = pixels[..., [2, 1, 0, 3][: pixels.shape[2]]] if pixels.ndim == 3 else pixels
    image, out = Image.fromarray(np.ascontiguousarray(levels)), io.BytesIO()
    if bits == 8 * pixels.itemsize:
        image.save(out, "TIFF", compression="tiff_lzw")
    else:  # uncompressed: libtiff, which compresses, overwrites this tag
        image.save(out, "TIFF", tiffinfo={MAX_SAMPLE_VALUE: (1 << bits) - 1})
    return out.getvalue()
