"""Kernels for packed 4:2:2 formats, yuyv and uyvy, with luma and chroma interleaved (spec 9)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@njit(nogil=True, cache=True, parallel=True)
def extract_luma(pixels: Bytes, channel: int, luma: Bytes) -> None:
    """Copy the luma of `pixels` (H, W', 2) to `luma` (H, W); W' is W rounded up to even."""
    for y in prange(luma.shape[0]):
        _extract_row(pixels[y], channel, luma[y])


@njit(nogil=True, cache=True, parallel=True)
def insert_luma(luma: Bytes, channel: int, out: Bytes) -> None:
    """Replace the luma of `out` (H, W', 2) with `luma` (H, W)."""
    for y in prange(luma.shape[0]):
        row, pairs = luma[y], out[y]
        for x in range(row.size):
            pairs[x, channel] = row[x]


@njit(nogil=True, cache=True, parallel=True)
def map_chroma(lut: Any, channel: int, out: Bytes) -> None:
    """Apply `lut` (256,) to the chroma of `out` (H, W', 2), stored in `channel`, in place."""
    for y in prange(out.shape[0]):
        pairs = out[y]
        for x in range(pairs.shape[0]):
            pairs[x, channel] = lut[pairs[x, channel]]


@njit(nogil=True, cache=True, parallel=True)
def swap_lumas(channel: int, out: Bytes) -> None:
    """Swap the two luma samples of every pair of pixels of `out` (H, W', 2), in place."""
    for y in prange(out.shape[0]):
        pairs = out[y]
        for x in range(0, pairs.shape[0], 2):
            first = pairs[x, channel]
            pairs[x, channel] = pairs[x + 1, channel]
            pairs[x + 1, channel] = first


@njit(nogil=True)
def _extract_row(pairs: Bytes, channel: int, row: Bytes) -> None:
    for x in range(row.size):
        row[x] = pairs[x, channel]
