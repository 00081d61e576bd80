"""LBP on the CPU: labels and cells are exact."""

import numpy as np
import pytest

import oracle
from lumaflow import Equalization, Lbp, LbpMapping, Mode, Neighborhood, Options
from lumaflow.tables import lbp_labels
from one import enhance
from pictures import pictures

PLAIN = Equalization(Mode.IDENTITY)


@pytest.mark.parametrize("neighborhood", Neighborhood)
@pytest.mark.parametrize("mapping", LbpMapping)
def test_labels_and_cells_are_the_oracles(rng, neighborhood, mapping):
    options = Options(PLAIN, lbp=Lbp(neighborhood, mapping, labels=True))
    for luma in pictures(rng):
        result = enhance("cpu", luma, options)
        labels = oracle.lbp_labels(luma, neighborhood is Neighborhood.CIRCLE, mapping)
        np.testing.assert_array_equal(result.lbp_labels, labels, f"{luma.shape}")
        np.testing.assert_array_equal(result.lbp, oracle.lbp_cells(labels, mapping.labels), f"{luma.shape}")


@pytest.mark.parametrize("mapping", LbpMapping)
def test_label_table_is_the_oracles(mapping):
    expected = [oracle.lbp_label(code, mapping) for code in range(256)]
    np.testing.assert_array_equal(lbp_labels(mapping), expected)
    assert max(expected) < mapping.labels


def test_labels_are_kept_to_themselves_unless_asked_for(rng):
    luma = rng.integers(0, 256, (20, 20), dtype=np.uint8)
    result = enhance("cpu", luma, Options(PLAIN, lbp=Lbp()))
    assert result.lbp_labels is None
    assert result.lbp.sum() == luma.size


def test_extremes_do_not_overflow_the_circle():
    board = (np.indices((18, 18)).sum(axis=0) % 2 * 255).astype(np.uint8)
    options = Options(PLAIN, lbp=Lbp(Neighborhood.CIRCLE, LbpMapping.RAW, labels=True))
    result = enhance("cpu", board, options)
    np.testing.assert_array_equal(result.lbp_labels, oracle.lbp_codes(board, circle=True))
