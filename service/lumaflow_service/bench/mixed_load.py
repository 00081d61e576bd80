"""`lumaflow bench lanes`: many sources on one device, each with frames at a fixed rate."""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter, process_time, sleep

import numpy as np

from lumaflow.backend import open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.images import ImageKind, frames
from lumaflow_service.bench.lane_driver import OPTIONS, fill_slots, load_config, submit_slot

LATENCY_GOAL_SECONDS = 5e-3
CORES_GOAL = 4.0
SERVED_GOAL = 0.99  # a lane with a smaller part of its frames processed counts as starved
MAX_SLEEP_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class LoadSources:
    """`count` sources of one kind; `rate` in frames per second."""

    count: int
    geometry: Geometry
    rate: float

    def __str__(self) -> str:
        return f"{self.geometry} at {self.rate:g}/s"


@dataclass
class LoadSource:
    """The lane of one source and the statistics of its frames.

    seconds : latency of each frame, from submit to collect
    due, missed : frames that were due, and those dropped because the lane was full
    """

    lane: Lane
    rate: float
    kind: str = ""
    seconds: list[float] = field(default_factory=list)
    due: int = 0
    missed: int = 0

    @property
    def served(self) -> float:
        """The fraction of the due frames that were processed."""
        return len(self.seconds) / self.due if self.due else 0.0


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """Wall-clock seconds of a run, and CPU seconds of this process during the run."""

    seconds: float
    cpu_seconds: float


def equal_sources(lanes: int) -> list[LoadSources]:
    """1080p NV12 at 30 frames per second."""
    return [LoadSources(lanes, Geometry(1920, 1080, PixelFormat.NV12), 30.0)]


def mixed_sources(lanes: int) -> list[LoadSources]:
    """A quarter of each kind: 4K, 1080p in colour, 720p at a high rate, and 352x288 at a low rate."""
    kinds = (
        (Geometry(3840, 2160, PixelFormat.GRAY8), 25.0),
        (Geometry(1920, 1080, PixelFormat.BGR24), 30.0),
        (Geometry(1280, 720, PixelFormat.GRAY8), 60.0),
        (Geometry(352, 288, PixelFormat.GRAY8), 15.0),
    )
    return [LoadSources(max(lanes // len(kinds), 1), *kind) for kind in kinds]


def measure_mixed_load(device: str, lanes: int, seconds: float) -> Iterator[Entry]:
    """Yield the figures of `lanes` equal sources and of as many unequal ones, each run for `seconds`."""
    for name, load in (("equal", equal_sources(lanes)), ("unequal", mixed_sources(lanes))):
        subject = f"{sum(kind.count for kind in load)} {name} lanes on {device}"
        try:
            with ExitStack() as stack:
                sources = [source for kind in load for source in _open_sources(device, kind, stack)]
                yield from load_figures(subject, sources, run_load(sources, seconds))
        except DeviceError as error:
            yield Skipped(subject, "all", str(error))


def _open_sources(device: str, kind: LoadSources, stack: ExitStack) -> list[LoadSource]:
    config = load_config(device)
    images = frames(ImageKind.PHOTOGRAPH, kind.geometry, config.slots)
    sources = []
    for _ in range(kind.count):
        lane = stack.enter_context(open_lane(device, kind.geometry, OPTIONS, config))
        fill_slots(lane, images)
        sources.append(LoadSource(lane, kind.rate, str(kind)))
    return sources


def run_load(sources: Sequence[LoadSource], seconds: float) -> ProcessCost:
    """Submit the frames of each source when they are due, for `seconds`, and collect them in order.

    One thread drives all lanes, as in the worker of the service. A frame is dropped if its lane is full.
    """
    start, cpu_start = perf_counter(), process_time()
    end = start + seconds
    schedule = [(start + index / len(sources) / source.rate, index) for index, source in enumerate(sources)]
    heapq.heapify(schedule)
    in_flight: deque[tuple[LoadSource, float]] = deque()
    while schedule[0][0] < end or in_flight:
        now = perf_counter()
        while schedule[0][0] <= min(now, end):
            due, index = schedule[0]
            heapq.heapreplace(schedule, (due + 1 / sources[index].rate, index))
            _submit(sources[index], in_flight)
        if in_flight:
            source, submitted = in_flight.popleft()
            source.lane.collect()
            source.seconds.append(perf_counter() - submitted)
        elif schedule[0][0] < end:
            sleep(min(max(schedule[0][0] - perf_counter(), 0.0), MAX_SLEEP_SECONDS))
    return ProcessCost(perf_counter() - start, process_time() - cpu_start)


def _submit(source: LoadSource, in_flight: deque[tuple[LoadSource, float]]) -> None:
    source.due += 1
    if source.lane.in_flight == source.lane.config.slots:
        source.missed += 1
        return
    in_flight.append((source, perf_counter()))
    submit_slot(source.lane)


def load_figures(subject: str, sources: Sequence[LoadSource], cost: ProcessCost) -> Iterator[Figure]:
    """Yield rate, latency over all lanes and by kind, starved lanes, and the CPU use of the host."""
    seconds = [each for source in sources for each in source.seconds]
    goal = Limit("the goal, 5 ms", LATENCY_GOAL_SECONDS, 1.0)
    yield Figure(subject, "frames", "frames/s", len(seconds) / cost.seconds)
    yield Figure.of(subject, "submit to done", "s", seconds)
    yield Figure(subject, "submit to done, p99", "s", float(np.percentile(seconds, 99)), limit=goal)
    slowest = max(float(np.percentile(source.seconds, 99)) for source in sources if source.seconds)
    yield Figure(subject, "the slowest lane's p99", "s", slowest, limit=goal)
    yield from _kind_figures(subject, sources, goal)
    starved = sum(source.served < SERVED_GOAL for source in sources)
    yield Figure(subject, "starved lanes", "lanes", starved, limit=Limit("all", len(sources), 0.0))
    due, served = Limit("what is due", 100.0, SERVED_GOAL), min(source.served for source in sources)
    yield Figure(subject, "the least served lane", "%", 100 * served, limit=due)
    cores = Limit("the goal, 4 cores", CORES_GOAL, 1.0)
    yield Figure(subject, "host CPU", "cores", cost.cpu_seconds / cost.seconds, limit=cores)


def _kind_figures(subject: str, sources: Sequence[LoadSource], goal: Limit) -> Iterator[Figure]:
    kinds = dict.fromkeys(source.kind for source in sources)
    for kind in kinds if len(kinds) > 1 else ():
        seconds = [each for source in sources if source.kind == kind for each in source.seconds]
        if seconds:
            yield Figure.of(subject, f"  {kind}", "s", seconds)
            yield Figure(subject, f"  {kind}, p99", "s", float(np.percentile(seconds, 99)), limit=goal)
