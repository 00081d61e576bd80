"""A still image: the frame that goes through a lane, and what is stored of it afterwards."""

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
from lumaflow_service.files.pillow_decoder import FORMATS, Decoded, read_foreign
from lumaflow_service.media.codec import EXIF, decode, displayed, kept
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.media.codec.profile import suits
from lumaflow_service.media.header import foreign_format, read_header, read_profile

MAX_PIXELS = 1 << 28
"""Largest image that is opened: OpenCV's own limit here."""
_GRAYS = {8: PixelFormat.GRAY8, 10: PixelFormat.GRAY10, 12: PixelFormat.GRAY12, 14: PixelFormat.GRAY14}
_COLORS = {3: PixelFormat.BGR24, 4: PixelFormat.BGRA32}
_BAND_ROWS = 64


@dataclass(frozen=True, slots=True)
class StillImage:
    """One still image, upright.

    frame : what is enhanced; for colour of 16 bits its value plane, the largest channel of each pixel
    colors : (H, W, 3 or 4) uint16 BGR or BGRA of 16 bits, else None
    count : pictures in the file, of which this is the first
    profile : the ICC profile of the file, None without one
    """

    frame: Frame
    colors: NDArray[np.uint16] | None
    count: int
    profile: bytes | None = None

    @property
    def bits(self) -> int:
        """Valid bits of a sample."""
        return self.frame.pixel_format.layout.bits

    @property
    def has_alpha(self) -> bool:
        """Whether there is an alpha channel."""
        channels = self.frame.pixel_format.channels if self.colors is None else self.colors.shape[2]
        return channels == 4

    @property
    def fitting_profile(self) -> bytes | None:
        """The profile, where it is one of such pixels as are stored."""
        gray = self.colors is None and self.frame.pixel_format.channels == 1
        return self.profile if self.profile and suits(self.profile, gray) else None

    def shown(self, frame: Frame) -> NDArray[np.uint8]:
        """(H, W) or (H, W, 3) uint8 of this image with `frame` in the place of its own."""
        if self.colors is None:
            return displayed(frame)
        colors = recolored(self.colors[..., :3], self.frame.pixels, frame.pixels)
        return np.asarray(np.rint(colors * np.float32(255 / 65535)), np.uint8)

    def stored(self, frame: Frame, aligned: bool) -> Plane:
        """The same at full depth and with alpha; `aligned`: the levels of any depth fill 16 bits."""
        if self.colors is not None:
            return recolored(self.colors, self.frame.pixels, frame.pixels)
        return kept(frame) if aligned or self.bits == 8 else frame.pixels


def recolored(colors: Plane, before: Plane, after: Plane) -> Plane:
    """Scale each channel as its pixel's value was scaled (spec 9): hue kept, equal channels stay equal.

    colors : (H, W, 3 or 4) uint16, the fourth channel left as it is
    before, after : (H, W) uint16, the largest of the first three channels, and what the mapping made of it
    """
    out = colors.copy()
    for start in range(0, len(colors), _BAND_ROWS):
        rows = slice(start, start + _BAND_ROWS)
        value, mapped = before[rows, :, None], after[rows, :, None].astype(np.float64)
        # Products stay below 2^32, so that float64 rounds as the exact quotient does.
        levels = np.rint(colors[rows, :, :3] * mapped / np.maximum(value, 1))
        out[rows, :, :3] = np.where(value > 0, levels, mapped)
    return out


def read_still(source: Path, orientation: Orientation | None = None) -> StillImage:
    """The first picture of an image file, turned by its own tag or by `orientation` in its place.

    Raises UsageError, BadFileError.
    """
    try:
        with _hushed():
            return _still(_decoded(source.read_bytes(), None if orientation is None else EXIF[orientation]))
    except BadFrameError as error:
        raise BadFileError(f"{source}: {error}") from error
    except (TooLargeError, UnsupportedMediaError) as error:
        raise UsageError(f"{source}: {error}") from error


def _decoded(data: bytes, orientation: int | None) -> Decoded:
    name = foreign_format(data[:16])
    if name in FORMATS:
        return read_foreign(data, name, MAX_PIXELS, orientation)
    header = read_header(data, MAX_PIXELS)
    if header.animated:
        return read_foreign(data, "PNG", MAX_PIXELS, orientation)
    if orientation is not None:
        header = replace(header, orientation=orientation)
    pixels = decode(data, header)
    return Decoded(pixels, 8 * pixels.itemsize, 1, read_profile(data))


def _still(decoded: Decoded) -> StillImage:
    frame, colors = _frame_of(decoded.pixels, decoded.bits)
    return StillImage(frame, colors, decoded.count, decoded.profile)


def _frame_of(pixels: Plane, bits: int) -> tuple[Frame, NDArray[np.uint16] | None]:
    if pixels.ndim == 2:
        return Frame(pixels, _GRAYS.get(bits, PixelFormat.GRAY16)), None
    if pixels.dtype == np.uint8:
        return Frame(pixels, _COLORS[pixels.shape[2]]), None
    blue, green, red = cv2.split(pixels)[:3]
    return Frame(np.asarray(cv2.max(cv2.max(blue, green), red)), PixelFormat.GRAY16), pixels


@contextmanager
def _hushed() -> Iterator[None]:
    """libpng and libtiff print complaints to file descriptor 2 by themselves; the one clear line is ours."""
    sys.stderr.flush()
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
