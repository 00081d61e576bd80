"""A mapping and its use: LUTs made from counts, and a plane seen through LUTs (spec 2, 3, 4, 8, 9)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.apply import apply_clahe, apply_lut, pack_luts
from lumaflow.cpu.cores import core_count
from lumaflow.cpu.lut import clahe_luts, equalize_lut, stretch_lut
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options
from lumaflow.roi import histogram_rect, mapped_rect, outside_rects
from lumaflow.tables import (
    clip_limit,
    identity_lut,
    interpolation_table,
    level_range,
    lut_scale,
    rescale_lut,
    tile_grid,
)

Counts = NDArray[np.uint32]
Levels = NDArray[Any]


class CpuToneMapper:
    """LUTs from the levels of one turned geometry to those of one output; owns tables and scratch."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        equalization = options.equalization
        columns, rows = equalization.grid
        self._mode = equalization.mode
        span = level_range(geometry, output)
        self._levels = (span.low, span.high, span.shown_low, span.shown_high)
        self._unmapped, self._plain = identity_lut(span), rescale_lut(span)
        self._own = np.empty((rows, columns, span.size), output.dtype)
        self._own[:] = self._unmapped
        left, top, right, bottom = histogram_rect(geometry, options.region)
        tile = tile_grid(right - left, bottom - top, equalization.grid)
        self._limit = clip_limit(equalization.clip_limit, tile.tile_pixels, span.high - span.low + 1)
        self._scale = lut_scale(tile.tile_pixels, span.shown_high - span.shown_low)
        self._window = mapped_rect(geometry, options.region)
        self._beside = outside_rects(geometry, self._window)
        self._blend_x = interpolation_table(geometry.width, tile.tile_width, columns, left)
        self._blend_y = interpolation_table(geometry.height, tile.tile_height, rows, top)
        self._open_scratch(geometry)

    def _open_scratch(self, geometry: Geometry) -> None:
        """One word holds the four levels between which a pixel lies."""
        word = np.uint32 if self._own.dtype == np.uint8 else np.uint64
        self._bits = word(8 * self._own.itemsize)
        rows, columns, levels = self._own.shape
        self._totals = np.empty((core_count(geometry), levels), np.int32)
        places = (rows + 1, columns + 1) if self._mode is Mode.CLAHE else (0, 0)
        self._packed = np.empty((*places, levels), word)
        self._words = np.empty((4 * core_count(geometry), geometry.width), word)

    @property
    def own(self) -> Levels:
        """(rows, columns, 2^b) uint8 or uint16: the LUTs built last; at first, of no mapping at all."""
        return self._own

    def build(self, bins: Counts, tiles: Counts) -> None:
        """Make the LUTs of folded counts: bins (1, 1, 2^b), tiles (rows, columns, 2^b)."""
        if self._mode is Mode.EQUALIZE:
            equalize_lut(bins[0, 0], self._levels, self._plain, self._own[0, 0])
        elif self._mode is Mode.STRETCH:
            stretch_lut(bins[0, 0], self._levels, self._plain, self._own[0, 0])
        elif self._mode in (Mode.CLIPPED, Mode.CLAHE):
            counts = tiles if self._mode is Mode.CLAHE else bins
            clahe_luts(counts, self._limit, self._scale, self._levels, self._totals, self._own)

    def apply(self, luma: Levels, luts: Levels, out: Levels) -> None:
        """See `luma` (H, W) through `luts` (rows, columns, 2^b); beside the window nothing is mapped."""
        if self._mode is Mode.CLAHE:
            self._blend(luma, luts, out)
        else:
            apply_lut(luma, luts[0, 0], self._window, out)
        for window in self._beside:
            apply_lut(luma, self._unmapped, window, out)

    def _blend(self, luma: Levels, luts: Levels, out: Levels) -> None:
        x, y = self._blend_x, self._blend_y
        pack_luts(luts, self._bits, self._packed)
        apply_clahe(
            luma,
            self._packed,
            self._bits,
            x.edges,
            x.weight,
            x.rest,
            y.edges,
            y.weight,
            y.rest,
            self._window,
            self._words,
            out,
        )
