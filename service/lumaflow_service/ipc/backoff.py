"""Exponential backoff: how long to wait before the next attempt."""

from collections.abc import Sequence
from random import Random

MAX_SECONDS = 30.0
GOOD_FRAMES = 30
"""Good frames in a row after which the delays of `Backoff` start again at 1 s."""
JITTER = 0.2
"""Delays are up to this fraction shorter or longer, so that cameras lost together reconnect apart."""
FREE_CRASHES, CRASH_WINDOW_SECONDS = 5, 60.0
"""With fewer crashes in this window a worker is restarted at once."""


def backoff_seconds(failures: int) -> float:
    """The delay after a number of failures in a row: 1, 2, 4, 8, 16, then always 30 s."""
    return min(2.0 ** min(failures, 16), MAX_SECONDS)


def crash_backoff_seconds(crashes: Sequence[float]) -> float:
    """The delay after the last of these crash times: 0 s while there are few, then `backoff_seconds`."""
    recent = sum(1 for crash in crashes if crashes[-1] - crash < CRASH_WINDOW_SECONDS)
    return 0.0 if recent < FREE_CRASHES else backoff_seconds(recent - FREE_CRASHES)


class Backoff:
    """The delays between connection attempts to one camera or server, with jitter."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._failures = 0
        self._good_frames = 0

    def good(self) -> None:
        """Count a good frame."""
        self._good_frames += 1
        if self._good_frames >= GOOD_FRAMES:
            self._failures = 0

    def wait_seconds(self) -> float:
        """The delay before the next attempt; each call counts as a failure."""
        self._good_frames = 0
        seconds = backoff_seconds(self._failures)
        self._failures += 1
        return seconds * self._random.uniform(1 - JITTER, 1 + JITTER)
