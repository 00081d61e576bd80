"""Frames that kill workers: refused after the second time, so that a poison frame cannot keep us down."""

import hashlib
from collections.abc import Iterable

from lumaflow_service.errors import BadFrameError

KILLS = 2
MOST_SUSPECTS = 64


class Quarantine:
    """Counts, by length and hash, how often a worker died with a body in flight; success clears a body."""

    def __init__(self) -> None:
        self._kills: dict[tuple[int, bytes], int] = {}

    def check(self, body: memoryview) -> None:
        """Raise BadFrameError for a body that is quarantined."""
        if self._suspected(body) and self._kills.get(key_of(body), 0) >= KILLS:
            raise BadFrameError(
                f"the worker died {KILLS} times with this frame of {len(body)} bytes; do not send it again"
            )

    def blame(self, bodies: Iterable[memoryview]) -> None:
        """Count one death of a worker against the bodies that were in flight, each once."""
        for key in set(map(key_of, bodies)):
            self._kills[key] = self._kills.pop(key, 0) + 1
        while len(self._kills) > MOST_SUSPECTS:
            del self._kills[next(iter(self._kills))]

    def clear(self, body: memoryview) -> None:
        """Forget a body that a worker survived."""
        if self._suspected(body):
            self._kills.pop(key_of(body), None)

    def _suspected(self, body: memoryview) -> bool:
        """Whether it is worth hashing: a suspect has this length."""
        return any(length == len(body) for length, _ in self._kills)


def key_of(body: memoryview) -> tuple[int, bytes]:
    """Length and hash of a body."""
    return len(body), hashlib.blake2b(body, digest_size=16).digest()
