"""The rule of the previous frame's mapping (spec 5)."""

import numpy as np
from numpy.typing import NDArray

from pipeline.frame import LutKind
from pipeline.options import Equalization, Mode
from pipeline.tables import LEVELS


class Mapping:
    """The LUTs of the last good frame of a lane, and how old they are."""

    def __init__(self, equalization: Equalization) -> None:
        columns, rows = equalization.grid
        self._identity = equalization.mode is Mode.IDENTITY
        self._luts = np.empty((rows, columns, LEVELS), np.uint8)
        self.reset()

    def reset(self) -> None:
        """Forget the mapping: the next frame uses its own."""
        self._age = 0

    def advance(
        self, own: NDArray[np.uint8], corrupt: bool, chosen: NDArray[np.uint8]
    ) -> tuple[LutKind, int]:
        """Write the LUTs to apply to this frame to `chosen`; say whose they are and their age in frames.

        own, chosen : (rows, columns, 256) uint8. `own` becomes the mapping of the next frame, unless this
        one is corrupt: it is mapped, but never maps another.
        """
        if self._identity:
            np.copyto(chosen, own)
            return LutKind.IDENTITY, 0
        kind, age = (LutKind.PREVIOUS, self._age) if self._age else (LutKind.OWN, 0)
        np.copyto(chosen, self._luts if self._age else own)
        if not corrupt:
            np.copyto(self._luts, own)
            self._age = 1
        elif self._age:
            self._age += 1
        return kind, age
