"""JPEG with libjpeg-turbo."""

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from lumaflow_service.errors import BadFrameError
from lumaflow_service.media.header import ImageHeader

Bytes = NDArray[np.uint8]


def decode_jpeg(data: bytes | memoryview, header: ImageHeader, out: Bytes) -> None:
    """Decode into `out`, (H, W) gray or (H, W, 3) BGR as stored. Raises BadFrameError."""
    if header.cmyk:
        _cmyk_to_bgr(_decode(data, "CMYK", np.empty((*out.shape[:2], 4), np.uint8)), out)
    else:
        _decode(data, "GRAY" if header.channels == 1 else "BGR", out)


def _decode(data: bytes | memoryview, color_space: str, out: Bytes) -> Bytes:
    try:
        pixels = simplejpeg.decode_jpeg(data, color_space, buffer=out)
    except ValueError as error:
        raise BadFrameError(f"the JPEG cannot be decoded: {error}; send a complete JPEG") from error
    if pixels.shape[:2] != out.shape[:2]:
        raise BadFrameError(
            f"the JPEG is damaged: expected {out.shape[:2]} pixels as in its header, got {pixels.shape[:2]}"
        )
    return out


def _cmyk_to_bgr(cmyk: Bytes, out: Bytes) -> None:
    """BGR of inverted CMYK, as JPEG files store it: 255 means 0 % ink."""
    bgr = cmyk[..., 2::-1].astype(np.uint16)
    bgr *= cmyk[..., 3:]
    np.copyto(out, (bgr + 127) // 255, casting="unsafe")


def encode_jpeg(pixels: Bytes, quality: int = 90) -> bytes:
    """JPEG of (H, W) gray or (H, W, 3) BGR pixels, in 4:2:0."""
    pixels = np.ascontiguousarray(pixels)
    if pixels.ndim == 2:
        return bytes(simplejpeg.encode_jpeg(pixels[..., None], quality, "GRAY", "Gray"))
    return bytes(simplejpeg.encode_jpeg(pixels, quality, "BGR", "420"))


def encode_jpeg_planes(luma: Bytes, cb: Bytes, cr: Bytes, quality: int = 90) -> bytes:
    """JPEG of the planes that `jpeg_planes` returns."""
    return bytes(simplejpeg.encode_jpeg_yuv_planes(luma, cb, cr, quality))
