"""Percentiles of durations over the last minute, from one histogram for each ten seconds."""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

WINDOW_SECONDS = 10.0
WINDOWS = 6
RATIO = 1.05
"""Upper bound of a bucket over its lower bound; the relative error of a percentile is at most this large."""
MIN_SECONDS = 1e-6
CACHE_SECONDS = 1.0
"""Percentiles are cached for this long."""


class Percentiles(NamedTuple):
    """The median and the 99th percentile in seconds."""

    p50: float
    p99: float


class Latency:
    """Percentiles of several named durations over one minute, in steps of ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: deque[dict[str, Counter[int]]] = deque(maxlen=WINDOWS)
        self._current = 0
        self._cached: dict[str, Percentiles] = {}
        self._cached_until = 0.0

    def add(self, durations: Mapping[str, float]) -> None:
        """Count these durations in seconds."""
        self._advance()
        counts = self._windows[-1]
        for name, seconds in durations.items():
            counts.setdefault(name, Counter())[_bucket(seconds)] += 1

    def percentiles(self) -> dict[str, Percentiles]:
        """The percentiles of the last minute by name, in the order of the first `add`."""
        now = self._clock()
        if now >= self._cached_until:
            self._advance()
            names = dict.fromkeys(name for counts in self._windows for name in counts)
            self._cached = {name: self._percentiles(name) for name in names}
            self._cached_until = now + CACHE_SECONDS
        return self._cached

    def _advance(self) -> None:
        """Append empty windows up to the current time; the oldest are dropped."""
        now = int(self._clock() / WINDOW_SECONDS)
        for _ in range(min(now - self._current, WINDOWS)):
            self._windows.append({})
        self._current = now

    def _percentiles(self, name: str) -> Percentiles:
        total: Counter[int] = Counter()
        for counts in self._windows:
            total.update(counts.get(name, {}))
        return Percentiles(_percentile(total, 0.5), _percentile(total, 0.99))


def _bucket(seconds: float) -> int:
    return round(math.log(max(seconds, MIN_SECONDS) / MIN_SECONDS, RATIO))


def _percentile(counts: Counter[int], fraction: float) -> float:
    """The middle of the bucket with this quantile."""
    remaining = fraction * counts.total()
    for bucket in sorted(counts):
        remaining -= counts[bucket]
        if remaining <= 0:
            return MIN_SECONDS * RATIO**bucket
    return 0.0
