"""When each stage of a slot's step began and ended, by CUDA events; read when the slot is collected."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy

from lumaflow.cuda.streams import record_outside
from lumaflow.stage import Stage

NOT_TIMED = nullcontext()

PARTS = {stage: 2 if stage is Stage.DOWNLOAD else 1 for stage in Stage}
"""How often a step comes to each stage: the picture goes down first, its descriptors when they are done."""


class StageEvents:
    """A pair of events for every part of every stage of one slot."""

    def __init__(self) -> None:
        self._spans = {(stage, part): EventPair() for stage in Stage for part in range(PARTS[stage])}

    def around(self, stage: Stage, stream: Any, timed: bool, part: int = 0) -> AbstractContextManager[None]:
        """Time what the enclosed lines launch on `stream`, if `timed`."""
        return self._spans[stage, part].on(stream) if timed else NOT_TIMED

    def read(self) -> Mapping[Stage, float]:
        """Seconds of every stage timed so far; the events must have passed."""
        seconds: dict[Stage, float] = defaultdict(float)
        for (stage, _), span in self._spans.items():
            if span.used:
                seconds[stage] += span.seconds
        return dict(seconds)


class EventPair:
    """What a pair of events stands around."""

    def __init__(self) -> None:
        self._began, self._ended = cupy.cuda.Event(), cupy.cuda.Event()
        self._stream: Any = None
        self.used = False

    def on(self, stream: Any) -> "EventPair":
        """This span, about to be entered for work on `stream`."""
        self._stream = stream
        return self

    def __enter__(self) -> None:
        record_outside(self._began, self._stream)

    def __exit__(self, *_: object) -> None:
        record_outside(self._ended, self._stream)
        self.used = True

    @property
    def seconds(self) -> float:
        """From the one event to the other."""
        return float(cupy.cuda.get_elapsed_time(self._began, self._ended)) * 1e-3
