"""The constant tables, each against another way to compute it."""

import numpy as np
import pytest

import oracle
from lumaflow import Geometry, HogLayout, LbpMapping, PixelFormat
from lumaflow.tables import (
    clip_limit,
    hog_gamma,
    hog_shape,
    hog_weights,
    interpolation_table,
    lbp_shape,
    tile_grid,
)
from synthetic_images import SIZES


@pytest.mark.parametrize("tiles", [(8, 8), (1, 1), (3, 5), (64, 2)])
@pytest.mark.parametrize("size", SIZES)
def test_padding_is_reflected_at_the_right_and_bottom(size, tiles):
    height, width = size
    grid = tile_grid(width, height, tiles)
    np.testing.assert_array_equal(grid.source_x, oracle.reflected(grid.columns * grid.tile_width, width))
    np.testing.assert_array_equal(grid.source_y, oracle.reflected(grid.rows * grid.tile_height, height))
    assert grid.tile_pixels == oracle.tile_histograms(np.zeros(size, np.uint8), tiles)[0, 0].sum()


def test_both_axes_are_padded_if_one_is_not_a_multiple_of_its_tiles():
    grid = tile_grid(64, 61, (8, 8))
    assert (grid.tile_width, grid.tile_height) == (9, 8)
    assert (tile_grid(64, 64, (8, 8)).tile_width, tile_grid(65, 64, (8, 8)).tile_height) == (8, 9)


@pytest.mark.parametrize(
    ("size", "tile", "tiles"), [(1, 1, 8), (97, 13, 8), (64, 8, 8), (5, 1, 64), (31, 31, 1)]
)
def test_pixels_between_two_edges_have_the_same_two_tiles(size, tile, tiles):
    table = interpolation_table(size, tile, tiles)
    first, second, weight = oracle.neighbours(size, tile, tiles)
    np.testing.assert_array_equal(table.first, first)
    np.testing.assert_array_equal(table.second, second)
    np.testing.assert_array_equal(table.weight, weight)
    assert (table.edges[0], table.edges[-1]) == (0, size)
    for k in range(tiles + 1):
        span = slice(table.edges[k], table.edges[k + 1])
        assert (table.first[span] == max(k - 1, 0)).all()
        assert (table.second[span] == min(k, tiles - 1)).all()


@pytest.mark.parametrize(
    ("relative", "tile_pixels", "limit"), [(0.0, 9000, 0), (2.0, 32400, 253), (0.5, 64, 1), (40.0, 64, 10)]
)
def test_clip_limit_is_an_integer_of_at_least_one(relative, tile_pixels, limit):
    assert clip_limit(relative, tile_pixels) == limit


def test_products_of_hog_weights_equal_those_of_a_block():
    axis = hog_weights().reshape(2, 2, 8).transpose(1, 0, 2).reshape(2, 16)
    product = axis[None, :, :, None] * axis[:, None, None, :]
    np.testing.assert_allclose(product, oracle.hog_weights(), rtol=1e-6)


def test_hog_gamma_is_the_square_root():
    assert hog_gamma()[[0, 1, 4, 225]].tolist() == [0.0, 1.0, 2.0, 15.0]


@pytest.mark.parametrize("size", SIZES)
def test_shapes_equal_the_oracle(size):
    geometry, luma = Geometry(size[1], size[0], PixelFormat.GRAY8), np.zeros(size, np.uint8)
    assert hog_shape(geometry, HogLayout.OPENCV) == oracle.hog_blocks(luma).shape
    assert hog_shape(geometry, HogLayout.COMPACT) == oracle.hog_cells(luma).shape
    assert lbp_shape(geometry, LbpMapping.UNIFORM) == oracle.lbp_cells(luma, 59).shape
