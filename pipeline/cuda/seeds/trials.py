"""GPU time of the seeds' kernels, by graph replay; pictures take turns."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from pipeline.cuda.faults import translated
from pipeline.cuda.launch import Kernel
from pipeline.cuda.replay import captured, replay
from pipeline.cuda.seeds import launch, source
from pipeline.options import LbpMapping
from pipeline.tables import hog_gamma, lbp_labels

STEPS = 8  # the slowest of them take milliseconds
REPEATS = 10
LEVELS = 256

Pictures = Sequence[NDArray[np.uint8]]
Enqueue = Callable[[Any, Any], None]
"""Puts the job on one picture, a CuPy array, on a stream."""


def time_count(
    index: int, pictures: Pictures, where: int, wide: int, blocks: int, threads: int
) -> list[float]:
    """Seconds of `seed_histogram` with these defines and this launch, without clearing its bins."""
    with _device(index):
        bins, kernel = cupy.zeros(LEVELS, cupy.uint32), _compiled("seed_histogram", WHERE=where, WIDE=wide)
        return _time(
            pictures,
            lambda stream, pixels: launch.count(stream, kernel, pixels, bins, blocks, threads),
        )


def time_see(index: int, pictures: Pictures, wide: int, blocks: int, threads: int) -> list[float]:
    """Seconds of `seed_lut` with this define and this launch."""
    with _device(index):
        lut, enhanced = (
            cupy.arange(LEVELS, dtype=cupy.uint8)[::-1].copy(),
            cupy.empty(pictures[0].shape, cupy.uint8),
        )
        kernel = _compiled("seed_lut", WIDE=wide)
        return _time(
            pictures,
            lambda stream, pixels: launch.see(stream, kernel, pixels, lut, enhanced, blocks, threads),
        )


def time_transpose(index: int, pictures: Pictures, way: int) -> list[float]:
    """Seconds of `seed_transpose` with this define."""
    with _device(index):
        out, kernel = cupy.empty(pictures[0].shape[::-1], cupy.uint8), _compiled("seed_transpose", WAY=way)
        return _time(pictures, lambda stream, pixels: launch.transpose(stream, kernel, pixels, out))


def time_lbp(index: int, pictures: Pictures, where: int) -> list[float]:
    """Seconds of `seed_lbp` with this define, without clearing its cells."""
    with _device(index):
        cells = _cells(pictures, launch.LBP_CELL, LbpMapping.UNIFORM.labels, np.uint32)
        table, kernel = cupy.asarray(lbp_labels(LbpMapping.UNIFORM)), _compiled("seed_lbp", WHERE=where)
        return _time(pictures, lambda stream, luma: launch.describe_lbp(stream, kernel, luma, table, cells))


def time_hog(index: int, pictures: Pictures, where: int) -> list[float]:
    """Seconds of `seed_hog` with this define, without clearing its cells."""
    with _device(index):
        height, width = pictures[0].shape
        cells = cupy.zeros((height // launch.HOG_CELL, width // launch.HOG_CELL, 9), cupy.float32)
        gamma, kernel = cupy.asarray(hog_gamma()), _compiled("seed_hog", WHERE=where)
        return _time(pictures, lambda stream, luma: launch.describe_hog(stream, kernel, luma, gamma, cells))


def _cells(pictures: Pictures, side: int, values: int, dtype: type[np.generic]) -> Any:
    height, width = pictures[0].shape
    return cupy.zeros((-(-height // side), -(-width // side), values), dtype)


def _compiled(kernel: str, **defines: int) -> Kernel:
    chosen = source(kernel, **defines)
    compiled: Kernel = cupy.RawModule(code=chosen.text, options=chosen.flags).get_function(kernel)
    return compiled


def _time(pictures: Pictures, enqueue: Enqueue) -> list[float]:
    stream = cupy.cuda.Stream(non_blocking=True)
    on_device = [cupy.asarray(picture) for picture in pictures]
    cupy.cuda.Stream.null.synchronize()
    with captured(stream) as graph:
        for picture in islice(cycle(on_device), STEPS):
            enqueue(stream, picture)
    return replay(graph, stream, STEPS, REPEATS)


@contextmanager
def _device(index: int) -> Iterator[None]:
    with translated("timing a seed"), cupy.cuda.Device(index):
        yield
