"""How long things took in the last minute, in little memory: counts in narrow buckets, ten seconds each."""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

SLICE_SECONDS = 10.0
SLICES = 6
RATIO = 1.05
"""One bucket's upper bound over its lower: a percentile is at most so far off."""
SMALLEST_SECONDS = 1e-6
FRESH_SECONDS = 1.0
"""Percentiles are worked out at most so often, however many ask."""


class Percentiles(NamedTuple):
    """The median and the 99th percentile, in seconds."""

    p50: float
    p99: float


class Latency:
    """Percentiles of several named durations over a minute that slides in steps of ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._slices: deque[dict[str, Counter[int]]] = deque(maxlen=SLICES)
        self._current = 0
        self._known: dict[str, Percentiles] = {}
        self._known_until = 0.0

    def add(self, took: Mapping[str, float]) -> None:
        """Count what each of these took, in seconds."""
        self._slide()
        counts = self._slices[-1]
        for name, seconds in took.items():
            counts.setdefault(name, Counter())[_bucket(seconds)] += 1

    def percentiles(self) -> dict[str, Percentiles]:
        """Of all that was counted in the last minute, by name."""
        now = self._clock()
        if now >= self._known_until:
            self._slide()
            names = dict.fromkeys(name for counts in self._slices for name in counts)
            self._known = {name: self._percentiles(name) for name in names}
            self._known_until = now + FRESH_SECONDS
        return self._known

    def _slide(self) -> None:
        """Begin new slices until the last one is that of now; the oldest fall away."""
        now = int(self._clock() / SLICE_SECONDS)
        for _ in range(min(now - self._current, SLICES)):
            self._slices.append({})
        self._current = now

    def _percentiles(self, name: str) -> Percentiles:
        total: Counter[int] = Counter()
        for counts in self._slices:
            total.update(counts.get(name, {}))
        return Percentiles(_percentile(total, 0.5), _percentile(total, 0.99))


def _bucket(seconds: float) -> int:
    return round(math.log(max(seconds, SMALLEST_SECONDS) / SMALLEST_SECONDS, RATIO))


def _percentile(counts: Counter[int], share: float) -> float:
    """The middle of the bucket that holds this share of all."""
    wanted = share * counts.total()
    for bucket in sorted(counts):
        wanted -= counts[bucket]
        if wanted <= 0:
            return SMALLEST_SECONDS * RATIO**bucket
    return 0.0
