"""The way of the mapping: counts, LUTs, and the plane seen through LUTs, in every mode (spec 1..4)."""

import numpy as np
from numpy.typing import NDArray

from pipeline.cpu.apply import apply_clahe, apply_lut, pack_luts
from pipeline.cpu.cores import core_count
from pipeline.cpu.heatmap import measure_tiles
from pipeline.cpu.histogram import COUNTERS, count_tiles, sum_tiles
from pipeline.cpu.lut import clahe_luts, equalize_lut
from pipeline.frame import Geometry, HeatMap
from pipeline.options import Mode, Options
from pipeline.tables import LEVELS, blend, clip_limit, lut_scale, tile_grid


class Equalizer:
    """Counts a plane, builds its LUTs and applies LUTs; owns the tables and scratch for that."""

    def __init__(self, geometry: Geometry, options: Options) -> None:
        equalization = options.equalization
        self._mode = equalization.mode
        self._open_tiles(geometry, options)
        columns, rows = equalization.grid
        width, height = geometry.width, geometry.height
        tile = tile_grid(width, height, equalization.grid)
        self._limit = clip_limit(equalization.clip_limit, tile.tile_pixels)
        self._scale = lut_scale(tile.tile_pixels)
        self._own = np.empty((rows, columns, LEVELS), np.uint8)
        self._own[:] = np.arange(LEVELS)
        self._words = np.empty((4 * core_count(geometry), width), np.uint32)
        self._packed = np.empty((rows + 1, columns + 1, LEVELS), np.uint32)
        self._blend_x = blend(width, tile.tile_width, columns)
        self._blend_y = blend(height, tile.tile_height, rows)

    def _open_tiles(self, geometry: Geometry, options: Options) -> None:
        """Count by the tiles that somebody wants, else by bands that merely share out the work."""
        wanted = options.heatmap or self._mode is Mode.CLAHE
        tiles = options.equalization.tiles if wanted else (1, 2 * core_count(geometry))
        self._grid = tile_grid(geometry.width, geometry.height, tiles)
        shape = (self._grid.rows, self._grid.columns)
        self._partials = np.empty((*shape, COUNTERS, LEVELS), np.uint32)
        self._inside = np.empty((*shape, LEVELS), np.uint32)
        self._tiles = np.empty((*shape, LEVELS), np.uint32)

    def count(self, luma: NDArray[np.uint8], bins: NDArray[np.uint32]) -> None:
        """Count `luma` (H, W) uint8 by tiles, and as a whole into `bins` (256,) uint32."""
        grid = self._grid
        size = (grid.tile_width, grid.tile_height)
        count_tiles(luma, size, grid.source_x, grid.source_y, self._partials, self._inside, self._tiles)
        sum_tiles(self._inside, bins)

    def measure(self, heatmap: HeatMap) -> None:
        """The heat map of the plane counted last."""
        measure_tiles(self._tiles, heatmap.deviation, heatmap.distance)

    def build_luts(self, bins: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """(rows, columns, 256) uint8: the LUTs of the plane counted last, valid until the next call."""
        if self._mode is Mode.EQUALIZE:
            equalize_lut(bins, self._own[0, 0])
        elif self._mode is Mode.CLIPPED:
            clahe_luts(bins.reshape(1, 1, LEVELS), self._limit, self._scale, self._own)
        elif self._mode is Mode.CLAHE:
            clahe_luts(self._tiles, self._limit, self._scale, self._own)
        return self._own

    def apply(self, luma: NDArray[np.uint8], luts: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
        """See `luma` through `luts`: planes (H, W) uint8, luts (rows, columns, 256) uint8."""
        if self._mode is not Mode.CLAHE:
            apply_lut(luma, luts[0, 0], out)
            return
        x, y = self._blend_x, self._blend_y
        pack_luts(luts, self._packed)
        apply_clahe(
            luma, self._packed, x.edges, x.weight, x.rest, y.edges, y.weight, y.rest, self._words, out
        )
