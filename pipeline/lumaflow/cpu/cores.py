"""How many cores a lane's kernels share their work among."""

from collections.abc import Iterator
from contextlib import contextmanager

import numba

from lumaflow.frame import Geometry

SOLO_PIXELS = 1 << 16
"""Below this a frame stays on one core: waking another one costs as much as it saves."""


def core_count(geometry: Geometry) -> int:
    """Cores for frames of this geometry, at most what `numba.set_num_threads` left to the caller."""
    if geometry.width * geometry.height < SOLO_PIXELS:
        return 1
    return int(numba.get_num_threads())


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Run the kernels called inside on `count` cores."""
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)
