"""The heat map of the CPU lane, in every mode."""

import numpy as np
import pytest

import oracle
from lumaflow import Equalization, Mode, Options
from one import enhance
from pictures import pictures


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("tiles", [(8, 8), (3, 5)])
def test_heatmap_is_the_oracles_in_every_mode(rng, mode, tiles):
    options = Options(Equalization(mode, tiles=tiles), heatmap=True)
    for luma in pictures(rng, 80):
        found = enhance("cpu", luma, options).heatmap
        deviation, distance = oracle.heatmap(luma, tiles)
        np.testing.assert_array_equal(found.deviation, deviation)
        np.testing.assert_array_equal(found.distance, distance)


def test_heatmap_of_a_tile_beyond_int64_is_right():
    luma = np.zeros((4000, 4000), np.uint8)
    luma[:, ::2] = 255
    found = enhance("cpu", luma, Options(Equalization(Mode.EQUALIZE, tiles=(1, 1)), heatmap=True)).heatmap
    assert found.deviation[0, 0] == 127.5
