"""Detects stalled cameras, by their usual frame interval, and blocked calls. All times are monotonic."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MIN_SECONDS = 2.0
INTERVALS = 5
FIRST_PACKET_SECONDS = 5.0
FIRST_FRAME_SECONDS = 15.0
"""How long a camera may send packets before the first decodable frame: until its next key frame."""
GRACE_SECONDS = 3.0
CHECK_SECONDS = 0.5
BLOCKED_STATUS = 75
SMOOTHING = 0.1
"""Weight of the newest interval in the moving average."""


class Watchdog:
    """Measures the average frame interval and limits the wait for the next packet and frame.

    PyAV gets it as the read timeout and calls `float()` on it for every packet.
    """

    def __init__(self) -> None:
        self._average: float | None = None
        self._last_frame: float | None = None
        self._connected_at = time.monotonic()
        self._call_started: float | None = None
        self._call_seconds = 0.0

    def __float__(self) -> float:
        return self.limit_seconds

    @property
    def limit_seconds(self) -> float:
        """How long the next packet may take."""
        if self._last_frame is None:
            return FIRST_PACKET_SECONDS
        return max(MIN_SECONDS, INTERVALS * (self._average or 0.0))

    @property
    def overdue(self) -> bool:
        """Whether the next frame is late, although packets arrive."""
        now = time.monotonic()
        if self._last_frame is None:
            return now - self._connected_at > FIRST_FRAME_SECONDS
        return now - self._last_frame > self.limit_seconds

    def connected(self) -> None:
        """Begin a connection: its first frame may take longer. The average interval is kept."""
        self._last_frame, self._connected_at = None, time.monotonic()

    def frame(self, now: float) -> None:
        """Note a frame at the time `now`."""
        if self._last_frame is not None:
            interval = now - self._last_frame
            average = self._average if self._average is not None else interval
            self._average = average + SMOOTHING * (interval - average)
        self._last_frame = now

    @contextmanager
    def limit_call(self, seconds: float) -> Iterator[None]:
        """Wrap a call with a timeout of `seconds`; `exit_when_blocked` acts when the timeout fails."""
        self._call_seconds, self._call_started = seconds, time.monotonic()
        try:
            yield
        finally:
            self._call_started = None

    def exit_when_blocked(self, on_blocked: Callable[[], None]) -> None:
        """Start a thread that ends this process when a call exceeds its limit by GRACE_SECONDS.

        `on_blocked` is called first. The API process then starts a new process.
        """

        def check() -> None:
            while True:
                time.sleep(CHECK_SECONDS)
                started = self._call_started
                if started is not None and time.monotonic() - started > self._call_seconds + GRACE_SECONDS:
                    on_blocked()
                    os._exit(BLOCKED_STATUS)

        threading.Thread(target=check, name="watchdog", daemon=True).start()
