"""Kernels for samples of 10 to 16 bits: range check, clamping, alignment (spec 8)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Samples = NDArray[np.uint16]


@njit(nogil=True, cache=True, parallel=True)
def max_sample(samples: Samples) -> Any:
    """Return the largest value of `samples` (H, W) uint16."""
    top = np.uint16(0)
    for y in prange(samples.shape[0]):
        top = max(top, _row_max(samples[y]))
    return top


@njit(nogil=True, cache=True, parallel=True)
def clamp_samples(samples: Samples, top: int, out: Samples) -> Any:
    """Write `samples` (H, W) uint16, clamped to `top`, to `out`; return the number of values above `top`."""
    count = 0
    for y in prange(samples.shape[0]):
        count += _clamp_row(samples[y], np.uint16(top), out[y])
    return count


@njit(nogil=True, cache=True, parallel=True)
def shift_right(samples: Samples, shift: int, out: Samples) -> None:
    """Write `samples` >> `shift`, (H, W) uint16, to `out`: MSB-aligned samples to LSB alignment."""
    for y in prange(samples.shape[0]):
        row, levels = samples[y], out[y]
        for x in range(row.size):
            levels[x] = row[x] >> np.uint16(shift)


@njit(nogil=True, cache=True, parallel=True)
def shift_left(levels: Samples, shift: int) -> None:
    """Shift `levels` (H, W) uint16 left in place: LSB-aligned samples to MSB alignment."""
    for y in prange(levels.shape[0]):
        row = levels[y]
        for x in range(row.size):
            row[x] = row[x] << np.uint16(shift)


@njit(nogil=True)
def _row_max(row: Samples) -> np.uint16:
    top = np.uint16(0)
    for x in range(row.size):
        top = max(top, row[x])
    return top


@njit(nogil=True)
def _clamp_row(row: Samples, top: np.uint16, out: Samples) -> int:
    count = 0
    for x in range(row.size):
        count += row[x] > top
        out[x] = min(row[x], top)
    return count
