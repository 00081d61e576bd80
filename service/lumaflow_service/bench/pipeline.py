"""`lumaflow bench pipeline`: frame rate and latency of a lane, CPU time of the host, time per stage."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np

from lumaflow.backend import open_lane
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import LaneConfig
from lumaflow.stage import Stage
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.lane_driver import CUDA_CONFIGS, OPTIONS, fill_slots, submit_slot
from lumaflow_service.bench.limits import PcieTimes, cv2_seconds, measure_pcie

SIZES = ((1280, 720), (1920, 1080), (3840, 2160))
FORMATS = (PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.BGR24)
GEOMETRIES = tuple(Geometry(*size, fmt) for size in SIZES for fmt in FORMATS)

RATE_GOALS = {720: 0.80, 1080: 0.90, 2160: 0.95}
"""Height -> the fraction of the frame rate of PCIe transfers alone that a lane should reach."""
LATENCY_GOAL = 1.25  # times upload plus download of a 1080p frame
P99_GOAL = 1.5  # times the median
HOST_GOAL_SECONDS = 20e-6

RUNS = 5
RUN_SECONDS = 0.4  # length of a run if the number of frames is not given
HOST_ROUNDS = 100


@dataclass
class PipelinedRun:
    """Seconds of each call of runs with full slots; rate and CPU seconds per frame of each run."""

    submit: list[float] = field(default_factory=list)
    collect: list[float] = field(default_factory=list)
    frames_per_second: list[float] = field(default_factory=list)
    host_seconds: list[float] = field(default_factory=list)


@dataclass
class LatencyRun:
    """Latency and stage times of frames processed one at a time; `last` is the last result."""

    seconds: list[float]
    stages: dict[Stage, list[float]]
    last: Enhanced


def measure_lane(
    device: str, geometry: Geometry, images: Sequence[Frame], frames: int | None = None
) -> Iterator[Entry]:
    """Yield the figures of one geometry.

    images : one per slot, used in turn
    frames : per run; None for about 0.4 seconds
    """
    modes = {"": LaneConfig()} if device == "cpu" else CUDA_CONFIGS
    for mode, config in modes.items():
        subject = f"{geometry} on {device}" + (f", {mode}" if mode else "")
        try:
            with open_lane(device, geometry, OPTIONS, config) as lane:
                yield from _measure(subject, lane, images, frames)
        except DeviceError as error:
            yield Skipped(subject, "all", str(error))


def _measure(subject: str, lane: Lane, images: Sequence[Frame], frames: int | None) -> Iterator[Entry]:
    fill_slots(lane, images)
    count = frames or _frames_per_run(lane)
    pipelined, single = _run_pipelined(lane, count), _run_single(lane, min(RUNS * count, 500))
    if lane.device == "cpu":
        limit = Limit("cv2 CLAHE, HOG", 1 / cv2_seconds(lane.geometry, images[0]))
        yield Figure(subject, limit.name, "frames/s", limit.value)
        yield Figure.of(subject, "sustained", "frames/s", pipelined.frames_per_second, limit)
        yield from latency_figures(subject, single.seconds)
    else:
        host = _host_seconds(lane, idle_seconds=10 * float(np.median(single.seconds)))
        pcie = measure_pcie(lane, single.last)
        yield from pcie_figures(subject, lane.geometry, pcie, pipelined, single)
        goal = Limit("the goal, 20 us", HOST_GOAL_SECONDS, 1.0)
        yield Figure.of(subject, "host: submit and collect, frame done", "s", host, goal)
    yield Figure.of(subject, "host: submit", "s", pipelined.submit)
    yield Figure.of(subject, "host: collect", "s", pipelined.collect)
    yield Figure.of(subject, "host: CPU time a frame", "s", pipelined.host_seconds)
    for stage, seconds in single.stages.items():
        yield Figure.of(subject, f"stage {stage}", "s", seconds)


def pcie_figures(
    subject: str, geometry: Geometry, pcie: PcieTimes, pipelined: PipelinedRun, single: LatencyRun
) -> Iterator[Figure]:
    """Yield the rates of PCIe transfers alone, and the rate and latency of the lane relative to them."""
    for name, seconds in (("upload", pcie.up), ("download", pcie.down), ("both at once", pcie.both)):
        yield Figure(subject, f"PCIe, {name}", "frames/s", 1 / seconds)
    limit = Limit("PCIe", 1 / pcie.both, RATE_GOALS.get(geometry.height))
    yield Figure.of(subject, "sustained", "frames/s", pipelined.frames_per_second, limit)
    goal = LATENCY_GOAL if geometry.height == 1080 else None
    yield from latency_figures(
        subject, single.seconds, Limit("upload and download", pcie.up + pcie.down, goal)
    )


def latency_figures(subject: str, seconds: Sequence[float], limit: Limit | None = None) -> Iterator[Figure]:
    """Yield the median latency of one frame, relative to `limit`, and the 99th percentile."""
    median, p99 = (float(value) for value in np.percentile(seconds, (50, 99)))
    yield Figure.of(subject, "latency, one frame", "s", seconds, limit)
    yield Figure(subject, "latency, p99", "s", p99, limit=Limit("the median", median, P99_GOAL))


def _frames_per_run(lane: Lane) -> int:
    return max(4, min(5000, round(RUN_SECONDS / min(_run_single(lane, 3).seconds))))


def _run_pipelined(lane: Lane, frames: int) -> PipelinedRun:
    run = PipelinedRun()
    for _ in range(RUNS):
        start, cpu_start = perf_counter(), process_time()
        for _ in range(frames):
            if lane.in_flight == lane.config.slots:
                run.collect.append(_seconds_to_collect(lane))
            run.submit.append(_seconds_to_submit(lane))
        while lane.in_flight:
            run.collect.append(_seconds_to_collect(lane))
        run.host_seconds.append((process_time() - cpu_start) / frames)
        run.frames_per_second.append(frames / (perf_counter() - start))
    return run


def _host_seconds(lane: Lane, idle_seconds: float) -> list[float]:
    # CPU time of the host only: all slots are submitted, then the GPU finishes, then all are collected.
    slots, seconds = lane.config.slots, []
    for _ in range(HOST_ROUNDS):
        submits = [_seconds_to_submit(lane) for _ in range(slots)]
        until = perf_counter() + idle_seconds
        while perf_counter() < until:  # do not sleep: an idle core resumes slowly
            pass
        collects = [_seconds_to_collect(lane) for _ in range(slots)]
        seconds += [sum(pair) for pair in zip(submits, collects, strict=True)]
    return seconds


def _run_single(lane: Lane, frames: int) -> LatencyRun:
    seconds: list[float] = []
    stages: dict[Stage, list[float]] = {}
    for _ in range(frames):
        start = perf_counter()
        submit_slot(lane)
        last = lane.collect()
        seconds.append(perf_counter() - start)
        for stage, stage_seconds in last.stage_seconds.items():
            stages.setdefault(stage, []).append(stage_seconds)
    return LatencyRun(seconds, stages, last)


def _seconds_to_submit(lane: Lane) -> float:
    start = perf_counter()
    submit_slot(lane)
    return perf_counter() - start


def _seconds_to_collect(lane: Lane) -> float:
    start = perf_counter()
    lane.collect()
    return perf_counter() - start
