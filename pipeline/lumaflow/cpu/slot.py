"""A slot of a CPU lane: the buffers of one frame in flight."""

import numpy as np

from lumaflow.frame import Enhanced, Frame, HeatMap, Plane
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.tables import hog_shape, lbp_shape


class CpuSlot:
    """The buffers of one frame in flight; None for features that the options do not ask for.

    input, output : the raw and the enhanced frame
    bins : (2^b,) uint32
    lut : (rows, columns, 2^b) uint8 or uint16
    heatmap, hog, lbp, lbp_labels : as in `Enhanced`
    result : of the frame in this slot, until it is collected
    """

    result: Enhanced | None = None

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        columns, rows = options.equalization.grid
        levels = 1 << geometry.layout.bits
        self.input = Frame.empty(geometry)
        self.output = Frame.empty(output)
        self.bins = np.empty(levels, np.uint32)
        self.lut = np.empty((rows, columns, levels), output.dtype)
        self.heatmap = _heatmap(options.equalization.tiles) if options.heatmap else None
        self.hog = np.empty(hog_shape(output, options.hog.layout), np.float32) if options.hog else None
        self.lbp = np.empty(lbp_shape(output, options.lbp.mapping), np.uint16) if options.lbp else None
        labels = options.lbp is not None and options.lbp.labels
        self.lbp_labels = np.empty((output.height, output.width), np.uint8) if labels else None

    def take_result(self) -> Enhanced:
        """Return the result and drop the reference to it: its planes can belong to the caller."""
        result, self.result = self.result, None
        assert result is not None
        return result

    def input_planes(self, frame: Frame) -> tuple[Plane, ...]:
        """Return the planes of the frame; those the kernels cannot read are copied to the slot.

        The kernels are compiled for contiguous, writable arrays only.
        """
        return tuple(
            _contiguous(plane, own, copy=True)
            for plane, own in zip(frame.planes, self.input.planes, strict=True)
        )

    def output_planes(self, out: Frame | None) -> tuple[Plane, ...]:
        """Return the planes that the kernels write: those of `out` if contiguous, else those of the slot."""
        own = self.output.planes
        if out is None:
            return own
        return tuple(_contiguous(plane, own, copy=False) for plane, own in zip(out.planes, own, strict=True))


def _contiguous(plane: Plane, own: Plane, *, copy: bool) -> Plane:
    plain = np.asarray(plane)
    if plain.flags.c_contiguous and plain.flags.writeable and plain.flags.aligned:
        return plain
    if copy:
        np.copyto(own, plain)
    return own


def _heatmap(tiles: tuple[int, int]) -> HeatMap:
    columns, rows = tiles
    return HeatMap(np.empty((rows, columns), np.float64), np.empty((rows, columns), np.int64))
