"""One place of a CPU lane's ring: everything that a frame in flight is read from and written to."""

import numpy as np
from numpy.typing import NDArray

from pipeline.frame import Frame, Geometry, HeatMap
from pipeline.options import Hog, HogLayout, Lbp, Options
from pipeline.tables import HOG_BINS, HOG_BLOCK_VALUES, HOG_CELL_PX, LBP_CELL_PX, LEVELS


class Slot:
    """The buffers of one frame in flight; features that were not asked for are None.

    input, output : `geometry.shape` uint8
    bins : (256,) uint32
    lut : (rows, columns, 256) uint8
    heatmap, hog, lbp, lbp_labels : as in `Enhanced`
    """

    def __init__(self, geometry: Geometry, options: Options) -> None:
        columns, rows = options.equalization.grid
        self.input = np.empty(geometry.shape, np.uint8)
        self.output = np.empty(geometry.shape, np.uint8)
        self.bins = np.empty(LEVELS, np.uint32)
        self.lut = np.empty((rows, columns, LEVELS), np.uint8)
        self.heatmap = _heatmap(options.equalization.tiles) if options.heatmap else None
        self.hog = np.empty(hog_shape(geometry, options.hog), np.float32) if options.hog else None
        self.lbp = np.empty(lbp_shape(geometry, options.lbp), np.uint16) if options.lbp else None
        labels = options.lbp is not None and options.lbp.labels
        self.lbp_labels = np.empty((geometry.height, geometry.width), np.uint8) if labels else None

    def take(self, frame: Frame) -> NDArray[np.uint8]:
        """The frame's pixels as the kernels want them: where they lie, or copied in.

        Kernels are compiled for one kind of array, packed and writable; any other is copied.
        """
        return self._packed(frame.pixels, self.input, copy=True)

    def target(self, out: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        """Where the kernels write the enhanced pixels: into `out` if it is packed, else into the slot."""
        return self.output if out is None else self._packed(out, self.output, copy=False)

    @staticmethod
    def _packed(pixels: NDArray[np.uint8], own: NDArray[np.uint8], *, copy: bool) -> NDArray[np.uint8]:
        plain = np.asarray(pixels)
        if plain.flags.c_contiguous and plain.flags.writeable:
            return plain
        if copy:
            np.copyto(own, plain)
        return own


def hog_shape(geometry: Geometry, hog: Hog) -> tuple[int, int, int]:
    """Shape of the HOG array of a frame; no blocks below 16 pixels, no cells below 8."""
    cells_y, cells_x = geometry.height // HOG_CELL_PX, geometry.width // HOG_CELL_PX
    if hog.layout is HogLayout.COMPACT:
        return cells_y, cells_x, HOG_BINS
    return max(cells_y - 1, 0), max(cells_x - 1, 0), HOG_BLOCK_VALUES


def lbp_shape(geometry: Geometry, lbp: Lbp) -> tuple[int, int, int]:
    """Shape of the LBP cell histograms of a frame; the last cells of an axis may be cut off."""
    return -(-geometry.height // LBP_CELL_PX), -(-geometry.width // LBP_CELL_PX), lbp.mapping.labels


def _heatmap(tiles: tuple[int, int]) -> HeatMap:
    columns, rows = tiles
    return HeatMap(np.empty((rows, columns), np.float64), np.empty((rows, columns), np.int64))
