"""HOG and LBP of planes; the extractors own the tables and scratch."""

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.cores import core_count
from lumaflow.cpu.hog import ROW_VALUES, hog_blocks, hog_cells
from lumaflow.cpu.lbp import lbp_cells
from lumaflow.geometry import Geometry
from lumaflow.options import Hog, HogLayout, Lbp, Neighborhood
from lumaflow.tables import HOG_CELL_PX, hog_gamma, hog_weights, lbp_labels


class HogExtractor:
    """Computes the HOG of planes of one geometry (spec 10)."""

    def __init__(self, geometry: Geometry, hog: Hog) -> None:
        self._compact = hog.layout is HogLayout.COMPACT
        self._gamma = hog_gamma()
        self._weights = np.ascontiguousarray(hog_weights().T)
        bands, width = 2 * core_count(geometry), geometry.width
        self._roots = np.empty((bands, HOG_CELL_PX + 2, width + 2), np.float32)
        self._bins = np.empty((bands, HOG_CELL_PX, width), np.int32)
        self._votes = np.empty((bands, 2, HOG_CELL_PX, width), np.float32)
        self._rows = np.empty((bands, HOG_CELL_PX, ROW_VALUES), np.float32)
        self._sums = np.empty((bands, 2, width // HOG_CELL_PX, 4, ROW_VALUES), np.float32)

    def compute(self, luma: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        """Write the HOG of `luma` (H, W) uint8 to `out`, in the layout of the options."""
        if out.size == 0:
            return
        scratch = (self._roots, self._bins, self._votes)
        if self._compact:
            hog_cells(luma, self._gamma, *scratch, out)
        else:
            hog_blocks(luma, self._gamma, self._weights, *scratch, self._rows, self._sums, out)


class LbpExtractor:
    """Computes the LBP of planes of one geometry (spec 11)."""

    def __init__(self, geometry: Geometry, lbp: Lbp) -> None:
        self._circle = lbp.neighborhood is Neighborhood.CIRCLE
        self._table = lbp_labels(lbp.mapping)
        self._outside = np.zeros(geometry.width, np.uint8)
        self._labels = np.empty((geometry.height, geometry.width), np.uint8)

    def compute(
        self, luma: NDArray[np.uint8], labels: NDArray[np.uint8] | None, cells: NDArray[np.uint16]
    ) -> None:
        """Write the histograms of `luma` (H, W) uint8 to `cells`, and the labels (H, W) uint8 unless None."""
        scratch = self._labels if labels is None else labels
        lbp_cells(luma, self._circle, self._table, self._outside, scratch, cells)
