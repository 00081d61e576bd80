"""Experiment: histogram by atomics in global memory, in shared memory, and per warp."""

from collections.abc import Iterator
from typing import Any

import cv2
from numpy.typing import NDArray

from lumaflow.options import Equalization, Mode, Options
from lumaflow_service.bench.experiments.timing import IMAGES, SQUARE, call_seconds, kernel_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.images import ImageKind, frames

SCENES = (ImageKind.PHOTOGRAPH, ImageKind.DARK, ImageKind.CONSTANT)
COUNTERS = {"global atomics": 0, "shared memory": 1, "warp-private": 2}
LAUNCH = (528, 256)
"""Blocks and threads of the variants, which load 1 byte at a time."""


def measure_histograms(index: int) -> Iterator[Entry]:
    """Yield the time of each variant on images with rare, frequent and constant collisions of atomics."""
    from lumaflow.cuda.bench.experiments.timing import time_histogram

    for scene in SCENES:
        images = frames(scene, SQUARE, IMAGES)
        pixels = [frame.pixels for frame in images]
        subject, first = f"experiment: histogram, 4096x4096, {scene}", None
        for name, count_in in COUNTERS.items():
            samples = time_histogram(index, pixels, count_in, 0, *LAUNCH)
            figure = Figure.of(subject, name, "s", samples, first)
            first = first or Limit("global atomics", figure.median)
            yield figure
        final = kernel_seconds(index, SQUARE, Options(Equalization(Mode.EQUALIZE)), images, "histogram")
        yield Figure.of(subject, "final, with its LUT", "s", final, first)
        yield Figure.of(subject, "cv2.calcHist", "s", call_seconds(cv2_histogram, pixels), first)


def cv2_histogram(pixels: NDArray[Any]) -> object:
    """The reference on the CPU."""
    return cv2.calcHist([pixels], [0], None, [256], [0, 256])
