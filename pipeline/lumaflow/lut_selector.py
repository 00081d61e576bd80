"""Selection of the LUT that a frame uses (spec 5), on the host, the same for every device."""

from lumaflow.frame import LutKind
from lumaflow.options import Mode


class LutSelector:
    """Follows the frames of one lane. A frame uses its own LUT when no good frame precedes it."""

    def __init__(self, mode: Mode) -> None:
        self._identity = mode is Mode.IDENTITY
        self._age = 0

    @property
    def next(self) -> tuple[LutKind, int]:
        """Kind of the LUT that the next frame uses, and its age in frames."""
        if self._identity:
            return LutKind.IDENTITY, 0
        return (LutKind.PREVIOUS, self._age) if self._age else (LutKind.OWN, 0)

    def advance(self, corrupt: bool, cut: bool = False) -> tuple[LutKind, int]:
        """Advance by one frame and return the previous `next`; the LUT of a corrupt frame is discarded.

        cut : a scene cut precedes the frame, which uses its own LUT therefore (spec 6)
        """
        if cut and not self._identity:
            self._age = 0
        selected = self.next
        if not corrupt:
            self._age = 1
        elif self._age:
            self._age += 1
        return selected

    def reset(self) -> None:
        """Discard the stored LUT: the next frame uses its own."""
        self._age = 0

    def copy_from(self, other: "LutSelector") -> None:
        """Take over the state of `other`."""
        self._age = other._age
