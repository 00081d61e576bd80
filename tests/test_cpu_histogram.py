"""Counting on the CPU: exact for every size, pitch, offset and content."""

import numpy as np
import pytest

import oracle
from lumaflow import Equalization, Mode, Options
from lumaflow.cpu.histogram import PARTIALS, count_tiles, sum_tiles
from lumaflow.tables import tile_grid
from one import enhance
from pictures import pictures

BANDS, TILES = Options(Equalization(Mode.EQUALIZE)), Options(Equalization(Mode.CLAHE))


@pytest.mark.parametrize("options", [BANDS, TILES], ids=["bands", "tiles"])
def test_bins_are_numpys(rng, options):
    for luma in pictures(rng):
        bins = enhance("cpu", luma, options).bins
        np.testing.assert_array_equal(bins, oracle.histogram(luma), f"{luma.shape}")


def test_tiles_are_the_oracles_padding_included(rng):
    for number, luma in enumerate(pictures(rng)):
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
def test_a_region_at_any_offset_counts_its_own_pixels_alone(rng, offset):
    sheet = rng.integers(0, 256, (40, 71), dtype=np.uint8)
    region = sheet[offset : offset + 31, offset : offset + 53]
    np.testing.assert_array_equal(count(region, (4, 4))[0], oracle.histogram(region))
    np.testing.assert_array_equal(enhance("cpu", region, TILES).bins, oracle.histogram(region))


def test_padded_tiles_do_not_add_up_to_the_bins(rng):
    luma = rng.integers(0, 256, (61, 47), dtype=np.uint8)
    bins, tiles = count(luma, (8, 8))
    assert bins.sum() == luma.size
    assert tiles.sum() == 64 * 48


def test_counters_pass_8_16_and_24_bits():
    for side in (17, 300, 4097):
        luma = np.full((side, side), 200, np.uint8)
        assert enhance("cpu", luma, BANDS).bins[200] == side * side
