"""Samples of 10 to 16 bits: from their words to plain levels and back (spec 8)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Words = NDArray[np.uint16]


@njit(nogil=True, cache=True, parallel=True)
def highest(words: Words) -> Any:
    """The largest value of `words` (H, W) uint16."""
    top = np.uint16(0)
    for y in prange(words.shape[0]):
        top = max(top, _row_top(words[y]))
    return top


@njit(nogil=True, cache=True, parallel=True)
def clamp_words(words: Words, top: int, out: Words) -> Any:
    """`out` = `words` (H, W) uint16 with at most `top`; returns how many were more."""
    count = 0
    for y in prange(words.shape[0]):
        count += _clamp_row(words[y], np.uint16(top), out[y])
    return count


@njit(nogil=True, cache=True, parallel=True)
def lower_words(words: Words, shift: int, out: Words) -> None:
    """`out` = `words` >> `shift`, (H, W) uint16: levels of MSB-aligned words."""
    for y in prange(words.shape[0]):
        row, levels = words[y], out[y]
        for x in range(row.size):
            levels[x] = row[x] >> np.uint16(shift)


@njit(nogil=True, cache=True, parallel=True)
def raise_levels(levels: Words, shift: int) -> None:
    """`levels` (H, W) uint16 to MSB-aligned words, in place."""
    for y in prange(levels.shape[0]):
        row = levels[y]
        for x in range(row.size):
            row[x] = row[x] << np.uint16(shift)


@njit(nogil=True)
def _row_top(row: Words) -> np.uint16:
    top = np.uint16(0)
    for x in range(row.size):
        top = max(top, row[x])
    return top


@njit(nogil=True)
def _clamp_row(row: Words, top: np.uint16, out: Words) -> int:
    count = 0
    for x in range(row.size):
        count += row[x] > top
        out[x] = min(row[x], top)
    return count
