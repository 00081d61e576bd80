"""Times of frames: those of the camera while they make sense, monotonic in any case.

A time that is missing, does not grow or leaps is replaced by one that follows the last frame. Three such in
a row are no accident (the camera's clock was set, a connection is new): a new timeline begins, which goes on
where the old one was.
"""

from dataclasses import dataclass
from fractions import Fraction

LARGEST_STEP = Fraction(5)
"""Seconds; a frame later than this after the last, beyond the time that really passed, is an outlier."""
NEW_TIMELINE = 3
FIRST_INTERVAL = Fraction(1, 25)
"""Where a second frame without a time is put, when nobody knows better."""


@dataclass(slots=True)
class Timeline:
    """All times in seconds as fractions, so that nothing is ever rounded.

    `offset` is what is added to the camera's times now; `restamped` counts the frames whose time was made.
    """

    live: bool
    offset: Fraction = Fraction(0)
    restamped: int = 0
    _given: Fraction | None = None
    _seen: float = 0.0
    _last: Fraction | None = None
    _interval: Fraction = FIRST_INTERVAL
    _outliers: int = 0

    def restart(self) -> None:
        """The connection is new: its first time says nothing about the last one's."""
        self._given = None
        self._outliers = 0

    def stamp(self, time: Fraction | None, arrived: float) -> Fraction:
        """The time to go on with for a frame with this `time`, which arrived on the monotonic clock."""
        if self._last is None:
            stamped = time or Fraction(0)
        elif time is None:
            stamped = self._follow(arrived)
        elif self._given is None:
            stamped = self._begin(time, arrived)
        elif 0 < time - self._given <= LARGEST_STEP + self._passed(arrived):
            self._interval = min(time - self._given, LARGEST_STEP)
            self._outliers = 0
            stamped = time + self.offset
        else:
            return self._outlier(time, arrived)
        self._given = time if time is not None else self._given
        return self._keep(stamped, arrived)

    def _passed(self, arrived: float) -> Fraction:
        """Real time since the last frame; a file's frames come as quickly as they are read."""
        return Fraction(round((arrived - self._seen) * 1000), 1000) if self.live else Fraction(0)

    def _follow(self, arrived: float) -> Fraction:
        assert self._last is not None
        self.restamped += 1
        return self._last + (self._passed(arrived) or self._interval)

    def _begin(self, time: Fraction, arrived: float) -> Fraction:
        """The first time of a connection: goes on after the last frame by what really passed."""
        assert self._last is not None
        if not self._last < time + self.offset <= self._last + LARGEST_STEP + self._passed(arrived):
            self.offset = self._last + max(self._interval, self._passed(arrived)) - time
        return time + self.offset

    def _outlier(self, time: Fraction, arrived: float) -> Fraction:
        assert self._last is not None
        stamped = self._follow(arrived)
        self._outliers += 1
        if self._outliers >= NEW_TIMELINE:
            self._outliers, self._given, self.offset = 0, time, stamped - time
        return self._keep(stamped, arrived)

    def _keep(self, stamped: Fraction, arrived: float) -> Fraction:
        if self._last is not None and stamped <= self._last:
            stamped = self._last + self._interval
            self.restamped += 1
        self._last, self._seen = stamped, arrived
        return stamped
