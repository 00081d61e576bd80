"""Measure the duration of every stage of a step."""

from time import perf_counter

from lumaflow.stage import Stage


class StageTimer:
    """Starts on construction; `record` assigns the time since the last call to a stage.

    stage_seconds : the durations so far
    """

    def __init__(self) -> None:
        self.stage_seconds: dict[Stage, float] = {}
        self._last = perf_counter()

    def record(self, stage: Stage) -> None:
        """End a stage; the next one starts now."""
        now = perf_counter()
        self.stage_seconds[stage] = now - self._last
        self._last = now
