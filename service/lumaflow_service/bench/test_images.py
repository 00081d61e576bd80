"""Pictures to measure with: made by code, or read from a file."""

from enum import StrEnum
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import FrameError
from lumaflow.formats import Family, PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry

Pixels = NDArray[np.uint8]

CONSTANT_LEVEL = 96
NOISE = 2.0  # standard deviation in grey levels: a camera by day
TINT = 12.0  # standard deviation of a colour against the luma
SOFTEST = 7  # octaves of blotches, the largest 128 px wide


class TestImage(StrEnum):
    """What the picture looks like; histograms and JPEG sizes differ a lot between them."""

    PHOTOGRAPH = "photograph"
    DARK = "dark"
    CONSTANT = "constant"
    RANDOM = "random"


def picture(scene: TestImage, geometry: Geometry, seed: int = 0) -> Pixels:
    """One picture of `geometry.shape`; the same seed gives the same picture."""
    rng = np.random.default_rng(seed)
    if scene is TestImage.CONSTANT:
        return np.full(geometry.shape, CONSTANT_LEVEL, np.uint8)
    if scene is TestImage.RANDOM:
        return rng.integers(0, 256, geometry.shape, np.uint8)
    levels = _photograph(geometry, rng)
    if scene is TestImage.DARK:
        levels *= 0.2
    levels += rng.normal(0, NOISE, levels.shape).astype(np.float32)
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8).reshape(geometry.shape)


def frames(scene: TestImage, geometry: Geometry, count: int, seed: int = 0) -> list[Frame]:
    """`count` different frames of one scene: a made picture, and the same rolled on by parts of its height.

    Deep levels have noise below those of 8 bits; chroma is a faint copy of the luma. Not for woven formats.
    """
    colored = geometry.layout.family is Family.RGB
    plain = geometry if colored else Geometry(geometry.width, geometry.height, PixelFormat.GRAY8)
    made = picture(scene, plain, seed)
    rolls = (index * geometry.height // count for index in range(count))
    return [frame_of(np.roll(made, roll, axis=0), geometry) for roll in rolls]


def frame_of(pixels: Pixels, geometry: Geometry) -> Frame:
    """A frame of `geometry` whose first plane shows `pixels`, made for its size in 8 bits."""
    frame = Frame.empty(geometry)
    below, shift = geometry.layout.bits - 8, geometry.shift
    noise = np.random.default_rng(0).integers(0, 1 << below, geometry.width, np.uint16)
    levels = pixels if below == 0 else (pixels.astype(np.uint16) << below | noise) << shift
    np.copyto(frame.pixels, levels)
    for plane in frame.chroma:
        faint = 112 + cv2.resize(pixels, plane.shape[1::-1], interpolation=cv2.INTER_NEAREST) // 8
        levels = faint.astype(plane.dtype) << below + shift
        plane[...] = levels[..., None] if plane.ndim == 3 else levels
    return frame


def read_picture(path: Path, geometry: Geometry) -> Pixels:
    """The photograph at `path` in the size and format of `geometry`. Raises FrameError if unreadable."""
    gray = geometry.pixel_format is PixelFormat.GRAY8
    read = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE if gray else cv2.IMREAD_COLOR)
    if read is None:
        raise FrameError(f"{path} came, which is not an image that can be read; give a JPEG or PNG")
    sized = cv2.resize(read, (geometry.width, geometry.height), interpolation=cv2.INTER_AREA)
    return sized.astype(np.uint8, copy=False)


def _photograph(geometry: Geometry, rng: np.random.Generator) -> NDArray[np.float32]:
    # Natural pictures have as much contrast in every octave: blotches of all sizes, and a few hard edges.
    height, width = geometry.height, geometry.width
    levels = np.full((height, width), 110, np.float32)
    for octave in range(1, SOFTEST + 1):
        levels += _blotches(height, width, octave, 2.0 + 3.0 * octave, rng)
    for _ in range(24):
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        levels[top : top + height // 5, left : left + width // 9] += rng.normal(0, 30)
    tints = [_blotches(height, width, SOFTEST, TINT, rng) for _ in range(geometry.pixel_format.channels)]
    return np.stack([levels + tint for tint in tints], axis=-1)


def _blotches(
    height: int, width: int, octave: int, deviation: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    small = rng.normal(0, deviation, (height // 2**octave + 1, width // 2**octave + 1))
    return cv2.resize(small.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)  # type: ignore[return-value]
