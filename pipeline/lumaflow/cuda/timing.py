"""Measures the stages of a step with CUDA events; the times are read when the slot is collected."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy

from lumaflow.cuda.streams import record_external
from lumaflow.stage import Stage

NOT_TIMED = nullcontext()

PARTS = {stage: 2 if stage is Stage.DOWNLOAD else 1 for stage in Stage}
"""Number of intervals per stage: the download has two, the enhanced frame and the features."""


class StageEvents:
    """The pairs of events of one slot, by stage and part."""

    def __init__(self) -> None:
        self._pairs = {(stage, part): EventPair() for stage in Stage for part in range(PARTS[stage])}

    def measure(self, stage: Stage, stream: Any, timed: bool, part: int = 0) -> AbstractContextManager[None]:
        """Measure the work that the block enqueues on `stream`, if `timed`."""
        return self._pairs[stage, part].on(stream) if timed else NOT_TIMED

    def read(self) -> Mapping[Stage, float]:
        """Seconds of each measured stage; the events must be complete."""
        seconds: dict[Stage, float] = defaultdict(float)
        for (stage, _), pair in self._pairs.items():
            if pair.used:
                seconds[stage] += pair.seconds
        return dict(seconds)


class EventPair:
    """Two events that enclose work on a stream, as a context manager."""

    def __init__(self) -> None:
        self._start, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        self._stream: Any = None
        self.used = False

    def on(self, stream: Any) -> "EventPair":
        """Set the stream for the next use."""
        self._stream = stream
        return self

    def __enter__(self) -> None:
        record_external(self._start, self._stream)

    def __exit__(self, *_: object) -> None:
        record_external(self._end, self._stream)
        self.used = True

    @property
    def seconds(self) -> float:
        """Seconds between the two events."""
        return float(cupy.cuda.get_elapsed_time(self._start, self._end)) * 1e-3
