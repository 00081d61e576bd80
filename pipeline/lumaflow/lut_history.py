"""Whose mapping a frame is shown through (spec 5): the rule, on the host, for every device."""

from lumaflow.frame import LutKind
from lumaflow.options import Mode


class LutSelector:
    """Follows the frames of one lane: the first, and any without a good one before it, is its own."""

    def __init__(self, mode: Mode) -> None:
        self._identity = mode is Mode.IDENTITY
        self._age = 0

    @property
    def next(self) -> tuple[LutKind, int]:
        """Kind and age in frames of the mapping for the next frame."""
        if self._identity:
            return LutKind.IDENTITY, 0
        return (LutKind.PREVIOUS, self._age) if self._age else (LutKind.OWN, 0)

    def advance(self, corrupt: bool) -> tuple[LutKind, int]:
        """Go on to the frame after the next one, whose mapping is returned; a corrupt one maps no other."""
        answer = self.next
        if not corrupt:
            self._age = 1
        elif self._age:
            self._age += 1
        return answer

    def reset(self) -> None:
        """Forget the mapping: the next frame uses its own."""
        self._age = 0

    def follow(self, other: "LutSelector") -> None:
        """Stand where `other` stands."""
        self._age = other._age
