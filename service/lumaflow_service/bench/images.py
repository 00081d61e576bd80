"""Images to measure with: generated, or read from a file."""

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
NOISE = 2.0  # standard deviation in grey levels, as of a camera in daylight
TINT = 12.0  # standard deviation of a colour channel from the luma
OCTAVES = 7  # of smooth noise, the largest structures are 128 px wide


class ImageKind(StrEnum):
    """Kinds of images; their histograms and JPEG sizes differ a lot."""

    PHOTOGRAPH = "photograph"
    DARK = "dark"
    CONSTANT = "constant"
    RANDOM = "random"


def generate_image(scene: ImageKind, geometry: Geometry, seed: int = 0) -> Pixels:
    """One image of shape `geometry.shape`; the same seed gives the same image."""
    rng = np.random.default_rng(seed)
    if scene is ImageKind.CONSTANT:
        return np.full(geometry.shape, CONSTANT_LEVEL, np.uint8)
    if scene is ImageKind.RANDOM:
        return rng.integers(0, 256, geometry.shape, np.uint8)
    levels = _photograph(geometry, rng)
    if scene is ImageKind.DARK:
        levels *= 0.2
    levels += rng.normal(0, NOISE, levels.shape).astype(np.float32)
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8).reshape(geometry.shape)


def frames(scene: ImageKind, geometry: Geometry, count: int, seed: int = 0) -> list[Frame]:
    """`count` different frames of one scene: a generated image, rolled vertically by fractions of its height.

    Samples of more than 8 bits have noise in the low bits; chroma is a weak copy of the luma. Packed 4:2:2
    formats are not supported.
    """
    colored = geometry.layout.family is Family.RGB
    plain = geometry if colored else Geometry(geometry.width, geometry.height, PixelFormat.GRAY8)
    image = generate_image(scene, plain, seed)
    rolls = (index * geometry.height // count for index in range(count))
    return [frame_of(np.roll(image, roll, axis=0), geometry) for roll in rolls]


def frame_of(pixels: Pixels, geometry: Geometry) -> Frame:
    """A frame of `geometry` whose first plane contains `pixels`, 8-bit pixels of the same size."""
    frame = Frame.empty(geometry)
    extra_bits, shift = geometry.layout.bits - 8, geometry.shift
    noise = np.random.default_rng(0).integers(0, 1 << extra_bits, geometry.width, np.uint16)
    levels = pixels if extra_bits == 0 else (pixels.astype(np.uint16) << extra_bits | noise) << shift
    np.copyto(frame.pixels, levels)
    for plane in frame.chroma:
        chroma = 112 + cv2.resize(pixels, plane.shape[1::-1], interpolation=cv2.INTER_NEAREST) // 8
        levels = chroma.astype(plane.dtype) << extra_bits + shift
        plane[...] = levels[..., None] if plane.ndim == 3 else levels
    return frame


def read_image(path: Path, geometry: Geometry) -> Pixels:
    """The image file `path`, resized and converted to `geometry`. Raises FrameError if it is unreadable."""
    gray = geometry.pixel_format is PixelFormat.GRAY8
    image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE if gray else cv2.IMREAD_COLOR)
    if image is None:
        raise FrameError(f"expected a JPEG or PNG image, got {path}; OpenCV cannot read it")
    resized = cv2.resize(image, (geometry.width, geometry.height), interpolation=cv2.INTER_AREA)
    return resized.astype(np.uint8, copy=False)


def _photograph(geometry: Geometry, rng: np.random.Generator) -> NDArray[np.float32]:
    # Natural images have similar contrast in each octave: smooth noise of all sizes, and a few hard edges.
    height, width = geometry.height, geometry.width
    levels = np.full((height, width), 110, np.float32)
    for octave in range(1, OCTAVES + 1):
        levels += _smooth_noise(height, width, octave, 2.0 + 3.0 * octave, rng)
    for _ in range(24):
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        levels[top : top + height // 5, left : left + width // 9] += rng.normal(0, 30)
    tints = [_smooth_noise(height, width, OCTAVES, TINT, rng) for _ in range(geometry.pixel_format.channels)]
    return np.stack([levels + tint for tint in tints], axis=-1)


def _smooth_noise(
    height: int, width: int, octave: int, deviation: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    small = rng.normal(0, deviation, (height // 2**octave + 1, width // 2**octave + 1))
    return cv2.resize(small.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)  # type: ignore[return-value]
