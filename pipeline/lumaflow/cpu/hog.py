"""Kernels for histograms of oriented gradients (spec 10): OpenCV's normalised blocks, or plain cells.

The weight of a pixel in a block is a row weight times a column weight. So each row of 8 pixels first gives 4
column-weighted histograms; then the 8 rows of a cell are combined with 4 row weights. Of these 16 histograms
of a cell, each block that contains the cell sums those it needs.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float32]

EPSILON = np.float32(2.0**-52)
P1 = np.float32(float.fromhex("0x1.ca44dep+5"))
P3 = np.float32(float.fromhex("-0x1.2aaddcp+4"))
P5 = np.float32(float.fromhex("0x1.1d3f7ep+3"))
P7 = np.float32(float.fromhex("-0x1.4515b2p+1"))
"""Coefficients of OpenCV's polynomial for the arc tangent, in degrees."""
RADIANS = np.float32(float.fromhex("0x1.1df46ap-6"))
BINS_PER_RADIAN = np.float32(float.fromhex("0x1.6eb168p+1"))

CLIP = np.float32(0.2)
FIRST_EPSILON = np.float32(float.fromhex("0x1.cccccep+1"))
SECOND_EPSILON = np.float32(1e-3)
"""Added to the norm by L2-Hys, in the first and the second normalisation."""

ROW_VALUES = 40
"""Values of four interleaved histograms of 9 bins, and a tenth bin that is added to bin 0."""


@njit(nogil=True, cache=True, parallel=True)
def hog_blocks(
    luma: NDArray[np.uint8],
    gamma: NDArray[np.float32],
    weights: NDArray[np.float32],
    roots: NDArray[np.float32],
    bins: NDArray[np.int32],
    votes: NDArray[np.float32],
    rows: NDArray[np.float32],
    sums: NDArray[np.float32],
    blocks: NDArray[np.float32],
) -> None:
    """Compute OpenCV's HOG of a whole plane: blocks of 16x16 pixels with a stride of 8, L2-Hys.

    luma : (H, W) uint8
    gamma : (256,) float32, from `tables.hog_gamma`
    weights : (8, 4) float32, `tables.hog_weights` transposed
    roots, bins, votes, rows : scratch, one for each band, see `_vote_rows` and `_weight_cells`
    sums : (bands, 2, W // 8, 4, ROW_VALUES) float32, scratch: two rows of weighted cells
    blocks : (blocks_y, blocks_x, 36) float32
    """
    bands, height = roots.shape[0], blocks.shape[0]
    for band in prange(bands):
        first, last = height * band // bands, height * (band + 1) // bands
        for y in range(first, last + 1 if first < last else first):
            above, below = sums[band, (y + 1) % 2], sums[band, y % 2]
            _vote_rows(luma, 8 * y, gamma, roots[band], bins[band], votes[band])
            _weight_cells(bins[band], votes[band], weights, rows[band], below)
            if y > first:
                for x in range(blocks.shape[1]):
                    _normalized_block(above, below, x, blocks[y - 1, x])


@njit(nogil=True, cache=True, parallel=True)
def hog_cells(
    luma: NDArray[np.uint8],
    gamma: NDArray[np.float32],
    roots: NDArray[np.float32],
    bins: NDArray[np.int32],
    votes: NDArray[np.float32],
    cells: NDArray[np.float32],
) -> None:
    """Compute histograms of cells of 8x8 pixels, without weights and normalisation.

    cells : (H // 8, W // 8, 9) float32; the others as for `hog_blocks`
    """
    bands, height = roots.shape[0], cells.shape[0]
    for band in prange(bands):
        for y in range(height * band // bands, height * (band + 1) // bands):
            _vote_rows(luma, 8 * y, gamma, roots[band], bins[band], votes[band])
            cells[y] = 0
            for i in range(8):
                _count_row(bins[band, i], votes[band, 0, i], votes[band, 1, i], cells[y])


@njit(nogil=True)
def _count_row(bins: NDArray[np.int32], low: Floats, high: Floats, cells: Floats) -> None:
    for x in range(8 * cells.shape[0]):
        cell, index = cells[x // 8], bins[x]
        cell[index] += low[x]
        cell[(index + 1) % 9] += high[x]


@njit(nogil=True)
def _vote_rows(
    luma: NDArray[np.uint8], top: int, gamma: Floats, roots: Floats, bins: NDArray[np.int32], votes: Floats
) -> None:
    """Compute the gradients of 8 rows of pixels, as votes for two adjacent bins.

    roots : (10, W + 2) float32, gamma-corrected rows, with a border of one pixel
    bins : (8, W) int32, the lower bin of a pixel, 0..8
    votes : (2, 8, W) float32, its votes for that bin and for the next one (bin 9 is bin 0)
    """
    for i in range(10):
        _gamma_row(luma[_reflected(top + i - 1, luma.shape[0])], gamma, roots[i])
    for i in range(8):
        _vote_row(roots[i], roots[i + 1], roots[i + 2], bins[i], votes[0, i], votes[1, i])


@njit(nogil=True)
def _reflected(index: int, size: int) -> int:
    """Reflect-101 by one pixel."""
    return abs(index) if index < size else 2 * size - 2 - index


@njit(nogil=True)
def _gamma_row(row: NDArray[np.uint8], gamma: Floats, roots: Floats) -> None:
    """Apply the gamma table to one row, with a reflected pixel at both ends."""
    for x in range(row.size):
        roots[x + 1] = gamma[row[x]]
    roots[0], roots[row.size + 1] = roots[2], roots[row.size - 1]


@njit(nogil=True)
def _vote_row(
    above: Floats, row: Floats, below: Floats, bins: NDArray[np.int32], low: Floats, high: Floats
) -> None:
    for x in range(bins.size):
        dx, dy = row[x + 2] - row[x], below[x + 1] - above[x + 1]
        magnitude = np.sqrt(dx * dx + dy * dy)
        position = _bin_position(dx, dy)
        first = np.floor(position)
        share = position - first
        index = np.int32(first)
        index += np.int32(9) if index < 0 else np.int32(0)
        index -= np.int32(9) if index >= 9 else np.int32(0)
        bins[x] = index
        low[x] = magnitude * (np.float32(1) - share)
        high[x] = magnitude * share


@njit(nogil=True, error_model="numpy")
def _bin_position(dx: np.float32, dy: np.float32) -> np.float32:
    """Return the direction of a gradient in bins of 20 degrees, -0.5..17.5; the unsigned bin is modulo 9."""
    across, along = np.abs(dx), np.abs(dy)
    ratio = np.minimum(across, along) / (np.maximum(across, along) + EPSILON)
    square = ratio * ratio
    angle = (((P7 * square + P5) * square + P3) * square + P1) * ratio
    angle = np.float32(90) - angle if along > across else angle
    angle = np.float32(180) - angle if dx < 0 else angle
    angle = np.float32(360) - angle if dy < 0 else angle
    return np.float32(angle * RADIANS * BINS_PER_RADIAN - np.float32(0.5))


@njit(nogil=True)
def _weight_cells(
    bins: NDArray[np.int32], votes: Floats, weights: Floats, rows: Floats, sums: Floats
) -> None:
    """Compute the 16 weighted histograms of a row of cells.

    rows : (8, ROW_VALUES) float32, scratch: the rows of one cell with the 4 column weights
    sums : (W // 8, 4, ROW_VALUES) float32: the axes are cell, row weight, (bin, column weight)
    """
    for cell in range(sums.shape[0]):
        rows[:] = 0
        for i in range(8):
            for j in range(8):
                x = 8 * cell + j
                _scatter(4 * bins[i, x], votes[0, i, x], votes[1, i, x], weights[j], rows[i])
        _combine(rows, weights, sums[cell])


@njit(nogil=True)
def _scatter(at: int, low: np.float32, high: np.float32, weights: Floats, row: Floats) -> None:
    """Add the two votes of a pixel with the 4 column weights; all loads come before the stores."""
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    a0, a1, a2, a3 = row[at], row[at + 1], row[at + 2], row[at + 3]
    b0, b1, b2, b3 = row[at + 4], row[at + 5], row[at + 6], row[at + 7]
    row[at], row[at + 1] = a0 + w0 * low, a1 + w1 * low
    row[at + 2], row[at + 3] = a2 + w2 * low, a3 + w3 * low
    row[at + 4], row[at + 5] = b0 + w0 * high, b1 + w1 * high
    row[at + 6], row[at + 7] = b2 + w2 * high, b3 + w3 * high


@njit(nogil=True)
def _combine(rows: Floats, weights: Floats, sums: Floats) -> None:
    """Sum the 8 rows of a cell with each of the 4 row weights."""
    for k in range(4):
        w0, w1, w2, w3 = weights[0, k], weights[1, k], weights[2, k], weights[3, k]
        w4, w5, w6, w7 = weights[4, k], weights[5, k], weights[6, k], weights[7, k]
        for m in range(ROW_VALUES):
            upper = (w0 * rows[0, m] + w1 * rows[1, m]) + (w2 * rows[2, m] + w3 * rows[3, m])
            lower = (w4 * rows[4, m] + w5 * rows[5, m]) + (w6 * rows[6, m] + w7 * rows[7, m])
            sums[k, m] = upper + lower
        for m in range(4):
            sums[k, m] += sums[k, ROW_VALUES - 4 + m]


@njit(nogil=True)
def _normalized_block(above: Floats, below: Floats, x: int, block: Floats) -> None:
    """Sum the histograms of a block over its four cells, and normalise them."""
    for right in range(2):
        for low in range(2):
            for index in range(9):
                m = 4 * index + right
                upper_left, lower_left = above[x, low, m], below[x, 2 + low, m]
                upper_right, lower_right = above[x + 1, low, m + 2], below[x + 1, 2 + low, m + 2]
                block[18 * right + 9 * low + index] = ((upper_left + lower_left) + upper_right) + lower_right
    scale = np.float32(1) / (np.sqrt(_squared_norm(block)) + FIRST_EPSILON)
    for m in range(36):
        block[m] = min(block[m] * scale, CLIP)
    scale = np.float32(1) / (np.sqrt(_squared_norm(block)) + SECOND_EPSILON)
    for m in range(36):
        block[m] *= scale


@njit(nogil=True)
def _squared_norm(block: Floats) -> np.float32:
    """Return the sum of squares of 36 values, with four partial sums."""
    s0 = s1 = s2 = s3 = np.float32(0)
    for m in range(0, 36, 4):
        s0 += block[m] * block[m]
        s1 += block[m + 1] * block[m + 1]
        s2 += block[m + 2] * block[m + 2]
        s3 += block[m + 3] * block[m + 3]
    return (s0 + s1) + (s2 + s3)
