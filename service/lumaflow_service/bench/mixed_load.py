"""`lumaflow bench lanes`: many lanes on one device, each with frames due at its own rate; and what must not
grow with frames or with lanes.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time, sleep

import numpy as np

from lumaflow.backend import memory_usage, open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import LaneConfig
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.pipeline import CUDA_CONFIGS, OPTIONS, fill, submit_born
from lumaflow_service.bench.test_images import TestImage, frames

LATENCY_GOAL_SECONDS = 5e-3
CORES_GOAL = 4.0
SERVED_GOAL = 0.99  # of the frames that are due in a lane; one that is served less starves
MOST_SLEEP_SECONDS = 1e-3
FLAT_GOAL = 1.1
LANES = (1, 4, 16, 64)


@dataclass(frozen=True, slots=True)
class LoadSources:
    """So many sources of one kind."""

    count: int
    geometry: Geometry
    rate: float

    def __str__(self) -> str:
        return f"{self.geometry} at {self.rate:g}/s"


@dataclass
class LoadSource:
    """One source's lane and what became of its frames; seconds of each from when it was submitted."""

    lane: Lane
    rate: float
    kind: str = ""
    seconds: list[float] = field(default_factory=list)
    due: int = 0
    missed: int = 0

    @property
    def served(self) -> float:
        """The part of the frames due that came out."""
        return len(self.seconds) / self.due if self.due else 0.0


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """Of one drive: wall-clock seconds, and CPU seconds of this process in them."""

    seconds: float
    cpu_seconds: float


def equal(lanes: int) -> list[LoadSources]:
    """The cameras of one kind: 1080p NV12, 30 frames a second."""
    return [LoadSources(lanes, Geometry(1920, 1080, PixelFormat.NV12), 30.0)]


def unequal(lanes: int) -> list[LoadSources]:
    """A mixed lot, a quarter of each kind: 4K, 1080p in colour, fast 720p and small slow ones."""
    kinds = (
        (Geometry(3840, 2160, PixelFormat.GRAY8), 25.0),
        (Geometry(1920, 1080, PixelFormat.BGR24), 30.0),
        (Geometry(1280, 720, PixelFormat.GRAY8), 60.0),
        (Geometry(352, 288, PixelFormat.GRAY8), 15.0),
    )
    return [LoadSources(max(lanes // len(kinds), 1), *kind) for kind in kinds]


def measure_lots(device: str, lanes: int, seconds: float) -> Iterator[Entry]:
    """Yield the figures of `lanes` equal sources, and of as many unequal ones, each driven for `seconds`."""
    for name, lot in (("equal", equal(lanes)), ("unequal", unequal(lanes))):
        subject = f"{sum(sources.count for sources in lot)} {name} lanes on {device}"
        try:
            with ExitStack() as stack:
                feeds = [feed for sources in lot for feed in _open(device, sources, stack)]
                yield from lot_figures(subject, feeds, drive(feeds, seconds))
        except DeviceError as error:
            yield Skipped(subject, "all", str(error))


def _open(device: str, sources: LoadSources, stack: ExitStack) -> list[LoadSource]:
    config, geometry = _config(device), sources.geometry
    pictures = frames(TestImage.PHOTOGRAPH, geometry, config.slots)
    feeds = []
    for _ in range(sources.count):
        lane = stack.enter_context(open_lane(device, geometry, OPTIONS, config))
        fill(lane, pictures)
        feeds.append(LoadSource(lane, sources.rate, str(sources)))
    return feeds


def _config(device: str) -> LaneConfig:
    return LaneConfig() if device == "cpu" else CUDA_CONFIGS["descriptors on the device"]


def drive(feeds: Sequence[LoadSource], seconds: float) -> ProcessCost:
    """Submit each source's frames when they are due, for `seconds`, and collect them as they come out.

    One thread does it all, as the service's worker does. A frame whose lane is full is missed.
    """
    began, computing = perf_counter(), process_time()
    calendar = [(began + number / len(feeds) / feed.rate, number) for number, feed in enumerate(feeds)]
    heapq.heapify(calendar)
    flying: deque[tuple[LoadSource, float]] = deque()
    while calendar[0][0] < began + seconds or flying:
        now = perf_counter()
        while calendar[0][0] <= min(now, began + seconds):
            due, number = calendar[0]
            heapq.heapreplace(calendar, (due + 1 / feeds[number].rate, number))
            _submit(feeds[number], flying)
        if flying:
            feed, submitted = flying.popleft()
            feed.lane.collect()
            feed.seconds.append(perf_counter() - submitted)
        elif calendar[0][0] < began + seconds:
            sleep(min(max(calendar[0][0] - perf_counter(), 0.0), MOST_SLEEP_SECONDS))
    return ProcessCost(perf_counter() - began, process_time() - computing)


def _submit(feed: LoadSource, flying: deque[tuple[LoadSource, float]]) -> None:
    feed.due += 1
    if feed.lane.in_flight == feed.lane.config.slots:
        feed.missed += 1
        return
    flying.append((feed, perf_counter()))
    submit_born(feed.lane)


def lot_figures(subject: str, feeds: Sequence[LoadSource], cost: ProcessCost) -> Iterator[Figure]:
    """Yield how long frames took, over all lanes and by their kind, how many lanes starved, how the least
    served one fared, and what the host spent.
    """
    seconds = [spent for feed in feeds for spent in feed.seconds]
    goal = Limit("the goal, 5 ms", LATENCY_GOAL_SECONDS, 1.0)
    yield Figure(subject, "frames", "frames/s", len(seconds) / cost.seconds)
    yield Figure.of(subject, "submit to done", "s", seconds)
    yield Figure(subject, "submit to done, p99", "s", float(np.percentile(seconds, 99)), limit=goal)
    slowest = max(float(np.percentile(feed.seconds, 99)) for feed in feeds if feed.seconds)
    yield Figure(subject, "the slowest lane's p99", "s", slowest, limit=goal)
    yield from _kind_figures(subject, feeds, goal)
    starved = sum(feed.served < SERVED_GOAL for feed in feeds)
    yield Figure(subject, "starved lanes", "lanes", starved, limit=Limit("all", len(feeds), 0.0))
    due = Limit("what is due", 100.0, SERVED_GOAL)
    yield Figure(subject, "the least served lane", "%", 100 * min(feed.served for feed in feeds), limit=due)
    cores = Limit("the goal, 4 cores", CORES_GOAL, 1.0)
    yield Figure(subject, "host CPU", "cores", cost.cpu_seconds / cost.seconds, limit=cores)


def _kind_figures(subject: str, feeds: Sequence[LoadSource], goal: Limit) -> Iterator[Figure]:
    kinds = dict.fromkeys(feed.kind for feed in feeds)
    for kind in kinds if len(kinds) > 1 else ():
        seconds = [spent for feed in feeds if feed.kind == kind for spent in feed.seconds]
        if seconds:
            yield Figure.of(subject, f"  {kind}", "s", seconds)
            yield Figure(subject, f"  {kind}, p99", "s", float(np.percentile(seconds, 99)), limit=goal)


def measure_flatness(device: str, geometry: Geometry, count: int) -> Iterator[Entry]:
    """Yield what `count` frames through one lane cost, first and last, and the memory that they took."""
    subject = f"{count} frames of {geometry} on {device}"
    config = _config(device)
    with open_lane(device, geometry, OPTIONS, config) as lane:
        fill(lane, frames(TestImage.PHOTOGRAPH, geometry, config.slots))
        part = max(count // 10, 1)
        run_in_turn([lane], part)
        before = memory_usage(device)
        first = run_in_turn([lane], part)
        run_in_turn([lane], count - 2 * part)
        last, after = run_in_turn([lane], part), memory_usage(device)
    limit = Limit("the first tenth", first, FLAT_GOAL)
    yield Figure(subject, "a frame, first tenth", "s", first)
    yield Figure(subject, "a frame, last tenth", "s", last, limit=limit)
    yield Figure(subject, "device memory taken", "bytes", float(after.device_bytes - before.device_bytes))
    yield Figure(subject, "pinned memory taken", "bytes", float(after.pinned_bytes - before.pinned_bytes))


def measure_crowd(
    device: str, geometry: Geometry, count: int, lanes: Sequence[int] = LANES
) -> Iterator[Entry]:
    """Yield what a frame and a lane cost beside so many other lanes, `count` frames in all."""
    subject = f"{geometry} on {device}, lanes beside each other"
    config = replace(_config(device), slots=2)
    pictures = frames(TestImage.PHOTOGRAPH, geometry, config.slots)
    limit = None
    for number in lanes:
        with ExitStack() as stack:
            before, began = memory_usage(device), perf_counter()
            opened = [
                stack.enter_context(open_lane(device, geometry, OPTIONS, config)) for _ in range(number)
            ]
            opening, held = perf_counter() - began, memory_usage(device)
            for lane in opened:
                fill(lane, pictures)
            seconds = run_in_turn(opened, max(count // number, 1))
        yield Figure(subject, f"a frame, {number} lanes", "s", seconds, limit=limit)
        yield Figure(subject, f"to open one of {number}", "s", opening / number)
        memory = (held.device_bytes - before.device_bytes) / number
        yield Figure(subject, f"memory of one of {number}", "bytes", memory)
        limit = limit or Limit("one lane's", seconds, FLAT_GOAL)


def run_in_turn(lanes: Sequence[Lane], each: int) -> float:
    """Seconds a frame, over `each` frames in every lane, in turn and as fast as they go."""
    began = perf_counter()
    for _ in range(each):
        for lane in lanes:
            if lane.in_flight == lane.config.slots:
                lane.collect()
            submit_born(lane)
    for lane in lanes:
        while lane.in_flight:
            lane.collect()
    return (perf_counter() - began) / each / len(lanes)
