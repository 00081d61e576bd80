"""JPEG by libjpeg-turbo."""

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from lumaflow_service.errors import BadFrameError
from lumaflow_service.media.header import ImageHeader

Bytes = NDArray[np.uint8]


def decode_jpeg(data: bytes | memoryview, header: ImageHeader, out: Bytes) -> None:
    """Decode into `out`, (H, W) gray or (H, W, 3) BGR as stored. Raises BadFrameError."""
    if header.inks:
        _print(_decode(data, "CMYK", np.empty((*out.shape[:2], 4), np.uint8)), out)
    else:
        _decode(data, "GRAY" if header.channels == 1 else "BGR", out)


def _decode(data: bytes | memoryview, space: str, out: Bytes) -> Bytes:
    try:
        pixels = simplejpeg.decode_jpeg(data, space, buffer=out)
    except ValueError as error:
        raise BadFrameError(f"a JPEG came that cannot be decoded: {error}; send it whole") from error
    if pixels.shape[:2] != out.shape[:2]:
        raise BadFrameError(
            f"a JPEG came whose header says {out.shape[:2]} and whose data says {pixels.shape[:2]}"
        )
    return out


def _print(inks: Bytes, out: Bytes) -> None:
    """BGR of CMYK as all JPEGs hold it: 255 is no ink."""
    light = inks[..., 2::-1].astype(np.uint16)
    light *= inks[..., 3:]
    np.copyto(out, (light + 127) // 255, casting="unsafe")


def encode_jpeg(pixels: Bytes, quality: int = 90) -> bytes:
    """JPEG of (H, W) gray or (H, W, 3) BGR pixels, chroma at half size."""
    pixels = np.ascontiguousarray(pixels)
    if pixels.ndim == 2:
        return bytes(simplejpeg.encode_jpeg(pixels[..., None], quality, "GRAY", "Gray"))
    return bytes(simplejpeg.encode_jpeg(pixels, quality, "BGR", "420"))


def encode_planes(luma: Bytes, blue: Bytes, red: Bytes, quality: int = 90) -> bytes:
    """JPEG of planes as `jpeg_planes` gives them."""
    return bytes(simplejpeg.encode_jpeg_yuv_planes(luma, blue, red, quality))
