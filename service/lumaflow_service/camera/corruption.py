"""Which pictures are doubtful: those that came damaged, and all that build on them."""

import time

from av.video.frame import VideoFrame

LONGEST_SECONDS = 8.0
"""A camera that refreshes line by line is whole again by then, without a key frame."""


class CorruptionTracker:
    """Arises with damage and ends with the picture of the next whole key frame."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._ends_at: int | None = None
        self._last_key: float | None = None
        self._longest = LONGEST_SECONDS

    def arise(self) -> None:
        """Something is missing, or cannot be decoded."""
        self._since, self._ends_at = time.monotonic(), None

    def key(self, pts: int | None) -> None:
        """A whole key frame came; its picture may come later, after those before it."""
        now = time.monotonic()
        if self._last_key is not None:
            self._longest = max(LONGEST_SECONDS, now - self._last_key)
        self._last_key, self._ends_at = now, pts
        if pts is None:
            self._since = None

    def of(self, picture: VideoFrame) -> bool:
        """Whether a decoded picture is doubtful."""
        if picture.is_corrupt:
            self.arise()
        elif self._since is not None and self._over(picture.pts):
            self._since = None
        return self._since is not None

    def _over(self, pts: int | None) -> bool:
        assert self._since is not None
        is_whole = pts is not None and pts == self._ends_at
        return is_whole or time.monotonic() - self._since > self._longest
