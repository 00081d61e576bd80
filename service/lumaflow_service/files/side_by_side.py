"""Raw beside enhanced, as the viewer sees it: left and right even in a video that is stored turned."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Which way the two halves lie in the stored picture: along `axis` of (H, W), raw first or last."""

    axis: int = 1
    raw_first: bool = True

    @classmethod
    def of(cls, display_matrix: tuple[int, ...] | None) -> Self:
        """The split that a player with this display matrix shows as raw left, enhanced right.

        The matrix takes a stored (x, y) to the shown x' = m[0] * x + m[3] * y + ...
        """
        if display_matrix is None:
            return cls()
        across, down = display_matrix[0], display_matrix[3]
        return cls(1, across > 0) if across else cls(0, down > 0)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) of both halves together."""
        return (2 * width, height) if self.axis else (width, 2 * height)

    def join(self, raw: NDArray[np.uint8], enhanced: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Both halves in one picture."""
        return np.concatenate((raw, enhanced) if self.raw_first else (enhanced, raw), axis=self.axis)
