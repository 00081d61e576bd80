"""Scene cuts of a lane in a plain mode: distances between block histograms of two frames (spec 6)."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.roi import histogram_rect

BLOCKS, BINS = 8, 32
CUT_DISTANCE = 0.5

Counts = NDArray[np.uint32]


class SceneCutDetector:
    """Compares each good frame of a lane with the good frame before it."""

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self._rect = histogram_rect(geometry, options.region)
        self._shift = geometry.layout.bits - 5
        self._counts, self._before = (np.zeros((BLOCKS, BLOCKS, BINS), np.uint32) for _ in range(2))

    def count(self, plane: NDArray[Any]) -> None:
        """Count the working plane (H, W) of a frame."""
        count_blocks(plane, self._rect, self._shift, self._counts)

    def advance(self) -> bool:
        """Return True if the frame counted last follows a scene cut, and keep its histograms.

        The result for the first frame of a lane has no meaning.
        """
        distance = block_distance(self._counts, self._before)
        self._counts, self._before = self._before, self._counts
        return bool(distance > CUT_DISTANCE)


@njit(nogil=True, cache=True, parallel=True)
def count_blocks(plane: NDArray[Any], rect: tuple[int, int, int, int], shift: int, counts: Counts) -> None:
    """Write the histograms (8, 8, 32) of level >> shift of the blocks of a rectangle."""
    left, top, right, bottom = rect
    width, height = right - left, bottom - top
    for i in prange(BLOCKS):
        counts[i] = 0
        for y in range(top + i * height // BLOCKS, top + (i + 1) * height // BLOCKS):
            for j in range(BLOCKS):
                bins = counts[i, j]
                for level in plane[y, left + j * width // BLOCKS : left + (j + 1) * width // BLOCKS]:
                    bins[level >> shift] += np.uint32(1)


@njit(nogil=True, cache=True)
def block_distance(counts: Counts, before: Counts) -> float:
    """Return the mean distance of the blocks of two frames; empty blocks are left out."""
    total, blocks = 0.0, 0
    for i in range(BLOCKS):
        for j in range(BLOCKS):
            pixels, common = np.int64(0), 0.0
            for k in range(BINS):
                pixels += np.int64(counts[i, j, k])
                common += np.sqrt(np.float64(np.int64(counts[i, j, k]) * np.int64(before[i, j, k])))
            if pixels > 0:
                total += np.sqrt(max(0.0, 1.0 - common / np.float64(pixels)))
                blocks += 1
    return total / blocks
