"""Seed 1: a histogram by atomics in global memory, in shared memory, in a copy a warp, and as it is now."""

from collections.abc import Iterator
from typing import Any

import cv2
from numpy.typing import NDArray

from lumaflow.options import Equalization, Mode, Options
from lumaflow_service.bench.experiments.timing import PICTURES, SQUARE, call_seconds, kernel_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.test_images import TestImage, frames

SCENES = (TestImage.PHOTOGRAPH, TestImage.DARK, TestImage.CONSTANT)
PLACES = {"global atomics": 0, "shared memory": 1, "warp-private": 2}
LAUNCH = (528, 256)
"""Blocks and threads of the variants, which read a byte at a time."""


def measure_histograms(index: int) -> Iterator[Entry]:
    """Yield what each way takes on pictures whose levels meet rarely, often and always."""
    from lumaflow.cuda.bench.experiments.timing import time_count

    for scene in SCENES:
        shown = frames(scene, SQUARE, PICTURES)
        pixels = [frame.pixels for frame in shown]
        subject, first = f"seed: histogram, 4096x4096, {scene}", None
        for name, where in PLACES.items():
            figure = Figure.of(subject, name, "s", time_count(index, pixels, where, 0, *LAUNCH), first)
            first = first or Limit("global atomics", figure.median)
            yield figure
        final = kernel_seconds(index, SQUARE, Options(Equalization(Mode.EQUALIZE)), shown, "histogram")
        yield Figure.of(subject, "final, with its LUT", "s", final, first)
        yield Figure.of(subject, "cv2.calcHist", "s", call_seconds(cv2_histogram, pixels), first)


def cv2_histogram(pixels: NDArray[Any]) -> object:
    """What the GPU is held against."""
    return cv2.calcHist([pixels], [0], None, [256], [0, 256])
