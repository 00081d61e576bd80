"""Strictly increasing frame times: those of the camera while they are plausible.

A time that is missing, does not increase or jumps is replaced by one that follows the last frame. After three
such times in a row the camera's clock has changed: a new offset continues the timeline from there.
"""

from dataclasses import dataclass
from fractions import Fraction

MAX_STEP = Fraction(5)
"""Seconds between two frames, in addition to the real time that passed; a larger step is an outlier."""
OUTLIERS_BEFORE_RESET = 3
DEFAULT_INTERVAL = Fraction(1, 25)


@dataclass(slots=True)
class Timeline:
    """Converts a camera's times in seconds; exact, because they are fractions.

    live : measure the time between frames on the monotonic clock; False for a file, read at any speed
    offset : seconds that are added to the camera's times now
    restamped : number of frames whose time was replaced
    """

    live: bool
    offset: Fraction = Fraction(0)
    restamped: int = 0
    _last_input: Fraction | None = None
    _last_arrived: float = 0.0
    _last: Fraction | None = None
    _interval: Fraction = DEFAULT_INTERVAL
    _outliers: int = 0

    def restart(self) -> None:
        """Begin a new connection, whose times have no relation to those before."""
        self._last_input = None
        self._outliers = 0

    def stamp(self, time: Fraction | None, arrived: float) -> Fraction:
        """Return the time for a frame with this camera time; `arrived` is on the monotonic clock."""
        if self._last is None:
            stamped = time or Fraction(0)
        elif time is None:
            stamped = self._extrapolate(self._last, arrived)
        elif self._last_input is None:
            stamped = self._continue(time, self._last, arrived)
        elif 0 < time - self._last_input <= MAX_STEP + self._elapsed(arrived):
            self._interval = min(time - self._last_input, MAX_STEP)
            self._outliers = 0
            stamped = time + self.offset
        else:
            return self._replace_outlier(time, self._last, arrived)
        self._last_input = time if time is not None else self._last_input
        return self._store(stamped, arrived)

    def _elapsed(self, arrived: float) -> Fraction:
        """Real time since the last frame; 0 for a file."""
        return Fraction(round((arrived - self._last_arrived) * 1000), 1000) if self.live else Fraction(0)

    def _extrapolate(self, last: Fraction, arrived: float) -> Fraction:
        self.restamped += 1
        return last + (self._elapsed(arrived) or self._interval)

    def _continue(self, time: Fraction, last: Fraction, arrived: float) -> Fraction:
        """The first time of a new connection follows the last frame after the real time that passed."""
        if not last < time + self.offset <= last + MAX_STEP + self._elapsed(arrived):
            self.offset = last + max(self._interval, self._elapsed(arrived)) - time
        return time + self.offset

    def _replace_outlier(self, time: Fraction, last: Fraction, arrived: float) -> Fraction:
        stamped = self._extrapolate(last, arrived)
        self._outliers += 1
        if self._outliers >= OUTLIERS_BEFORE_RESET:
            self._outliers, self._last_input, self.offset = 0, time, stamped - time
        return self._store(stamped, arrived)

    def _store(self, stamped: Fraction, arrived: float) -> Fraction:
        if self._last is not None and stamped <= self._last:
            stamped = self._last + self._interval
            self.restamped += 1
        self._last, self._last_arrived = stamped, arrived
        return stamped
