"""Local binary patterns and their cell histograms (spec 11)."""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from pipeline.tables import LBP_CELL_PX

AXIS = np.int32(29289)
DIAGONAL = np.int32(70711)
"""How far a point of the unit circle at 45 degrees leans to its two sides and to its corner, times 100000."""


@njit(nogil=True, cache=True, parallel=True)
def lbp_cells(
    luma: NDArray[np.uint8],
    circle: bool,
    table: NDArray[np.uint8],
    outside: NDArray[np.uint8],
    labels: NDArray[np.uint8],
    cells: NDArray[np.uint16],
) -> None:
    """Label every pixel and count the labels of every cell of 16x16 pixels.

    luma : (H, W) uint8
    circle : diagonal neighbours on the unit circle, else at the corners of the 3x3 square
    table : (256,) uint8, the label of a code, from `tables.lbp_labels`
    outside : (W,) uint8 zeros, what lies above and below the plane
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
def _count(labels, table, cells):  # type: ignore[no-untyped-def]
    """Turn one row's codes into labels and count them into its row of cells."""
    for x in range(labels.size):
        label = table[labels[x]]
        labels[x] = label
        cells[x // LBP_CELL_PX, label] += np.uint16(1)


@njit(nogil=True)
def _codes(above, row, below, circle, codes):  # type: ignore[no-untyped-def]
    """The codes of one row; the columns outside the plane are 0."""
    last = row.size - 1
    zero = np.uint8(0)
    if last == 0:
        codes[0] = _code(circle, row[0], zero, zero, above[0], zero, zero, zero, below[0], zero)
        return
    codes[0] = _code(circle, row[0], row[1], above[1], above[0], zero, zero, zero, below[0], below[1])
    if circle:
        for x in range(1, last):
            codes[x] = _code_at(True, above, row, below, x)
    else:
        for x in range(1, last):
            codes[x] = _code_at(False, above, row, below, x)
    codes[last] = _code(
        circle,
        row[last],
        zero,
        zero,
        above[last],
        above[last - 1],
        row[last - 1],
        below[last - 1],
        below[last],
        zero,
    )


@njit(nogil=True)
def _code_at(circle, above, row, below, x):  # type: ignore[no-untyped-def]
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
def _code(circle, c, e, ne, n, nw, w, sw, s, se):  # type: ignore[no-untyped-def]
    """Code of a pixel `c` among its neighbours: bit k looks at angle k * 45 degrees, ties are 1."""
    straight = (e >= c) << 0 | (n >= c) << 2 | (w >= c) << 4 | (s >= c) << 6
    if circle:
        slanted = (
            _above(c, e, n, ne) << 1
            | _above(c, w, n, nw) << 3
            | _above(c, w, s, sw) << 5
            | _above(c, e, s, se) << 7
        )
    else:
        slanted = (ne >= c) << 1 | (nw >= c) << 3 | (sw >= c) << 5 | (se >= c) << 7
    return np.uint8(straight | slanted)


@njit(nogil=True, inline="always")
def _above(c, horizontal, vertical, diagonal):  # type: ignore[no-untyped-def]
    """Whether the point on the circle towards `diagonal` is at least `c`, in exact integers."""
    centre = np.int32(c)
    sides = np.int32(horizontal) + np.int32(vertical) - np.int32(2) * centre
    return AXIS * sides + DIAGONAL * (np.int32(diagonal) - centre) >= 0
