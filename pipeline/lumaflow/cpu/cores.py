"""The number of CPU cores that the kernels of a lane use, and how their threads wait."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numba

from lumaflow.geometry import Geometry

SINGLE_CORE_PIXELS = 1 << 16
"""Smaller frames are processed on one core: to wake a second one costs as much as it saves."""


def limit_thread_spin() -> None:
    """Limit how long idle OpenMP threads spin, unless GOMP_SPINCOUNT is set. Call before the first kernel.

    Numba's threads wait for each other after every loop. GNU OpenMP lets them spin for milliseconds, which
    starves a thread that has no core: a 1080p step took 35..80 ms on two busy cores and takes 2..7 ms with
    this limit; on idle cores both take 1.15 ms. OpenMP reads the variable once, when Numba loads it.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def core_count(geometry: Geometry) -> int:
    """Return the number of cores for frames of this geometry, at most `numba.get_num_threads()`."""
    if geometry.width * geometry.height < SINGLE_CORE_PIXELS:
        return 1
    return int(numba.get_num_threads())


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Run the kernels inside the `with` block on `count` cores."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)
