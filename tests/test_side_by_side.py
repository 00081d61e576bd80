"""The layout of raw and enhanced in one frame."""

import numpy as np
import pytest

from lumaflow_service.files.side_by_side import SideBySide

ONE = 1 << 16


@pytest.mark.parametrize(
    ("matrix", "layout"),
    [
        (None, SideBySide(1, True)),
        ((ONE, 0, 0, 0, ONE, 0, 0, 0, 1 << 30), SideBySide(1, True)),
        ((-ONE, 0, 0, 0, -ONE, 0, 0, 0, 1 << 30), SideBySide(1, False)),
        ((0, ONE, 0, -ONE, 0, 0, 0, 0, 1 << 30), SideBySide(0, False)),
        ((0, -ONE, 0, ONE, 0, 0, 0, 0, 1 << 30), SideBySide(0, True)),
    ],
    ids=["none", "identity", "180", "90", "270"],
)
def test_a_display_matrix_selects_the_axis_and_the_order(
    matrix: tuple[int, ...] | None, layout: SideBySide
) -> None:
    assert SideBySide.of(matrix) == layout


@pytest.mark.parametrize(("axis", "size"), [(1, (8, 3)), (0, (4, 6))])
def test_the_size_is_that_of_both_halves(axis: int, size: tuple[int, int]) -> None:
    raw = np.zeros((3, 4, 3), np.uint8)
    layout = SideBySide(axis)
    assert layout.size(4, 3) == size
    assert layout.join(raw, raw).shape == (size[1], size[0], 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_join_keeps_the_order_and_the_type(dtype: type) -> None:
    raw, enhanced = np.zeros((2, 2), dtype), np.ones((2, 2), dtype)
    assert SideBySide(1, True).join(raw, enhanced).tolist() == [[0, 0, 1, 1]] * 2
    assert SideBySide(0, False).join(raw, enhanced).tolist() == [[1, 1], [1, 1], [0, 0], [0, 0]]
    assert SideBySide().join(raw, enhanced).dtype == dtype
