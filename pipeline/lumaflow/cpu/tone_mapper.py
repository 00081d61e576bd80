"""Tone mapping of a plane: LUTs built from its histograms, and their application (spec 2, 3, 4, 8, 9)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.apply import apply_clahe, apply_lut, pack_luts
from lumaflow.cpu.cores import core_count
from lumaflow.cpu.lut_builder import LutBuilder
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options
from lumaflow.roi import histogram_rect, mapped_rect, outside_rects
from lumaflow.tables import interpolation_table, level_range, tile_grid

Counts = NDArray[np.uint32]
Levels = NDArray[Any]


class CpuToneMapper:
    """Maps the levels of planes of one geometry to those of one output; owns LUTs, tables and scratch."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        equalization = options.equalization
        columns, rows = equalization.grid
        left, top, right, bottom = histogram_rect(geometry, options.region)
        tile = tile_grid(right - left, bottom - top, equalization.grid)
        levels = level_range(geometry, output)
        self._mode = equalization.mode
        self._builder = LutBuilder(equalization, levels, tile.tile_pixels, core_count(geometry))
        self._own = np.empty((rows, columns, levels.size), output.dtype)
        self._own[:] = self._builder.identity
        self._mapped_rect = mapped_rect(geometry, options.region)
        self._outside_rects = outside_rects(geometry, self._mapped_rect)
        self._interpolation_x = interpolation_table(geometry.width, tile.tile_width, columns, left)
        self._interpolation_y = interpolation_table(geometry.height, tile.tile_height, rows, top)
        self._open_scratch(geometry)

    def _open_scratch(self, geometry: Geometry) -> None:
        """An integer of four levels holds those of the four LUTs around a pixel."""
        four_levels = np.uint32 if self._own.dtype == np.uint8 else np.uint64
        self._bits = four_levels(8 * self._own.itemsize)
        rows, columns, levels = self._own.shape
        cells = (rows + 1, columns + 1) if self._mode is Mode.CLAHE else (0, 0)
        self._packed_luts = np.empty((*cells, levels), four_levels)
        self._looked_up = np.empty((4 * core_count(geometry), geometry.width), four_levels)

    @property
    def own(self) -> Levels:
        """(rows, columns, 2^b) uint8 or uint16: the LUTs of the last `build`; at first the identity."""
        return self._own

    def build(self, bins: Counts, tiles: Counts) -> None:
        """Build the LUTs from clamped counts: bins (1, 1, 2^b), tiles (rows, columns, 2^b)."""
        if self._mode is not Mode.IDENTITY:
            self._builder.build(tiles if self._mode is Mode.CLAHE else bins, self._own)
            self._builder.gate(bins, self._own)

    def apply(self, luma: Levels, luts: Levels, out: Levels) -> None:
        """Map `luma` (H, W) with `luts` (rows, columns, 2^b); pixels outside a region keep their level."""
        if self._mode is Mode.CLAHE:
            self._interpolate(luma, luts, out)
        else:
            apply_lut(luma, luts[0, 0], self._mapped_rect, out)
        for rect in self._outside_rects:
            apply_lut(luma, self._builder.identity, rect, out)

    def _interpolate(self, luma: Levels, luts: Levels, out: Levels) -> None:
        x, y = self._interpolation_x, self._interpolation_y
        pack_luts(luts, self._bits, self._packed_luts)
        apply_clahe(
            luma,
            self._packed_luts,
            self._bits,
            x.edges,
            x.weight,
            x.rest,
            y.edges,
            y.weight,
            y.rest,
            self._mapped_rect,
            self._looked_up,
            out,
        )
