"""LBP of the CPU lane: labels and histograms equal the oracle."""

import numpy as np
import pytest

import oracle
from lane_helpers import enhance
from lumaflow import Equalization, Lbp, LbpMapping, Mode, Neighborhood, Options
from lumaflow.tables import lbp_labels
from synthetic_images import gray_images

PLAIN = Equalization(Mode.IDENTITY)


@pytest.mark.parametrize("neighborhood", Neighborhood)
@pytest.mark.parametrize("mapping", LbpMapping)
def test_labels_and_cells_equal_the_oracle(rng, neighborhood, mapping):
    options = Options(PLAIN, lbp=Lbp(neighborhood, mapping, labels=True))
    for luma in gray_images(rng):
        result = enhance("cpu", luma, options)
        labels = oracle.lbp_labels(luma, neighborhood is Neighborhood.CIRCLE, mapping)
        np.testing.assert_array_equal(result.lbp_labels, labels, f"{luma.shape}")
        np.testing.assert_array_equal(result.lbp, oracle.lbp_cells(labels, mapping.labels), f"{luma.shape}")


@pytest.mark.parametrize("mapping", LbpMapping)
def test_label_table_equals_the_oracle(mapping):
    expected = [oracle.lbp_label(code, mapping) for code in range(256)]
    np.testing.assert_array_equal(lbp_labels(mapping), expected)
    assert max(expected) < mapping.labels


def test_labels_are_returned_only_on_request(rng):
    luma = rng.integers(0, 256, (20, 20), dtype=np.uint8)
    result = enhance("cpu", luma, Options(PLAIN, lbp=Lbp()))
    assert result.lbp_labels is None
    assert result.lbp.sum() == luma.size


def test_extreme_levels_do_not_overflow_the_circle():
    board = (np.indices((18, 18)).sum(axis=0) % 2 * 255).astype(np.uint8)
    options = Options(PLAIN, lbp=Lbp(Neighborhood.CIRCLE, LbpMapping.RAW, labels=True))
    result = enhance("cpu", board, options)
    np.testing.assert_array_equal(result.lbp_labels, oracle.lbp_codes(board, circle=True))
