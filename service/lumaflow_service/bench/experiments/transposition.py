"""Experiment: transposition through global memory, a tile and a padded tile, and the production kernel."""

from collections.abc import Iterator

import cv2

from lumaflow.errors import DeviceError
from lumaflow.options import Equalization, Mode, Options, Orientation
from lumaflow_service.bench.experiments.timing import IMAGES, SQUARE, call_seconds, kernel_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.images import ImageKind, frames

METHODS = {"global memory": 0, "shared tile": 1, "padded tile": 2}


def measure_transposition(index: int) -> Iterator[Entry]:
    """Yield the time of each method relative to a copy of the same bytes."""
    from lumaflow.cuda.bench.experiments.timing import time_transpose
    from lumaflow.cuda.bench.profiler import copy_bandwidth

    images = frames(ImageKind.PHOTOGRAPH, SQUARE, IMAGES)
    pixels, subject = [frame.pixels for frame in images], "experiment: transposition, 4096x4096"
    copy = Limit("a copy", 2 * SQUARE.frame_bytes / copy_bandwidth(index))
    for name, method in METHODS.items():
        yield Figure.of(subject, name, "s", time_transpose(index, pixels, method), copy)
    options = Options(Equalization(Mode.IDENTITY), orientation=Orientation.TRANSPOSE)
    try:
        final = kernel_seconds(index, SQUARE, options, images, "transpose")
        yield Figure.of(subject, "final", "s", final, copy)
    except DeviceError as error:
        yield Skipped(subject, "final", str(error))
    yield Figure.of(subject, "cv2.transpose", "s", call_seconds(cv2.transpose, pixels), copy)
