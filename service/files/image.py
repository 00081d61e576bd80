"""Enhancing a still image by its own mapping, turned upright by its EXIF tag."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.frame import Frame, PixelFormat
from service.codec import decode, encode_jpeg, encode_png
from service.errors import BadFrameError, TooLargeError, UnsupportedMediaError
from service.files.errors import BadFileError, UsageError
from service.files.features import FeatureFile
from service.files.flow import Job, enhanced
from service.files.outcome import Outcome
from service.files.split import Split
from service.files.target import check_target, written
from service.header import read_header

MAX_PIXELS = 1 << 28
"""Largest image that is opened: OpenCV's own limit here."""
QUALITY = 95


def enhance_image(source: Path, target: Path, job: Job, features: FeatureFile | None = None) -> Outcome:
    """Enhance one JPEG or PNG. Raises UsageError, BadFileError; then nothing is written."""
    encode = _encoder(target)
    check_target(target, job.force)
    frame = read_image(source)
    outcome = Outcome(target, frame.geometry.width, frame.geometry.height, frames=1)
    with written(target, job.force) as part:
        for raw, result in enhanced([frame], job):
            pixels = result.frame.pixels
            part.write_bytes(encode(Split().join(raw.pixels, pixels) if job.side_by_side else pixels))
            if features:
                features.add(result)
    return outcome


def describe_image(source: Path, job: Job, features: FeatureFile) -> int:
    """Extract the features of one JPEG or PNG; returns the number of frames, 1."""
    for _, result in enhanced([read_image(source)], job):
        features.add(result)
    return 1


def read_image(source: Path) -> Frame:
    """The upright pixels of a JPEG or PNG, gray8 or bgr24. Raises UsageError, BadFileError."""
    data = source.read_bytes()
    try:
        with _hushed():
            pixels = decode(data, read_header(data, MAX_PIXELS))
    except BadFrameError as error:
        raise BadFileError(f"{source}: {error}") from error
    except (TooLargeError, UnsupportedMediaError) as error:
        raise UsageError(f"{source}: {error}") from error
    return Frame(pixels, PixelFormat.GRAY8 if pixels.ndim == 2 else PixelFormat.BGR24)


def _encoder(target: Path) -> Callable[[NDArray[np.uint8]], bytes]:
    match target.suffix.lower():
        case ".png":
            return encode_png
        case ".jpg" | ".jpeg":
            return lambda pixels: encode_jpeg(pixels, QUALITY)
    raise UsageError(f"{target} cannot be written as an image; give a name that ends in .jpg or .png")


@contextmanager
def _hushed() -> Iterator[None]:
    """libpng prints its complaints to file descriptor 2 by itself; the one clear line is ours."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
