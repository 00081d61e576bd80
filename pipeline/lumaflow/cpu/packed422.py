"""Luma samples between chroma samples, as in yuyv and uyvy (spec 9)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@njit(nogil=True, cache=True, parallel=True)
def read_luma(pixels: Bytes, channel: int, luma: Bytes) -> None:
    """`luma` (H, W) from `pixels` (H, W', 2), of which W' - W pairs at the end are no pixels."""
    for y in prange(luma.shape[0]):
        _pick_row(pixels[y], channel, luma[y])


@njit(nogil=True, cache=True, parallel=True)
def write_luma(luma: Bytes, channel: int, out: Bytes) -> None:
    """Exchange the luma of `out` (H, W', 2) for `luma` (H, W)."""
    for y in prange(luma.shape[0]):
        row, pairs = luma[y], out[y]
        for x in range(row.size):
            pairs[x, channel] = row[x]


@njit(nogil=True, cache=True, parallel=True)
def map_chroma(lut: Any, channel: int, out: Bytes) -> None:
    """See the chroma of `out` (H, W', 2), which is `channel`, through `lut` (256,)."""
    for y in prange(out.shape[0]):
        pairs = out[y]
        for x in range(pairs.shape[0]):
            pairs[x, channel] = lut[pairs[x, channel]]


@njit(nogil=True, cache=True, parallel=True)
def exchange_lumas(channel: int, out: Bytes) -> None:
    """Exchange the two lumas of every pair of pixels of `out` (H, W', 2), in place."""
    for y in prange(out.shape[0]):
        pairs = out[y]
        for x in range(0, pairs.shape[0], 2):
            first = pairs[x, channel]
            pairs[x, channel] = pairs[x + 1, channel]
            pairs[x + 1, channel] = first


@njit(nogil=True)
def _pick_row(pairs: Bytes, channel: int, row: Bytes) -> None:
    for x in range(row.size):
        row[x] = pairs[x, channel]
