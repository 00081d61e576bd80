"""Raw beside enhanced: left and right as displayed, also in a video that a player rotates."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The layout of both halves in the stored frame: joined along `axis` of (H, W), raw first or last."""

    axis: int = 1
    raw_first: bool = True

    @classmethod
    def of(cls, display_matrix: tuple[int, ...] | None) -> Self:
        """The layout that a player with this display matrix displays as raw left, enhanced right.

        The matrix maps a stored (x, y) to the displayed x' = m[0] * x + m[3] * y + ...
        """
        if display_matrix is None:
            return cls()
        x_to_x, y_to_x = display_matrix[0], display_matrix[3]
        return cls(1, x_to_x > 0) if x_to_x else cls(0, y_to_x > 0)

    def size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) of both halves together."""
        return (2 * width, height) if self.axis else (width, 2 * height)

    def join(self, raw: NDArray[Any], enhanced: NDArray[Any]) -> NDArray[Any]:
        """One array of both halves."""
        halves = (raw, enhanced) if self.raw_first else (enhanced, raw)
        return np.concatenate(halves, axis=self.axis)
