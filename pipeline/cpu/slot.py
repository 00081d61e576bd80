"""One place of a CPU lane's ring: everything that a frame in flight is read from and written to."""

import numpy as np
from numpy.typing import NDArray

from pipeline.frame import Frame, Geometry, HeatMap
from pipeline.options import Options
from pipeline.tables import LEVELS, hog_shape, lbp_shape


class Slot:
    """The buffers of one frame in flight; features that were not asked for are None.

    input, output : frames as they come and as they go
    bins : (256,) uint32
    lut : (rows, columns, 256) uint8
    heatmap, hog, lbp, lbp_labels : as in `Enhanced`
    """

    def __init__(self, geometry: Geometry, options: Options) -> None:
        columns, rows = options.equalization.grid
        self.input = Frame.empty(geometry)
        self.output = Frame.empty(geometry)
        self.bins = np.empty(LEVELS, np.uint32)
        self.lut = np.empty((rows, columns, LEVELS), np.uint8)
        self.heatmap = _heatmap(options.equalization.tiles) if options.heatmap else None
        self.hog = np.empty(hog_shape(geometry, options.hog.layout), np.float32) if options.hog else None
        self.lbp = np.empty(lbp_shape(geometry, options.lbp.mapping), np.uint16) if options.lbp else None
        labels = options.lbp is not None and options.lbp.labels
        self.lbp_labels = np.empty((geometry.height, geometry.width), np.uint8) if labels else None

    def take(self, frame: Frame) -> NDArray[np.uint8]:
        """The frame's pixels as the kernels want them: where they lie, or copied in.

        Kernels are compiled for one kind of array, packed and writable; any other is copied.
        """
        return self._packed(frame.pixels, self.input.pixels, copy=True)

    def target(self, out: Frame | None) -> NDArray[np.uint8]:
        """Where the kernels write the enhanced pixels: into `out` if it is packed, else into the slot."""
        own = self.output.pixels
        return own if out is None else self._packed(out.pixels, own, copy=False)

    @staticmethod
    def _packed(pixels: NDArray[np.uint8], own: NDArray[np.uint8], *, copy: bool) -> NDArray[np.uint8]:
        plain = np.asarray(pixels)
        if plain.flags.c_contiguous and plain.flags.writeable:
            return plain
        if copy:
            np.copyto(own, plain)
        return own


def _heatmap(tiles: tuple[int, int]) -> HeatMap:
    columns, rows = tiles
    return HeatMap(np.empty((rows, columns), np.float64), np.empty((rows, columns), np.int64))
