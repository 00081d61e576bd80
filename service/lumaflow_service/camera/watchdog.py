"""When a camera counts as stalled: by its own usual pace, on the monotonic clock."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHORTEST_SECONDS = 2.0
INTERVALS = 5
FIRST_PACKET_SECONDS = 5.0
FIRST_FRAME_SECONDS = 15.0
"""A camera may send this long without a picture that can be decoded: until its next key frame."""
GRACE_SECONDS = 3.0
STUCK_STATUS = 75
LEARNING = 0.1
"""Weight of the newest interval in the usual one."""


class Watchdog:
    """Knows the usual interval between frames and how long to wait for the next.

    It stands for the read deadline itself: PyAV takes `float()` of it anew for every packet.
    """

    def __init__(self) -> None:
        self._usual: float | None = None
        self._last: float | None = None
        self._began = time.monotonic()
        self._entered: float | None = None
        self._allowed = 0.0

    def __float__(self) -> float:
        return self.limit_seconds

    @property
    def interval_seconds(self) -> float:
        """The usual interval between frames; 1/25 s before there is one."""
        return self._usual or 0.04

    @property
    def limit_seconds(self) -> float:
        """How long the next packet may take."""
        if self._last is None:
            return FIRST_PACKET_SECONDS
        return max(SHORTEST_SECONDS, INTERVALS * (self._usual or 0.0))

    @property
    def overdue(self) -> bool:
        """Whether the next frame should have come, although packets do."""
        now = time.monotonic()
        if self._last is None:
            return now - self._began > FIRST_FRAME_SECONDS
        return now - self._last > self.limit_seconds

    def begin(self) -> None:
        """A connection is made: its first frame may take longer. The usual interval stays known."""
        self._last, self._began = None, time.monotonic()

    def frame(self, now: float) -> None:
        """A frame came at `now`."""
        if self._last is not None:
            interval = now - self._last
            usual = self._usual if self._usual is not None else interval
            self._usual = usual + LEARNING * (interval - usual)
        self._last = now

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Around a call that ends by itself within `seconds`: `guard` sees to it if it does not."""
        self._allowed, self._entered = seconds, time.monotonic()
        try:
            yield
        finally:
            self._entered = None

    def guard(self, last_words: Callable[[], None]) -> None:
        """Watch from a thread of its own; end the process when a call overstays, and start anew."""

        def watch() -> None:
            while True:
                time.sleep(0.5)
                entered = self._entered
                if entered is not None and time.monotonic() - entered > self._allowed + GRACE_SECONDS:
                    last_words()
                    os._exit(STUCK_STATUS)

        threading.Thread(target=watch, name="watchdog", daemon=True).start()
