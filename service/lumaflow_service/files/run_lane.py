"""Frames through lanes: what every kind of file has in common."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from lumaflow.backend import open_lane
from lumaflow.frame import Enhanced, Frame
from lumaflow.lane import Lane
from lumaflow.options import Options, Orientation


@dataclass(frozen=True, slots=True)
class LaneJob:
    """How files are enhanced.

    device : a chosen one: "cpu" or "cuda:N"
    orientation : how stored pictures are turned, in place of what the file itself says; None: as it says
    """

    device: str = "cpu"
    options: Options = field(default_factory=Options)
    side_by_side: bool = False
    force: bool = False
    orientation: Orientation | None = None


def enhanced(frames: Iterable[Frame], job: LaneJob) -> Iterator[tuple[Frame, Enhanced]]:
    """Every frame with its enhancement, in order; a change of geometry opens a new lane.

    What is yielded is valid until the next one is asked for.
    """
    for geometry, run in groupby(frames, key=lambda frame: frame.geometry):
        with open_lane(job.device, geometry, job.options) as lane:
            yield from _through(lane, run)


def _through(lane: Lane, frames: Iterable[Frame]) -> Iterator[tuple[Frame, Enhanced]]:
    waiting: deque[Frame] = deque()
    for frame in frames:
        if lane.in_flight == lane.config.slots:
            yield waiting.popleft(), lane.collect()
        lane.submit(frame)
        waiting.append(frame)
    while waiting:
        yield waiting.popleft(), lane.collect()
