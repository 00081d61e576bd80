"""The gains of the cells of a frame by their local illumination (spec 16.5).

fp32 arithmetic: every operation is rounded separately, because each result is converted to float32.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import CELLS, KNOTS, LEVEL
from lumaflow.cpu.adaptive.tone_curve import Curve, value_of

F = np.float32
Counts = NDArray[np.uint32]
Wide = NDArray[np.int64]
Vector = NDArray[np.int32]


@njit(nogil=True)
def sum_levels(cells: Counts, black: int, scratch: Wide) -> None:
    """Sum counts and levels of the cells in 32 bins, then blur both over the cells.

    scratch : (3, 16, 16, 64): sums (counts, then levels in 1/8), blurred over columns, blurred over both
    """
    sums, across, both = scratch[0], scratch[1], scratch[2]
    sums[:] = 0
    for i in range(CELLS):
        for j in range(CELLS):
            cell, parts = cells[i, j], sums[i, j]
            for level in range(256):
                count = np.int64(cell[level])
                if count:
                    value = max(LEVEL * level - black, 0)
                    parts[value >> 10] += count
                    parts[32 + (value >> 10)] += count * (value >> 4)
    for i in range(CELLS):
        for j in range(CELLS):
            left, right = sums[i, max(j - 1, 0)], sums[i, min(j + 1, CELLS - 1)]
            for z in range(64):
                across[i, j, z] = left[z] + 2 * sums[i, j, z] + right[z]
    for i in range(CELLS):
        above, below = across[max(i - 1, 0)], across[min(i + 1, CELLS - 1)]
        for j in range(CELLS):
            for z in range(64):
                both[i, j, z] = above[j, z] + 2 * across[i, j, z] + below[j, z]


@njit(nogil=True)
def write_local_gains(
    scratch: Wide, kernel: Wide, curve: Curve, part: np.float32, added: np.float32, vector: Vector
) -> None:
    """Write the gain of every cell and knot from the local illumination."""
    sums, both = scratch[0], scratch[2]
    whole, near = np.zeros(64, np.int64), np.empty(64, np.int64)
    for i in range(CELLS):
        for j in range(CELLS):
            whole += sums[i, j]
    for i in range(CELLS):
        for j in range(CELLS):
            for z in range(64):
                near[z] = 1024 * both[i, j, z] + whole[z]
            top = F(0)
            for k in range(KNOTS):
                count, total = np.int64(1), np.int64(64 * k)
                for z in range(32):
                    count += near[z] * kernel[k, z]
                    total += near[32 + z] * kernel[k, z]
                light = max(F(F(F(total) / F(count)) * F(0.125)), F(0.5))
                gain = max(F(value_of(curve, light) / light), F(1))
                if k > 0:
                    top = max(min(F(F(8 * k) * gain), F(256)), top)
                    gain = F(top / F(8 * k))
                gain = F(F(F(1) + F(F(gain - F(1)) * part)) + added)
                vector[(i * CELLS + j) * KNOTS + k] = np.int32(np.rint(F(F(1024) * gain)))
