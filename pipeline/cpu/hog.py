"""Histograms of oriented gradients (spec 10): OpenCV's normalised blocks, or plain cells.

The weights of a pixel inside a block are a row weight times a column weight. So each row of 8 pixels first
gives 4 column-weighted histograms, and the 8 rows of a cell are then combined with 4 row weights: 16
histograms a cell, of which every block that contains the cell adds up its own.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

EPSILON = np.float32(2.0**-52)
P1 = np.float32(float.fromhex("0x1.ca44dep+5"))
P3 = np.float32(float.fromhex("-0x1.2aaddcp+4"))
P5 = np.float32(float.fromhex("0x1.1d3f7ep+3"))
P7 = np.float32(float.fromhex("-0x1.4515b2p+1"))
"""OpenCV's polynomial for the arc tangent, in degrees."""
RADIANS = np.float32(float.fromhex("0x1.1df46ap-6"))
BINS_PER_RADIAN = np.float32(float.fromhex("0x1.6eb168p+1"))

CLIP = np.float32(0.2)
FIRST_FLOOR = np.float32(float.fromhex("0x1.cccccep+1"))
SECOND_FLOOR = np.float32(1e-3)
"""What L2-Hys adds to the norm before it divides, the first and the second time."""

SPAN = 40
"""Floats of four interleaved histograms of 9 bins and a tenth that is bin 0 again."""


@njit(nogil=True, cache=True, parallel=True)
def hog_blocks(
    luma: NDArray[np.uint8],
    gamma: NDArray[np.float32],
    weights: NDArray[np.float32],
    roots: NDArray[np.float32],
    places: NDArray[np.int32],
    votes: NDArray[np.float32],
    rows: NDArray[np.float32],
    sums: NDArray[np.float32],
    blocks: NDArray[np.float32],
) -> None:
    """OpenCV's HOG of a whole plane: blocks of 16x16 pixels every 8, L2-Hys.

    luma : (H, W) uint8
    gamma : (256,) float32, from `tables.hog_gamma`
    weights : (8, 4) float32, `tables.hog_weights` transposed
    roots, places, votes, rows : scratch, one each band, see `_vote_rows` and `_weigh_cells`
    sums : (bands, 2, W // 8, 4, SPAN) float32, scratch: two rows of weighted cells
    blocks : (blocks_y, blocks_x, 36) float32
    """
    bands, height = roots.shape[0], blocks.shape[0]
    for band in prange(bands):
        first, last = height * band // bands, height * (band + 1) // bands
        for y in range(first, last + 1 if first < last else first):
            above, below = sums[band, (y + 1) % 2], sums[band, y % 2]
            _vote_rows(luma, 8 * y, gamma, roots[band], places[band], votes[band])
            _weigh_cells(places[band], votes[band], weights, rows[band], below)
            if y > first:
                for x in range(blocks.shape[1]):
                    _block(above, below, x, blocks[y - 1, x])


@njit(nogil=True, cache=True, parallel=True)
def hog_cells(
    luma: NDArray[np.uint8],
    gamma: NDArray[np.float32],
    roots: NDArray[np.float32],
    places: NDArray[np.int32],
    votes: NDArray[np.float32],
    cells: NDArray[np.float32],
) -> None:
    """Plain histograms of cells of 8x8 pixels, neither weighted by place nor normalised.

    cells : (H // 8, W // 8, 9) float32; the others as for `hog_blocks`
    """
    bands, height = roots.shape[0], cells.shape[0]
    for band in prange(bands):
        for y in range(height * band // bands, height * (band + 1) // bands):
            _vote_rows(luma, 8 * y, gamma, roots[band], places[band], votes[band])
            cells[y] = 0
            for i in range(8):
                for x in range(8 * cells.shape[1]):
                    place = places[band, i, x]
                    cells[y, x // 8, place] += votes[band, 0, i, x]
                    cells[y, x // 8, (place + 1) % 9] += votes[band, 1, i, x]


@njit(nogil=True)
def _vote_rows(luma, top, gamma, roots, places, votes):  # type: ignore[no-untyped-def]
    """Gradients of 8 rows of pixels, as votes for two neighbouring bins.

    roots : (10, W + 2) float32, the rows and one pixel more on every side, gamma corrected
    places : (8, W) int32, the lower bin of a pixel, 0..8
    votes : (2, 8, W) float32, its vote for that bin and for the next one (9 is bin 0)
    """
    height, width = luma.shape
    for i in range(10):
        y = _reflected(top + i - 1, height)
        for x in range(width):
            roots[i, x + 1] = gamma[luma[y, x]]
        roots[i, 0], roots[i, width + 1] = roots[i, 2], roots[i, width - 1]
    for i in range(8):
        for x in range(width):
            dx = roots[i + 1, x + 2] - roots[i + 1, x]
            dy = roots[i + 2, x + 1] - roots[i, x + 1]
            magnitude = np.sqrt(dx * dx + dy * dy)
            position = _position(dx, dy)
            below = np.floor(position)
            share = position - below
            place = np.int32(below)
            place += np.int32(9) if place < 0 else np.int32(0)
            place -= np.int32(9) if place >= 9 else np.int32(0)
            places[i, x] = place
            votes[0, i, x] = magnitude * (np.float32(1) - share)
            votes[1, i, x] = magnitude * share


@njit(nogil=True)
def _reflected(index, size):  # type: ignore[no-untyped-def]
    """Reflect-101 by one pixel."""
    return abs(index) if index < size else 2 * size - 2 - index


@njit(nogil=True, error_model="numpy")
def _position(dx, dy):  # type: ignore[no-untyped-def]
    """Where on the circle of 18 bins a gradient points, -0.5..17.5: unsigned bins are this modulo 9."""
    across, along = abs(dx), abs(dy)
    ratio = min(across, along) / (max(across, along) + EPSILON)
    square = ratio * ratio
    angle = (((P7 * square + P5) * square + P3) * square + P1) * ratio
    angle = np.float32(90) - angle if along > across else angle
    angle = np.float32(180) - angle if dx < 0 else angle
    angle = np.float32(360) - angle if dy < 0 else angle
    return angle * RADIANS * BINS_PER_RADIAN - np.float32(0.5)


@njit(nogil=True)
def _weigh_cells(places, votes, weights, rows, sums):  # type: ignore[no-untyped-def]
    """The 16 weighted histograms of a row of cells.

    rows : (8, SPAN) float32, scratch: the rows of one cell under the 4 column weights
    sums : (W // 8, 4, SPAN) float32: the second axis is the row weight, SPAN is (bin, column weight)
    """
    for cell in range(sums.shape[0]):
        rows[:] = 0
        for i in range(8):
            for j in range(8):
                x = 8 * cell + j
                _scatter(places[i, x], votes[0, i, x], votes[1, i, x], weights, j, rows[i])
        _combine(rows, weights, sums[cell])


@njit(nogil=True, inline="always")
def _scatter(place, low, high, weights, j, row):  # type: ignore[no-untyped-def]
    w0, w1, w2, w3 = weights[j, 0], weights[j, 1], weights[j, 2], weights[j, 3]
    at = 4 * place
    a0, a1, a2, a3 = row[at], row[at + 1], row[at + 2], row[at + 3]
    b0, b1, b2, b3 = row[at + 4], row[at + 5], row[at + 6], row[at + 7]
    row[at] = a0 + w0 * low
    row[at + 1] = a1 + w1 * low
    row[at + 2] = a2 + w2 * low
    row[at + 3] = a3 + w3 * low
    row[at + 4] = b0 + w0 * high
    row[at + 5] = b1 + w1 * high
    row[at + 6] = b2 + w2 * high
    row[at + 7] = b3 + w3 * high


@njit(nogil=True)
def _combine(rows, weights, sums):  # type: ignore[no-untyped-def]
    """Add up a cell's 8 rows under each of the 4 row weights."""
    for k in range(4):
        w0, w1, w2, w3 = weights[0, k], weights[1, k], weights[2, k], weights[3, k]
        w4, w5, w6, w7 = weights[4, k], weights[5, k], weights[6, k], weights[7, k]
        for m in range(SPAN):
            sums[k, m] = (
                (w0 * rows[0, m] + w1 * rows[1, m])
                + (w2 * rows[2, m] + w3 * rows[3, m])
                + (w4 * rows[4, m] + w5 * rows[5, m])
                + (w6 * rows[6, m] + w7 * rows[7, m])
            )
        for m in range(4):
            sums[k, m] += sums[k, SPAN - 4 + m]


@njit(nogil=True)
def _block(above, below, x, block):  # type: ignore[no-untyped-def]
    """Add up a block's four cells, each from the four places a pixel of the block can lie in."""
    for right in range(2):
        for low in range(2):
            for place in range(9):
                m = 4 * place + right
                upper_left, lower_left = above[x, low, m], below[x, 2 + low, m]
                upper_right, lower_right = above[x + 1, low, m + 2], below[x + 1, 2 + low, m + 2]
                block[18 * right + 9 * low + place] = ((upper_left + lower_left) + upper_right) + lower_right
    scale = np.float32(1) / (np.sqrt(_energy(block)) + FIRST_FLOOR)
    for m in range(36):
        block[m] = min(block[m] * scale, CLIP)
    scale = np.float32(1) / (np.sqrt(_energy(block)) + SECOND_FLOOR)
    for m in range(36):
        block[m] *= scale


@njit(nogil=True)
def _energy(block):  # type: ignore[no-untyped-def]
    """Sum of the squares of 36 values, in four running sums."""
    s0 = s1 = s2 = s3 = np.float32(0)
    for m in range(0, 36, 4):
        s0 += block[m] * block[m]
        s1 += block[m + 1] * block[m + 1]
        s2 += block[m + 2] * block[m + 2]
        s3 += block[m + 3] * block[m + 3]
    return (s0 + s1) + (s2 + s3)
