"""The mapping of the previous frame, kept from one frame to the next (spec 5)."""

import numpy as np
from numpy.typing import NDArray

from pipeline.frame import LutKind
from pipeline.options import Equalization
from pipeline.succession import Succession
from pipeline.tables import LEVELS


class Mapping:
    """The LUTs of the last good frame of a lane."""

    def __init__(self, equalization: Equalization) -> None:
        columns, rows = equalization.grid
        self._luts = np.empty((rows, columns, LEVELS), np.uint8)
        self._succession = Succession(equalization.mode)

    def reset(self) -> None:
        """Forget the mapping: the next frame uses its own."""
        self._succession.reset()

    def advance(
        self, own: NDArray[np.uint8], corrupt: bool, chosen: NDArray[np.uint8]
    ) -> tuple[LutKind, int]:
        """Write the LUTs to apply to this frame to `chosen`; say whose they are and their age in frames.

        own, chosen : (rows, columns, 256) uint8. `own` becomes the mapping of the next frame, unless this
        one is corrupt: it is mapped, but never maps another.
        """
        kind, age = self._succession.advance(corrupt)
        np.copyto(chosen, self._luts if kind is LutKind.PREVIOUS else own)
        if not corrupt:
            np.copyto(self._luts, own)
        return kind, age
