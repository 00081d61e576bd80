"""The time of every stage of a step."""

from time import perf_counter

from lumaflow.stage import Stage


class StageTimer:
    """Starts when it is made; each `lap` gives the time since the last one to a stage, in seconds."""

    def __init__(self) -> None:
        self.stage_seconds: dict[Stage, float] = {}
        self._last = perf_counter()

    def lap(self, stage: Stage) -> None:
        now = perf_counter()
        self.stage_seconds[stage] = now - self._last
        self._last = now
