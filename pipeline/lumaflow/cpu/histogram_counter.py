"""Histograms of a plane and of its tiles, and the heat map (spec 1, 4, 13)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.cores import core_count
from lumaflow.cpu.heatmap import measure_tiles
from lumaflow.cpu.histogram import PARTIALS, clamp_bins, count_tiles, sum_tiles
from lumaflow.frame import HeatMap
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options
from lumaflow.roi import histogram_rect
from lumaflow.tables import LEVELS, level_range, tile_grid

Counts = NDArray[np.uint32]


class HistogramCounter:
    """Computes histograms of planes of one geometry; owns the tables and scratch.

    geometry : of the frame after `Options.orientation`
    """

    def __init__(self, geometry: Geometry, options: Options) -> None:
        left, top, right, bottom = histogram_rect(geometry, options.region)
        self._origin, self._size = (left, top), (right - left, bottom - top)
        self._cores = core_count(geometry)
        # Without CLAHE and heat map the tiles only divide the work among the cores.
        tiled = options.heatmap or options.equalization.mode is Mode.CLAHE
        tiles = options.equalization.tiles if tiled else (1, 2 * self._cores)
        self._grid = tile_grid(*self._size, tiles, self._origin)
        self._levels = level_range(geometry, geometry)
        self._limited = geometry.limited
        levels, grid_shape = self._levels.size, (self._grid.rows, self._grid.columns)
        self._partials = np.empty((*grid_shape, PARTIALS if levels == LEVELS else 1, LEVELS), np.uint32)
        self._tiles = np.empty((*grid_shape, levels), np.uint32)
        padded = (self._grid.source_x.size, self._grid.source_y.size) != self._size
        self._inside = np.empty_like(self._tiles) if padded else self._tiles
        self._clamped = np.empty((1, 1, levels), np.uint32)

    def count(self, luma: NDArray[Any], bins: Counts) -> None:
        """Count the tiles of `luma` (H, W), and write the histogram of the whole to `bins` (2^b,) uint32."""
        grid = self._grid
        count_tiles(
            luma,
            self._origin,
            self._size,
            (grid.tile_width, grid.tile_height),
            grid.source_x,
            grid.source_y,
            self._partials,
            self._inside,
            self._tiles,
        )
        sum_tiles(self._inside, self._cores, bins)

    def measure_heatmap(self, heatmap: HeatMap) -> None:
        """Write the heat map of the plane counted last. Call it before `clamped`."""
        shift = self._levels.size.bit_length() - LEVELS.bit_length()
        measure_tiles(self._tiles, shift, heatmap.deviation, heatmap.distance)

    def clamped(self, bins: Counts) -> tuple[Counts, Counts]:
        """Return `bins` (1, 1, 2^b) and tiles (rows, columns, 2^b) clamped to the range of the frame."""
        if not self._limited:
            return bins.reshape(1, 1, -1), self._tiles
        self._clamped[0, 0] = bins
        for counts in (self._clamped, self._tiles):
            clamp_bins(counts, self._levels.low, self._levels.high)
        return self._clamped, self._tiles
