"""Still images that are neither plain JPEG nor plain PNG, read by Pillow: TIFF, WebP, GIF, BMP and others."""

import io
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageCms, UnidentifiedImageError

from lumaflow.frame import Plane
from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.codec.orientation import turned
from lumaflow_service.media.codec.tiff import MAX_SAMPLE_VALUE
from lumaflow_service.media.header import check_size

FORMATS = {
    "AVIF": "AVIF",
    "BMP": "BMP",
    "GIF": "GIF",
    "ICO": "ICO",
    "JPEG 2000": "JPEG2000",
    "PNM": "PPM",
    "TIFF": "TIFF",
    "WebP": "WEBP",
}
"""Pillow's name of every format that is read here, besides animated PNG."""
_BITS_PER_SAMPLE, _EXTRA_SAMPLES, _ORIENTATION = 258, 338, 274
_PREMULTIPLIED = 1
_MODES = {"1": "L", "L": "L", "RGB": "RGB", "RGBX": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB"} | {
    mode: "RGBA" for mode in ("LA", "La", "PA", "RGBA", "RGBa")
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """One picture of a file, upright.

    pixels : (H, W) gray, (H, W, 3) BGR or (H, W, 4) BGRA, uint8 or uint16
    bits : valid ones of a sample
    count : pictures in the file
    profile : its ICC profile, None without one
    """

    pixels: Plane
    bits: int
    count: int
    profile: bytes | None


def read_foreign(data: bytes, name: str, max_pixels: int, orientation: int | None) -> Decoded:
    """The first picture of a file of the format `name`, turned by EXIF number `orientation` or by its own.

    Raises BadFrameError, TooLargeError, UnsupportedMediaError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=[FORMATS.get(name, name)]) as image:
                check_size(*image.size, max_pixels)
                pixels, bits = _pixels(data, image, name)
                number = image.getexif().get(_ORIENTATION, 1) if orientation is None else orientation
                upright = turned(pixels, number if number in range(1, 9) else 1)
                return Decoded(upright, bits, _count(image), image.info.get("icc_profile"))
        except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
            raise TooLargeError(f"{error}: scale it down") from error
        except UnidentifiedImageError as error:
            raise UnsupportedMediaError(
                f"a {name} image came that is damaged or of a rare kind (floating point, say);"
                " store it with 8 or 16 bits a sample"
            ) from error
        except (BadFrameError, TooLargeError, UnsupportedMediaError):
            raise
        except Exception as error:  # a damaged file makes Pillow raise almost anything
            raise BadFrameError(
                f"a {name} image came that cannot be decoded: {error}; store it anew"
            ) from error


def _count(image: Image.Image) -> int:
    return int(getattr(image, "n_frames", 1))


def _pixels(data: bytes, image: Image.Image, name: str) -> tuple[Plane, int]:
    tags = getattr(image, "tag_v2", {})
    depths = tags.get(_BITS_PER_SAMPLE, (8,))
    if len(depths) > 1 and max(depths) == 16:
        return _deep_color(data, tags.get(_EXTRA_SAMPLES, (0,))[0]), 16
    if image.mode.startswith("I"):
        return _deep_gray(image, min(max(depths), 16), tags.get(MAX_SAMPLE_VALUE, (65535,)))
    if image.mode == "P":
        mode = "RGBA" if "transparency" in image.info else "RGB"
    elif image.mode == "LAB":
        mode, image = "RGB", _from_lab(image)
    elif image.mode in _MODES:
        mode = _MODES[image.mode]
    else:
        raise UnsupportedMediaError(
            f"a {name} image of the kind {image.mode} came; convert it to gray or RGB"
        )
    levels = np.asarray(image.convert(mode))
    return (levels if mode == "L" else levels[..., [2, 1, 0, 3][: len(mode)]].copy(order="C")), 8


def _from_lab(image: Image.Image) -> Image.Image:
    profiles = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    made = ImageCms.profileToProfile(image, *profiles, outputMode="RGB")
    assert made is not None
    return made


def _deep_gray(image: Image.Image, depth: int, highest: tuple[int, ...]) -> tuple[Plane, int]:
    """Levels and their valid bits: those that the tags tell, or all 16 where they tell none or too few."""
    levels = np.asarray(image)
    if levels.min() < 0 or levels.max() > 65535:
        raise UnsupportedMediaError("a gray image of more than 16 bits a sample came; store it with 16")
    told = min(depth if depth > 8 else 16, max(int(highest[0]), 1).bit_length())
    bits = next(bits for bits in (10, 12, 14, 16) if bits >= told)
    return levels.astype(np.uint16), bits if levels.max() < 1 << bits else 16


def _deep_color(data: bytes, extra: int) -> Plane:
    """16-bit colour, of which Pillow would keep 8; one multiplied by its alpha is divided by it."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16 or pixels.ndim != 3:
        raise BadFrameError("a TIFF of 16-bit colour came that cannot be decoded; store it anew")
    if extra == _PREMULTIPLIED:
        alpha = np.maximum(pixels[..., 3:], 1).astype(np.float32)
        pixels[..., :3] = np.rint(pixels[..., :3] * (65535 / alpha)).clip(0, 65535)
    return np.asarray(pixels)
