"""Waits between attempts: 1, 2, 4 .. 30 s with jitter, from the beginning again after 30 good frames."""

from random import Random

LONGEST_SECONDS = 30.0
GOOD_FRAMES = 30
JITTER = 0.2
"""Up to this part shorter or longer, so that cameras lost together do not come back together."""


class Backoff:
    """The waits of one camera."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._failures = 0
        self._good = 0

    def good(self) -> None:
        """Count a good frame."""
        self._good += 1
        if self._good >= GOOD_FRAMES:
            self._failures = 0

    def wait_seconds(self) -> float:
        """How long to wait before the next attempt; each call counts as a failure."""
        self._good = 0
        seconds = min(2.0**self._failures, LONGEST_SECONDS)
        self._failures = min(self._failures + 1, 16)
        return seconds * self._random.uniform(1 - JITTER, 1 + JITTER)
