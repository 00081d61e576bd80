"""Histograms of the CPU lane: exact for every size, row padding, offset and content."""

import numpy as np
import pytest

import oracle
from lane_helpers import enhance
from lumaflow import Equalization, Mode, Options
from lumaflow.cpu.histogram import PARTIALS, count_tiles, sum_tiles
from lumaflow.tables import tile_grid
from synthetic_images import gray_images

BANDS, TILES = Options(Equalization(Mode.EQUALIZE)), Options(Equalization(Mode.CLAHE))


@pytest.mark.parametrize("options", [BANDS, TILES], ids=["bands", "tiles"])
def test_bins_equal_numpy(rng, options):
    for luma in gray_images(rng):
        bins = enhance("cpu", luma, options).bins
        np.testing.assert_array_equal(bins, oracle.histogram(luma), f"{luma.shape}")


def test_tile_histograms_with_padding_equal_the_oracle(rng):
    for number, luma in enumerate(gray_images(rng)):
        tiles = ((8, 8), (1, 1), (3, 7), (16, 2), (5, 5))[number % 5]
        np.testing.assert_array_equal(count(luma, tiles)[1], oracle.tile_histograms(luma, tiles))


def count(luma, tiles):
    """Bins and tile histograms, straight from the kernels."""
    grid = tile_grid(luma.shape[1], luma.shape[0], tiles)
    partials = np.empty((grid.rows, grid.columns, PARTIALS, 256), np.uint32)
    inside, padded = (np.empty((grid.rows, grid.columns, 256), np.uint32) for _ in range(2))
    whole, tile = luma.shape[::-1], (grid.tile_width, grid.tile_height)
    count_tiles(luma, (0, 0), whole, tile, grid.source_x, grid.source_y, partials, inside, padded)
    bins = np.empty(256, np.uint32)
    sum_tiles(inside, 2, bins)
    return bins, padded


@pytest.mark.parametrize("offset", range(8))
def test_a_view_at_any_offset_counts_only_its_pixels(rng, offset):
    sheet = rng.integers(0, 256, (40, 71), dtype=np.uint8)
    region = sheet[offset : offset + 31, offset : offset + 53]
    np.testing.assert_array_equal(count(region, (4, 4))[0], oracle.histogram(region))
    np.testing.assert_array_equal(enhance("cpu", region, TILES).bins, oracle.histogram(region))


def test_padding_is_counted_in_tiles_but_not_in_bins(rng):
    luma = rng.integers(0, 256, (61, 47), dtype=np.uint8)
    bins, tiles = count(luma, (8, 8))
    assert bins.sum() == luma.size
    assert tiles.sum() == 64 * 48


def test_counts_above_8_16_and_24_bits():
    for side in (17, 300, 4097):
        luma = np.full((side, side), 200, np.uint8)
        assert enhance("cpu", luma, BANDS).bins[200] == side * side
