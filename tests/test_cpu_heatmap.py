"""The heat map of the CPU lane against the oracle, in every mode."""

import numpy as np
import pytest

import oracle
from lane_helpers import enhance
from lumaflow import Equalization, Mode, Options
from synthetic_frames import PLAIN_MODES
from synthetic_images import gray_images


@pytest.mark.parametrize("mode", PLAIN_MODES)
@pytest.mark.parametrize("tiles", [(8, 8), (3, 5)])
def test_heatmap_equals_the_oracle_in_every_mode(rng, mode, tiles):
    options = Options(Equalization(mode, tiles=tiles), heatmap=True)
    for luma in gray_images(rng, 80):
        found = enhance("cpu", luma, options).heatmap
        deviation, distance = oracle.heatmap(luma, tiles)
        np.testing.assert_array_equal(found.deviation, deviation)
        np.testing.assert_array_equal(found.distance, distance)


def test_heatmap_of_a_large_tile_does_not_overflow_int64():
    luma = np.zeros((4000, 4000), np.uint8)
    luma[:, ::2] = 255
    found = enhance("cpu", luma, Options(Equalization(Mode.EQUALIZE, tiles=(1, 1)), heatmap=True)).heatmap
    assert found.deviation[0, 0] == 127.5
