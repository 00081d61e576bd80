"""Quarantine of frames that crash the worker: they are refused after the second crash."""

import hashlib
from collections.abc import Iterable

from lumaflow_service.errors import BadFrameError

MAX_CRASHES = 2
MAX_SUSPECTS = 64


class Quarantine:
    """Counts worker crashes by the bodies that were in flight, identified by length and hash."""

    def __init__(self) -> None:
        self._crashes: dict[tuple[int, bytes], int] = {}

    def check(self, body: memoryview) -> None:
        """Raise BadFrameError for a quarantined body."""
        if self._has_suspect_length(body) and self._crashes.get(body_key(body), 0) >= MAX_CRASHES:
            raise BadFrameError(
                f"the worker died {MAX_CRASHES} times with this frame of {len(body)} bytes;"
                " do not send it again"
            )

    def record_crash(self, bodies: Iterable[memoryview]) -> None:
        """Count one crash for each different body that was in flight."""
        for key in set(map(body_key, bodies)):
            self._crashes[key] = self._crashes.pop(key, 0) + 1
        while len(self._crashes) > MAX_SUSPECTS:
            del self._crashes[next(iter(self._crashes))]

    def clear(self, body: memoryview) -> None:
        """Remove a body that was processed without a crash."""
        if self._has_suspect_length(body):
            self._crashes.pop(body_key(body), None)

    def _has_suspect_length(self, body: memoryview) -> bool:
        """False when no suspect has this length: the body then needs no hash."""
        return any(length == len(body) for length, _ in self._crashes)


def body_key(body: memoryview) -> tuple[int, bytes]:
    """Length and hash of a body."""
    return len(body), hashlib.blake2b(body, digest_size=16).digest()
