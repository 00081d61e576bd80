"""`lumaflow bench pipeline`: what a lane sustains, how long one frame takes, and where its time goes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from pipeline.backend import open_lane
from pipeline.frame import Enhanced, Geometry, PixelFormat
from pipeline.lane import Lane
from pipeline.options import Hog, Lbp, Options
from pipeline.stage import Stage
from service.bench.figure import Figure
from service.bench.limits import lane_limit

OPTIONS = Options(hog=Hog(), lbp=Lbp())
"""The full job: CLAHE 8x8, OpenCV's HOG, uniform LBP."""

SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
GEOMETRIES = tuple(Geometry(*size, fmt) for size in SIZES for fmt in FORMATS)

RUNS = 5
RUN_SECONDS = 1.0  # of a run when the number of frames is not given


@dataclass
class Calls:
    """Seconds of every call of a pipelined run, and the CPU time of the whole process."""

    submit: list[float] = field(default_factory=list)
    collect: list[float] = field(default_factory=list)
    frames_per_second: list[float] = field(default_factory=list)
    host_seconds: list[float] = field(default_factory=list)


@dataclass
class Singles:
    """Frames that went through an empty lane one by one."""

    seconds: list[float]
    stages: dict[Stage, list[float]]
    last: Enhanced


def measure_lane(
    device: str, geometry: Geometry, pixels: NDArray[np.uint8], frames: int | None = None
) -> Iterator[Figure]:
    """Yield the figures of one lane; `frames` a run, or as many as take about a second."""
    with open_lane(device, geometry, OPTIONS) as lane:
        _fill(lane, pixels)
        each = frames or _fitting(lane)
        calls, singles = _pipelined(lane, each), _one_by_one(lane, min(RUNS * each, 500))
        limit = lane_limit(lane, pixels, singles.last)
    subject = f"{geometry} on {lane.device}"
    yield Figure(subject, limit.name, "frames/s", limit.value)
    yield Figure.of(subject, "sustained", "frames/s", calls.frames_per_second, limit)
    yield Figure.of(subject, "latency, one frame", "s", singles.seconds)
    yield Figure(subject, "latency, p99", "s", float(np.percentile(singles.seconds, 99)))
    yield Figure.of(subject, "host: submit", "s", calls.submit)
    yield Figure.of(subject, "host: collect", "s", calls.collect)
    yield Figure.of(subject, "host: CPU time a frame", "s", calls.host_seconds)
    for stage, seconds in singles.stages.items():
        yield Figure.of(subject, f"stage {stage}", "s", seconds)


def _fill(lane: Lane, pixels: NDArray[np.uint8]) -> None:
    # Twice round the ring: every slot holds the picture, and everything is compiled and captured.
    for _ in range(2 * lane.options.slots):
        np.copyto(lane.next_input().pixels, pixels)
        _submit(lane)
        lane.collect()


def _fitting(lane: Lane) -> int:
    one = _one_by_one(lane, 3).seconds
    return max(4, min(2000, round(RUN_SECONDS / min(one))))


def _pipelined(lane: Lane, frames: int) -> Calls:
    calls = Calls()
    for _ in range(RUNS):
        began, computing = perf_counter(), process_time()
        for _ in range(frames):
            if lane.in_flight == lane.options.slots:
                _timed_collect(lane, calls)
            start = perf_counter()
            _submit(lane)
            calls.submit.append(perf_counter() - start)
        while lane.in_flight:
            _timed_collect(lane, calls)
        calls.host_seconds.append((process_time() - computing) / frames)
        calls.frames_per_second.append(frames / (perf_counter() - began))
    return calls


def _timed_collect(lane: Lane, calls: Calls) -> None:
    start = perf_counter()
    lane.collect()
    calls.collect.append(perf_counter() - start)


def _one_by_one(lane: Lane, frames: int) -> Singles:
    seconds: list[float] = []
    stages: dict[Stage, list[float]] = {}
    for _ in range(frames):
        start = perf_counter()
        _submit(lane)
        last = lane.collect()
        seconds.append(perf_counter() - start)
        for stage, spent in last.stage_seconds.items():
            stages.setdefault(stage, []).append(spent)
    return Singles(seconds, stages, last)


def _submit(lane: Lane) -> None:
    lane.submit(lane.next_input())
