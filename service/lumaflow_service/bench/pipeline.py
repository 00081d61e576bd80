"""`lumaflow bench pipeline`: what a lane sustains, how long one frame takes, and where its time goes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from time import perf_counter, process_time

import numpy as np

from lumaflow.backend import open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import Hog, LaneConfig, Lbp, Options
from lumaflow.stage import Stage
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.limits import Wire, cv2_seconds, measure_wire

OPTIONS = Options(hog=Hog(), lbp=Lbp())
"""The full job: CLAHE 8x8, OpenCV's HOG, uniform LBP."""

CUDA_CONFIGS = {
    "descriptors on the device": LaneConfig(timing_every=16, features_on_device=True),
    "descriptors downloaded": LaneConfig(timing_every=16),
}

SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
FORMATS = (PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.BGR24)
GEOMETRIES = tuple(Geometry(*size, fmt) for size in SIZES for fmt in FORMATS)

RATE_GOALS = {720: 0.80, 1080: 0.90, 2160: 0.95}
"""Height -> the part of the wire's frames a second that a lane should reach."""
LATENCY_GOAL = 1.25  # times upload and download, of one 1080p frame
P99_GOAL = 1.5  # times the median
HOST_GOAL_SECONDS = 20e-6

RUNS = 5
RUN_SECONDS = 0.4  # of a run when the number of frames is not given
HOST_ROUNDS = 100


@dataclass
class Calls:
    """Seconds of every call of a pipelined run, and the CPU time of the whole process."""

    submit: list[float] = field(default_factory=list)
    collect: list[float] = field(default_factory=list)
    frames_per_second: list[float] = field(default_factory=list)
    host_seconds: list[float] = field(default_factory=list)


@dataclass
class LatencyRun:
    """Frames that went through an empty lane one by one."""

    seconds: list[float]
    stages: dict[Stage, list[float]]
    last: Enhanced


def measure_lane(
    device: str, geometry: Geometry, pictures: Sequence[Frame], frames: int | None = None
) -> Iterator[Entry]:
    """Yield the figures of one geometry; `frames` a run, or as many as take about a second.

    pictures : shown in turn, one a slot
    """
    modes = {"": LaneConfig()} if device == "cpu" else CUDA_CONFIGS
    for mode, config in modes.items():
        subject = f"{geometry} on {device}" + (f", {mode}" if mode else "")
        try:
            with open_lane(device, geometry, OPTIONS, config) as lane:
                yield from _measure(subject, lane, pictures, frames)
        except DeviceError as error:
            yield Skipped(subject, "all", str(error))


def _measure(subject: str, lane: Lane, pictures: Sequence[Frame], frames: int | None) -> Iterator[Entry]:
    fill(lane, pictures)
    each = frames or _fitting(lane)
    calls, singles = _pipelined(lane, each), _one_by_one(lane, min(RUNS * each, 500))
    if lane.device == "cpu":
        limit = Limit("cv2 CLAHE, HOG", 1 / cv2_seconds(lane.geometry, pictures[0]))
        yield Figure(subject, limit.name, "frames/s", limit.value)
        yield Figure.of(subject, "sustained", "frames/s", calls.frames_per_second, limit)
        yield from latency_figures(subject, singles.seconds)
    else:
        host = _host_seconds(lane, settle=10 * float(np.median(singles.seconds)))
        yield from wire_figures(subject, lane.geometry, measure_wire(lane, singles.last), calls, singles)
        goal = Limit("the goal, 20 us", HOST_GOAL_SECONDS, 1.0)
        yield Figure.of(subject, "host: submit, collect of a done one", "s", host, goal)
    yield Figure.of(subject, "host: submit", "s", calls.submit)
    yield Figure.of(subject, "host: collect", "s", calls.collect)
    yield Figure.of(subject, "host: CPU time a frame", "s", calls.host_seconds)
    for stage, seconds in singles.stages.items():
        yield Figure.of(subject, f"stage {stage}", "s", seconds)


def wire_figures(
    subject: str, geometry: Geometry, wire: Wire, calls: Calls, singles: LatencyRun
) -> Iterator[Figure]:
    """Yield the wire's own figures, and the lane's rate and latency held against them."""
    for name, seconds in (("up", wire.up), ("down", wire.down), ("both ways at once", wire.both)):
        yield Figure(subject, f"wire, {name}", "frames/s", 1 / seconds)
    limit = Limit("the wire", 1 / wire.both, RATE_GOALS.get(geometry.height))
    yield Figure.of(subject, "sustained", "frames/s", calls.frames_per_second, limit)
    goal = LATENCY_GOAL if geometry.height == 1080 else None
    yield from latency_figures(subject, singles.seconds, Limit("up and down", wire.up + wire.down, goal))


def latency_figures(subject: str, seconds: Sequence[float], limit: Limit | None = None) -> Iterator[Figure]:
    """Yield the median of one frame's latency, held against `limit`, and its 99th percentile."""
    median, p99 = (float(value) for value in np.percentile(seconds, (50, 99)))
    yield Figure.of(subject, "latency, one frame", "s", seconds, limit)
    yield Figure(subject, "latency, p99", "s", p99, limit=Limit("the median", median, P99_GOAL))


def fill(lane: Lane, pictures: Sequence[Frame]) -> None:
    """Lay a picture into every slot. Twice round the ring, so that everything is compiled and captured."""
    for _, picture in zip(range(2 * lane.config.slots), cycle(pictures), strict=False):
        for plane, source in zip(lane.next_input().planes, picture.planes, strict=True):
            np.copyto(plane, source)
        submit_born(lane)
        lane.collect()


def submit_born(lane: Lane) -> None:
    """Submit what lies in the next slot already."""
    lane.submit(lane.next_input())


def _fitting(lane: Lane) -> int:
    one = _one_by_one(lane, 3).seconds
    return max(4, min(5000, round(RUN_SECONDS / min(one))))


def _pipelined(lane: Lane, frames: int) -> Calls:
    calls = Calls()
    for _ in range(RUNS):
        began, computing = perf_counter(), process_time()
        for _ in range(frames):
            if lane.in_flight == lane.config.slots:
                calls.collect.append(_seconds_to_collect(lane))
            calls.submit.append(_seconds_to_submit(lane))
        while lane.in_flight:
            calls.collect.append(_seconds_to_collect(lane))
        calls.host_seconds.append((process_time() - computing) / frames)
        calls.frames_per_second.append(frames / (perf_counter() - began))
    return calls


def _host_seconds(lane: Lane, settle: float) -> list[float]:
    # What the host itself does: the ring is filled, left to finish, and only then emptied.
    slots, seconds = lane.config.slots, []
    for _ in range(HOST_ROUNDS):
        submitting = [_seconds_to_submit(lane) for _ in range(slots)]
        until = perf_counter() + settle
        while perf_counter() < until:  # a core that sleeps wakes up slow
            pass
        collecting = [_seconds_to_collect(lane) for _ in range(slots)]
        seconds += [one + other for one, other in zip(submitting, collecting, strict=True)]
    return seconds


def _one_by_one(lane: Lane, frames: int) -> LatencyRun:
    seconds: list[float] = []
    stages: dict[Stage, list[float]] = {}
    for _ in range(frames):
        start = perf_counter()
        submit_born(lane)
        last = lane.collect()
        seconds.append(perf_counter() - start)
        for stage, spent in last.stage_seconds.items():
            stages.setdefault(stage, []).append(spent)
    return LatencyRun(seconds, stages, last)


def _seconds_to_submit(lane: Lane) -> float:
    start = perf_counter()
    submit_born(lane)
    return perf_counter() - start


def _seconds_to_collect(lane: Lane) -> float:
    start = perf_counter()
    lane.collect()
    return perf_counter() - start
