"""The mapping of the previous frame, kept from one frame to the next (spec 5)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import LutKind
from lumaflow.lut_history import LutSelector
from lumaflow.options import Mode

Luts = NDArray[Any]


class LutState:
    """The LUTs of the last good frame of a lane: those of its output and, beside a deep one, of the display.

    own : LUTs (rows, columns, 2^b) of the frame at hand, written anew for every frame
    """

    def __init__(self, mode: Mode, own: Sequence[Luts]) -> None:
        self._own = own
        self._kept = [np.empty_like(luts) for luts in own]
        self._succession = LutSelector(mode)

    def reset(self) -> None:
        """Forget the mapping: the next frame uses its own."""
        self._succession.reset()

    def advance(self, corrupt: bool, chosen: Sequence[Luts]) -> tuple[LutKind, int]:
        """Write the LUTs to apply to this frame to `chosen`; say whose they are and their age in frames.

        `own` becomes the mapping of the next frame, unless this one is corrupt: it is mapped, but never maps
        another.
        """
        kind, age = self._succession.advance(corrupt)
        for own, kept, luts in zip(self._own, self._kept, chosen, strict=True):
            np.copyto(luts, kept if kind is LutKind.PREVIOUS else own)
            if not corrupt:
                np.copyto(kept, own)
        return kind, age
