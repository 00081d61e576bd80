"""Counting a plane: its bins, its tiles, its heat map (spec 1, 4, 13)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.cores import core_count
from lumaflow.cpu.heatmap import measure_tiles
from lumaflow.cpu.histogram import COUNTERS, count_tiles, fold_levels, sum_tiles
from lumaflow.frame import HeatMap
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options
from lumaflow.roi import histogram_rect
from lumaflow.tables import LEVELS, level_range, tile_grid

Counts = NDArray[np.uint32]


class HistogramCounter:
    """Counts planes of one turned geometry; owns the tables and scratch for that."""

    def __init__(self, geometry: Geometry, options: Options) -> None:
        left, top, right, bottom = histogram_rect(geometry, options.region)
        self._origin, self._size = (left, top), (right - left, bottom - top)
        self._cores = core_count(geometry)
        # By the tiles that somebody wants, else by bands that merely share out the work.
        wanted = options.heatmap or options.equalization.mode is Mode.CLAHE
        tiles = options.equalization.tiles if wanted else (1, 2 * self._cores)
        self._grid = tile_grid(*self._size, tiles, self._origin)
        self._span = level_range(geometry, geometry)
        self._limited = geometry.limited
        levels, places = self._span.size, (self._grid.rows, self._grid.columns)
        self._partials = np.empty((*places, COUNTERS if levels == LEVELS else 1, LEVELS), np.uint32)
        self._tiles = np.empty((*places, levels), np.uint32)
        padded = (self._grid.source_x.size, self._grid.source_y.size) != self._size
        self._inside = np.empty_like(self._tiles) if padded else self._tiles
        self._folded = np.empty((1, 1, levels), np.uint32)

    def count(self, luma: NDArray[Any], bins: Counts) -> None:
        """Count `luma` (H, W) by tiles, and as a whole into `bins` (2^b,) uint32."""
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

    def measure(self, heatmap: HeatMap) -> None:
        """The heat map of the plane counted last; to be asked for before `fold`."""
        shift = self._span.size.bit_length() - LEVELS.bit_length()
        measure_tiles(self._tiles, shift, heatmap.deviation, heatmap.distance)

    def fold(self, bins: Counts) -> tuple[Counts, Counts]:
        """`bins` (1, 1, 2^b) and tiles (rows, columns, 2^b) with nothing outside the range, for LUTs."""
        if not self._limited:
            return bins.reshape(1, 1, -1), self._tiles
        self._folded[0, 0] = bins
        for counts in (self._folded, self._tiles):
            fold_levels(counts, self._span.low, self._span.high)
        return self._folded, self._tiles
