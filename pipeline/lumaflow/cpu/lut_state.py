"""The LUTs of the previous good frames, stored for the next one (spec 5, 6)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.lut import smooth_luts
from lumaflow.frame import LutKind
from lumaflow.lut_selector import LutSelector
from lumaflow.options import Mode

Luts = NDArray[Any]


class LutState:
    """Keeps the LUTs of the last good frame of a lane: one array each of output and, above 8 bits, display.

    own : arrays (rows, columns, 2^b) that hold the LUTs of the current frame
    smoothing : weight of the LUTs of the current frame in the stored ones; 1: only these
    """

    def __init__(self, mode: Mode, own: Sequence[Luts], smoothing: float = 1.0) -> None:
        self._own = own
        self._weight = np.float32(smoothing)
        self._smoothed = [np.empty(luts.shape, np.float32) for luts in own] if smoothing < 1.0 else []
        self._previous = [np.empty_like(luts) for luts in own]
        self._selector = LutSelector(mode)

    def reset(self) -> None:
        """Discard the stored LUTs: the next frame uses its own."""
        self._selector.reset()

    def advance(self, corrupt: bool, selected: Sequence[Luts], cut: bool = False) -> tuple[LutKind, int]:
        """Copy the LUTs for the current frame to `selected`; return their kind and age in frames.

        `own` is stored for the next frame, unless the current one is corrupt.

        cut : a scene cut precedes the current frame
        """
        kind, age = self._selector.advance(corrupt, cut)
        for own, previous, luts in zip(self._own, self._previous, selected, strict=True):
            np.copyto(luts, previous if kind is LutKind.PREVIOUS else own)
            if not corrupt:
                np.copyto(previous, own)
        if not corrupt:
            self._smooth(restart=kind is not LutKind.PREVIOUS)
        return kind, age

    def _smooth(self, restart: bool) -> None:
        """Replace the stored LUTs by the mean of those of all frames since the cut."""
        for own, smoothed, previous in zip(self._own, self._smoothed, self._previous, strict=False):
            if restart:
                np.copyto(smoothed, own)
            else:
                smooth_luts(smoothed.reshape(-1), own.reshape(-1), self._weight, previous.reshape(-1))
