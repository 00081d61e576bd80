"""Decoding of images with Pillow."""

import io

import numpy as np
import pytest
from PIL import Image

from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from lumaflow_service.files.pillow_decoder import DecodedImage, decode_with_pillow

LIMIT = 1 << 20


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def decoded(image: Image.Image, kind: str = "TIFF", **options: object) -> DecodedImage:
    return decode_with_pillow(encoded(image, kind, **options), kind, LIMIT, None)


@pytest.mark.parametrize(
    ("mode", "shape"),
    [("1", ()), ("L", ()), ("RGB", (3,)), ("CMYK", (3,)), ("P", (3,)), ("RGBA", (4,)), ("LA", (4,))],
)
def test_every_mode_becomes_gray_bgr_or_bgra(mode: str, shape: tuple[int, ...]) -> None:
    image = decoded(Image.new("RGB", (5, 4), (10, 20, 30)).convert(mode))
    assert image.pixels.shape == (4, 5, *shape)
    assert (image.pixels.dtype, image.bits, image.count) == (np.uint8, 8, 1)


def test_channels_are_in_bgr_order() -> None:
    assert decoded(Image.new("RGB", (2, 2), (10, 20, 30))).pixels[0, 0].tolist() == [30, 20, 10]


def test_the_images_of_a_file_are_counted_and_the_first_is_decoded() -> None:
    first, second = (Image.new("L", (4, 4), level) for level in (10, 90))
    image = decoded(first, save_all=True, append_images=[second])
    assert (image.count, int(image.pixels.max())) == (2, 10)


def test_the_icc_profile_is_read() -> None:
    assert decoded(Image.new("L", (4, 4)), icc_profile=b"profile").icc_profile == b"profile"
    assert decoded(Image.new("L", (4, 4))).icc_profile is None


def test_an_orientation_overrides_the_tag() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(Image.new("RGB", (6, 4)), "WEBP", exif=exif)
    assert decode_with_pillow(data, "WebP", LIMIT, None).pixels.shape == (6, 4, 3)
    assert decode_with_pillow(data, "WebP", LIMIT, 1).pixels.shape == (4, 6, 3)


def test_too_many_pixels_are_rejected() -> None:
    with pytest.raises(TooLargeError, match="at most 15 pixels, got 4x4"):
        decode_with_pillow(encoded(Image.new("L", (4, 4)), "BMP"), "BMP", 15, None)


def test_truncated_data_is_rejected() -> None:
    data = encoded(Image.new("RGB", (64, 64), (1, 2, 3)), "BMP")
    with pytest.raises(BadFrameError, match="the BMP image cannot be decoded"):
        decode_with_pillow(data[:200], "BMP", LIMIT, None)


def test_data_of_another_format_is_rejected() -> None:
    with pytest.raises(UnsupportedMediaError, match="the TIFF image is damaged or of an unsupported type"):
        decode_with_pillow(b"II*\0 and text", "TIFF", LIMIT, None)
