"""The LUTs of the previous good frame, kept for the next one (spec 5)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import LutKind
from lumaflow.lut_history import LutSelector
from lumaflow.options import Mode

Luts = NDArray[Any]


class LutState:
    """Keeps the LUTs of the last good frame of a lane: one array each of output and, above 8 bits, display.

    own : arrays (rows, columns, 2^b) that hold the LUTs of the current frame
    """

    def __init__(self, mode: Mode, own: Sequence[Luts]) -> None:
        self._own = own
        self._previous = [np.empty_like(luts) for luts in own]
        self._selector = LutSelector(mode)

    def reset(self) -> None:
        """Discard the kept LUTs: the next frame uses its own."""
        self._selector.reset()

    def advance(self, corrupt: bool, selected: Sequence[Luts]) -> tuple[LutKind, int]:
        """Copy the LUTs for the current frame to `selected`; return their kind and age in frames.

        `own` is kept for the next frame, unless the current one is corrupt.
        """
        kind, age = self._selector.advance(corrupt)
        for own, previous, luts in zip(self._own, self._previous, selected, strict=True):
            np.copyto(luts, previous if kind is LutKind.PREVIOUS else own)
            if not corrupt:
                np.copyto(previous, own)
        return kind, age
