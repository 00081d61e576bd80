"""Decoding of images other than JPEG and still PNG with Pillow: TIFF, WebP, GIF, BMP and others."""

import io
import warnings
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageCms, UnidentifiedImageError

from lumaflow.frame import Plane
from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from lumaflow_service.media.codec.exif_orientation import exif_transpose
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.codec.tiff import MAX_SAMPLE_VALUE
from lumaflow_service.media.header import check_size

PILLOW_FORMATS = {
    "AVIF": "AVIF",
    "BMP": "BMP",
    "GIF": "GIF",
    "ICO": "ICO",
    "JPEG 2000": "JPEG2000",
    "PNM": "PPM",
    "TIFF": "TIFF",
    "WebP": "WEBP",
}
"""The readable formats and their names in Pillow. Animated PNG is read as well."""
_BITS_PER_SAMPLE, _EXTRA_SAMPLES, _ORIENTATION = 258, 338, 274
_PREMULTIPLIED = 1
_MODES = {"1": "L", "L": "L", "RGB": "RGB", "RGBX": "RGB", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB"} | {
    mode: "RGBA" for mode in ("LA", "La", "PA", "RGBA", "RGBa")
}


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """One image of a file, upright.

    pixels : (H, W) gray, (H, W, 3) BGR or (H, W, 4) BGRA, uint8 or uint16
    bits : valid bits of a sample
    count : images in the file
    icc_profile : the profile in the file, or None
    """

    pixels: Plane
    bits: int
    count: int
    icc_profile: bytes | None


def decode_with_pillow(data: bytes, name: str, max_pixels: int, orientation: int | None) -> DecodedImage:
    """The first image of a file of the format `name`, upright by EXIF number `orientation` or its own tag.

    Raises BadFrameError, TooLargeError, UnsupportedMediaError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=[PILLOW_FORMATS.get(name, name)]) as image:
                check_size(*image.size, max_pixels)
                pixels, bits = _pixels(data, image, name)
                number = image.getexif().get(_ORIENTATION, 1) if orientation is None else orientation
                upright = exif_transpose(pixels, number if number in range(1, 9) else 1)
                return DecodedImage(upright, bits, _count(image), image.info.get("icc_profile"))
        except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
            raise TooLargeError(f"{error}; scale the image") from error
        except UnidentifiedImageError as error:
            raise UnsupportedMediaError(
                f"the {name} image is damaged or of an unsupported type, floating point for example;"
                " save it with 8 or 16 bits a sample"
            ) from error
        except (BadFrameError, TooLargeError, UnsupportedMediaError):
            raise
        except Exception as error:  # Pillow raises almost anything for a damaged file
            raise BadFrameError(f"the {name} image cannot be decoded: {error}; save it again") from error


def _count(image: Image.Image) -> int:
    return int(getattr(image, "n_frames", 1))


def _pixels(data: bytes, image: Image.Image, name: str) -> tuple[Plane, int]:
    tags = getattr(image, "tag_v2", {})
    depths = tags.get(_BITS_PER_SAMPLE, (8,))
    if len(depths) > 1 and max(depths) == 16:
        return _decode_color16(data, tags.get(_EXTRA_SAMPLES, (0,))[0]), 16
    if image.mode.startswith("I"):
        return _gray16(image, min(max(depths), 16), tags.get(MAX_SAMPLE_VALUE, (65535,)))
    if image.mode == "P":
        mode = "RGBA" if "transparency" in image.info else "RGB"
    elif image.mode == "LAB":
        mode, image = "RGB", _lab_to_rgb(image)
    elif image.mode in _MODES:
        mode = _MODES[image.mode]
    else:
        raise UnsupportedMediaError(
            f"expected gray or RGB, got a {name} image of mode {image.mode}; convert it"
        )
    levels = np.asarray(image.convert(mode))
    return (levels if mode == "L" else levels[..., [2, 1, 0, 3][: len(mode)]].copy(order="C")), 8


def _lab_to_rgb(image: Image.Image) -> Image.Image:
    profiles = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    rgb = ImageCms.profileToProfile(image, *profiles, outputMode="RGB")
    assert rgb is not None
    return rgb


def _gray16(image: Image.Image, depth: int, max_sample: tuple[int, ...]) -> tuple[Plane, int]:
    """Levels and their valid bits: by the tags, or 16 where the tags are missing or too low."""
    levels = np.asarray(image)
    if levels.min() < 0 or levels.max() > 65535:
        raise UnsupportedMediaError("expected gray of at most 16 bits a sample, got more; save it with 16")
    tagged = min(depth if depth > 8 else 16, max(int(max_sample[0]), 1).bit_length())
    bits = next(bits for bits in (10, 12, 14, 16) if bits >= tagged)
    return levels.astype(np.uint16), bits if levels.max() < 1 << bits else 16


def _decode_color16(data: bytes, extra_samples: int) -> Plane:
    """16-bit colour with OpenCV, for Pillow would keep 8 bits. Premultiplied colour is divided by alpha."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16 or pixels.ndim != 3:
        raise BadFrameError("the TIFF of 16-bit colour cannot be decoded; save it again")
    if extra_samples == _PREMULTIPLIED:
        alpha = np.maximum(pixels[..., 3:], 1).astype(np.float32)
        pixels[..., :3] = np.rint(pixels[..., :3] * (65535 / alpha)).clip(0, 65535)
    return np.asarray(pixels)
