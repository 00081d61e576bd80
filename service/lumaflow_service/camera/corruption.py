"""Tracks which decoded frames are corrupt: damaged ones, and those that refer to a damaged frame."""

import time

from av.video.frame import VideoFrame

MAX_SECONDS = 8.0
"""A camera with intra refresh has no key frames; its picture is complete again after this time."""


class CorruptionTracker:
    """Frames are corrupt from `mark` until the next intact key frame is decoded, or a time limit.

    The limit is MAX_SECONDS, or the interval between key frames when that is longer.
    """

    def __init__(self) -> None:
        self._corrupt_since: float | None = None
        self._intact_pts: int | None = None
        self._last_key_frame: float | None = None
        self._max_seconds = MAX_SECONDS

    def mark(self) -> None:
        """Mark the stream as corrupt: packets are missing or cannot be decoded."""
        self._corrupt_since, self._intact_pts = time.monotonic(), None

    def key_frame(self, pts: int | None) -> None:
        """Note the packet of an intact key frame; frames that precede it may still be decoded after it."""
        now = time.monotonic()
        if self._last_key_frame is not None:
            self._max_seconds = max(MAX_SECONDS, now - self._last_key_frame)
        self._last_key_frame, self._intact_pts = now, pts
        if pts is None:
            self._corrupt_since = None

    def is_corrupt(self, frame: VideoFrame) -> bool:
        """Return whether this decoded frame is corrupt."""
        if frame.is_corrupt:
            self.mark()
        elif self._corrupt_since is not None and self._recovered(frame.pts, self._corrupt_since):
            self._corrupt_since = None
        return self._corrupt_since is not None

    def _recovered(self, pts: int | None, since: float) -> bool:
        is_key_frame = pts is not None and pts == self._intact_pts
        return is_key_frame or time.monotonic() - since > self._max_seconds
