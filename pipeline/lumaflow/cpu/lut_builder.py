"""LUTs built from histograms in one mode (spec 2, 3, 4, 8, 9)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.lut import clahe_luts, equalize_lut, gate_luts, gate_strength, stretch_lut
from lumaflow.options import Equalization, Mode
from lumaflow.tables import LevelRange, clip_limit, identity_lut, lut_scale, rescale_lut


class LutBuilder:
    """Builds LUTs in the mode of `equalization`; owns the tables and scratch for that.

    identity : (2^b,) uint8 or uint16, the LUT that leaves every level as it is
    """

    def __init__(self, equalization: Equalization, levels: LevelRange, tile_pixels: int, cores: int) -> None:
        span = levels.out_high - levels.out_low
        self.identity = identity_lut(levels)
        self._mode = equalization.mode
        self._gate = equalization.gate and equalization.mode is not Mode.IDENTITY
        self._levels = (levels.low, levels.high, levels.out_low, levels.out_high)
        self._rescale = rescale_lut(levels)
        self._limit = clip_limit(equalization.clip_limit, tile_pixels, levels.high - levels.low + 1)
        self._scale = lut_scale(tile_pixels, span)
        self._cumulative = np.empty((cores, levels.size), np.int32)

    def build(self, counts: NDArray[np.uint32], luts: NDArray[Any]) -> None:
        """Write `luts` (rows, columns, 2^b) from clamped `counts` (rows, columns, 2^b)."""
        if self._mode is Mode.EQUALIZE:
            equalize_lut(counts[0, 0], self._levels, self._rescale, luts[0, 0])
        elif self._mode is Mode.STRETCH:
            stretch_lut(counts[0, 0], self._levels, self._rescale, luts[0, 0])
        elif self._mode is Mode.IDENTITY:
            luts[:] = self.identity
        else:
            clahe_luts(counts, self._limit, self._scale, self._levels, self._cumulative, luts)

    def gate(self, bins: NDArray[np.uint32], luts: NDArray[Any]) -> None:
        """Move `luts` (rows, columns, 2^b) towards the identity, with the gate, by clamped `bins`."""
        if self._gate:
            low, high, *_ = self._levels
            gate_luts(self.identity, gate_strength(bins[0, 0], low, high), luts)
