"""A still image: the frame for a lane, and the pixels to store afterwards."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame, Plane
from lumaflow.options import Orientation
from lumaflow_service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.pillow_decoder import PILLOW_FORMATS, DecodedImage, decode_with_pillow
from lumaflow_service.media.codec import EXIF_NUMBERS, decode, display_pixels, lossless_pixels
from lumaflow_service.media.codec.icc_profile import fits_profile, read_icc_profile
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.header import other_image_format, read_header

MAX_PIXELS = 1 << 28
"""Limit on the pixels of an image, the same as OpenCV's in this program."""
_GRAY_FORMATS = {
    8: PixelFormat.GRAY8,
    10: PixelFormat.GRAY10,
    12: PixelFormat.GRAY12,
    14: PixelFormat.GRAY14,
}
_COLOR_FORMATS = {3: PixelFormat.BGR24, 4: PixelFormat.BGRA32}
_ROWS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class StillImage:
    """One still image, upright.

    frame : the frame to enhance; for 16-bit colour its value plane, the largest channel of each pixel
    color16 : (H, W, 3 or 4) uint16 BGR or BGRA for 16-bit colour, else None
    count : images in the file, of which this is the first
    icc_profile : the profile in the file, or None
    """

    frame: Frame
    color16: NDArray[np.uint16] | None
    count: int
    icc_profile: bytes | None = None

    @property
    def bits(self) -> int:
        """Valid bits of a sample."""
        return self.frame.pixel_format.layout.bits

    @property
    def has_alpha(self) -> bool:
        """Whether there is an alpha channel."""
        channels = self.frame.pixel_format.channels if self.color16 is None else self.color16.shape[2]
        return channels == 4

    @property
    def output_profile(self) -> bytes | None:
        """The ICC profile, if it is one of the stored pixels, gray or RGB."""
        gray = self.color16 is None and self.frame.pixel_format.channels == 1
        return self.icc_profile if self.icc_profile and fits_profile(self.icc_profile, gray) else None

    def display_pixels(self, frame: Frame) -> NDArray[np.uint8]:
        """(H, W) or (H, W, 3) uint8 of this image with its frame replaced by `frame`."""
        if self.color16 is None:
            return display_pixels(frame)
        colors = scale_by_value(self.color16[..., :3], self.frame.pixels, frame.pixels)
        return np.asarray(np.rint(colors * np.float32(255 / 65535)), np.uint8)

    def lossless_pixels(self, frame: Frame, full_scale: bool) -> Plane:
        """The same at full depth and with alpha. `full_scale`: white of any depth above 8 bits is 65535."""
        if self.color16 is not None:
            return scale_by_value(self.color16, self.frame.pixels, frame.pixels)
        return lossless_pixels(frame) if full_scale or self.bits == 8 else frame.pixels


def scale_by_value(colors: Plane, value: Plane, enhanced_value: Plane) -> Plane:
    """Scale the channels of each pixel by enhanced_value / value (docs/spec.md, 9); hue stays the same.

    colors : (H, W, 3 or 4) uint16; the fourth channel is unchanged
    value, enhanced_value : (H, W) uint16, the largest of the first three channels, raw and enhanced
    """
    scaled = colors.copy()
    for start in range(0, len(colors), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        divisor, factor = value[rows, :, None], enhanced_value[rows, :, None].astype(np.float64)
        # Products are below 2^32, so float64 rounds like the exact quotient.
        levels = np.rint(colors[rows, :, :3] * factor / np.maximum(divisor, 1))
        scaled[rows, :, :3] = np.where(divisor > 0, levels, factor)
    return scaled


def read_still_image(source: Path, orientation: Orientation | None = None) -> StillImage:
    """The first image of a file, reoriented by its EXIF tag, or by `orientation` if given.

    Raises UsageError, BadFileError.
    """
    number = None if orientation is None else EXIF_NUMBERS[orientation]
    try:
        with _silenced_stderr():
            decoded = _decode(source.read_bytes(), number)
    except BadFrameError as error:
        raise BadFileError(f"{source}: {error}") from error
    except (TooLargeError, UnsupportedMediaError) as error:
        raise UsageError(f"{source}: {error}") from error
    frame, color16 = _to_frame(decoded.pixels, decoded.bits)
    return StillImage(frame, color16, decoded.count, decoded.icc_profile)


def _decode(data: bytes, orientation: int | None) -> DecodedImage:
    other_format = other_image_format(data[:16])
    if other_format in PILLOW_FORMATS:
        return decode_with_pillow(data, other_format, MAX_PIXELS, orientation)
    header = read_header(data, MAX_PIXELS)
    if header.animated:
        return decode_with_pillow(data, "PNG", MAX_PIXELS, orientation)
    if orientation is not None:
        header = replace(header, orientation=orientation)
    pixels = decode(data, header)
    return DecodedImage(pixels, 8 * pixels.itemsize, 1, read_icc_profile(data))


def _to_frame(pixels: Plane, bits: int) -> tuple[Frame, NDArray[np.uint16] | None]:
    """The frame of an image, and the colours beside it if they have 16 bits."""
    if pixels.ndim == 2:
        return Frame(pixels, _GRAY_FORMATS.get(bits, PixelFormat.GRAY16)), None
    if pixels.dtype == np.uint8:
        return Frame(pixels, _COLOR_FORMATS[pixels.shape[2]]), None
    blue, green, red = cv2.split(pixels)[:3]
    return Frame(np.asarray(cv2.max(cv2.max(blue, green), red)), PixelFormat.GRAY16), pixels


@contextmanager
def _silenced_stderr() -> Iterator[None]:
    """Discard what libpng and libtiff print to file descriptor 2; the error of this program is enough."""
    sys.stderr.flush()
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
