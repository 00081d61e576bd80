"""Kernels for local binary patterns and their cell histograms (spec 11)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.tables import LBP_CELL_PX

Row = NDArray[np.uint8]

SIDE = np.int32(29289)
CORNER = np.int32(70711)
"""Bilinear weights at 45 degrees on the unit circle, in 1/100000."""


@njit(nogil=True, cache=True, parallel=True)
def lbp_cells(
    luma: NDArray[np.uint8],
    circle: bool,
    table: NDArray[np.uint8],
    outside: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    cells: NDArray[np.uint16],
) -> None:
    """Compute the label of every pixel and the histogram of the labels of every cell of 16x16 pixels.

    luma : (H, W) uint8
    circle : diagonal neighbours on the unit circle; if False, at the corners of the 3x3 square
    table : (256,) uint8, the label of a code, from `tables.lbp_labels`
    outside : (W,) uint8 zeros, the rows above and below the plane
    labels : (H, W) uint8
    cells : (ceil(H / 16), ceil(W / 16), number of labels) uint16
    """
    height = luma.shape[0]
    for cell_y in prange(cells.shape[0]):
        cells[cell_y] = 0
        for y in range(cell_y * LBP_CELL_PX, min((cell_y + 1) * LBP_CELL_PX, height)):
            above = luma[y - 1] if y > 0 else outside
            below = luma[y + 1] if y + 1 < height else outside
            _codes(above, luma[y], below, circle, labels[y])
            _count(labels[y], table, cells[cell_y])


@njit(nogil=True)
def _count(labels: Row, table: Row, cells: NDArray[np.uint16]) -> None:
    """Replace the codes of one row by labels and count them in its row of cells."""
    for x in range(labels.size):
        label = table[labels[x]]
        labels[x] = label
        cells[x // LBP_CELL_PX, label] += np.uint16(1)


@njit(nogil=True)
def _codes(above: Row, row: Row, below: Row, circle: bool, codes: Row) -> None:
    """Compute the codes of one row; the columns outside the plane are 0."""
    _edge_code(above, row, below, circle, 0, codes)
    _edge_code(above, row, below, circle, row.size - 1, codes)
    # Two loops, so that the compiler vectorises each.
    if circle:
        for x in range(1, row.size - 1):
            codes[x] = _inner_code(above, row, below, True, x)
    else:
        for x in range(1, row.size - 1):
            codes[x] = _inner_code(above, row, below, False, x)


@njit(nogil=True)
def _edge_code(above: Row, row: Row, below: Row, circle: bool, x: int, codes: Row) -> None:
    """Compute the code of a pixel of the first or last column."""
    east, northeast, southeast = _at(row, x + 1), _at(above, x + 1), _at(below, x + 1)
    west, northwest, southwest = _at(row, x - 1), _at(above, x - 1), _at(below, x - 1)
    codes[x] = _code(
        circle, row[x], east, northeast, above[x], northwest, west, southwest, below[x], southeast
    )


@njit(nogil=True)
def _at(row: Row, x: int) -> np.uint8:
    return row[x] if 0 <= x < row.size else np.uint8(0)


@njit(nogil=True)
def _inner_code(above: Row, row: Row, below: Row, circle: bool, x: int) -> np.uint8:
    return _code(
        circle,
        row[x],
        row[x + 1],
        above[x + 1],
        above[x],
        above[x - 1],
        row[x - 1],
        below[x - 1],
        below[x],
        below[x + 1],
    )


@njit(nogil=True, inline="always")
def _code(
    circle: bool,
    c: np.uint8,
    e: np.uint8,
    ne: np.uint8,
    n: np.uint8,
    nw: np.uint8,
    w: np.uint8,
    sw: np.uint8,
    s: np.uint8,
    se: np.uint8,
) -> np.uint8:
    """Return the code of pixel `c`: bit k compares the neighbour at k * 45 degrees; ties are 1."""
    axes = (e >= c) << 0 | (n >= c) << 2 | (w >= c) << 4 | (s >= c) << 6
    if circle:
        ne_bit, nw_bit = _is_at_least(c, e, n, ne), _is_at_least(c, w, n, nw)
        sw_bit, se_bit = _is_at_least(c, w, s, sw), _is_at_least(c, e, s, se)
    else:
        ne_bit, nw_bit, sw_bit, se_bit = ne >= c, nw >= c, sw >= c, se >= c
    return np.uint8(axes | ne_bit << 1 | nw_bit << 3 | sw_bit << 5 | se_bit << 7)


@njit(nogil=True, inline="always")
def _is_at_least(centre: np.uint8, horizontal: np.uint8, vertical: np.uint8, corner: np.uint8) -> np.bool:
    """Compare the point on the circle towards `corner` with `centre`, in exact integers."""
    middle = np.int32(centre)
    sides = np.int32(horizontal) + np.int32(vertical) - np.int32(2) * middle
    # The cast prevents promotion to int64 by Numba.
    return np.int32(SIDE * sides + CORNER * (np.int32(corner) - middle)) >= np.int32(0)
