"""Experiment: equalisation of 4096x4096 by launch size, by stage, by bit depth and by frames in flight."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.options import Equalization, LaneConfig, Mode, Options
from lumaflow_service.bench.experiments.timing import IMAGES, SQUARE, kernel_seconds, lane_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.images import ImageKind, frames

BLOCKS, THREADS = (16, 64, 256, 1024), (128, 256, 512)
LOADS = {"uchar": 0, "16 bytes": 1}
"""Name of the load width -> value of VECTOR."""
STAGE_LAUNCHES = {"uchar": (256, 256), "16 bytes": (256, 512)}
"""Blocks and threads for the times by stage: a common choice, and the fastest of the sweep on an H200."""
IN_FLIGHT = (1, 2, 4)
IN_FLIGHT_FRAMES = 200
DEPTHS = (PixelFormat.GRAY12, PixelFormat.GRAY16)
EQUALIZE = Options(Equalization(Mode.EQUALIZE))
SUBJECT = "experiment: equalisation, 4096x4096"


def measure_equalization(index: int) -> Iterator[Entry]:
    """Yield the figures of this experiment."""
    images = frames(ImageKind.PHOTOGRAPH, SQUARE, IMAGES)
    yield from _by_launch(index, images)
    yield from _by_stage(index, images)
    yield from _by_depth(index)
    yield from in_flight_figures(_in_flight_seconds(index, images))


def _by_launch(index: int, images: Sequence[Frame]) -> Iterator[Figure]:
    from lumaflow.cuda.bench.experiments.timing import time_apply_lut, time_histogram

    pixels = [frame.pixels for frame in images]
    for (load, vector), threads, blocks in product(LOADS.items(), THREADS, BLOCKS):
        subject, launch = f"{SUBJECT}, {load}", f"{blocks} blocks of {threads}"
        histogram = time_histogram(index, pixels, 1, vector, blocks, threads)
        yield Figure.of(subject, f"{launch}: histogram", "s", histogram)
        apply = time_apply_lut(index, pixels, vector, blocks, threads)
        yield Figure.of(subject, f"{launch}: apply", "s", apply)


def _by_stage(index: int, images: Sequence[Frame]) -> Iterator[Figure]:
    from lumaflow.cuda.bench.experiments.timing import time_stages

    pixels = [frame.pixels for frame in images]
    for load, (blocks, threads) in STAGE_LAUNCHES.items():
        stages = time_stages(index, pixels, LOADS[load], blocks, threads)
        yield from stage_figures(f"{SUBJECT} by stage, {load}, {blocks} blocks of {threads}", stages)
    final = {
        name: kernel_seconds(index, SQUARE, EQUALIZE, images, kernel)
        for name, kernel in (("histogram, merge and LUT", "histogram"), ("apply", "apply_lut"))
    }
    yield from stage_figures(f"{SUBJECT} by stage, final", final)


def _by_depth(index: int) -> Iterator[Figure]:
    from lumaflow.cuda.bench.profiler import time_step

    for depth in DEPTHS:
        geometry = replace(SQUARE, pixel_format=depth)
        times = time_step(index, geometry, EQUALIZE, frames(ImageKind.PHOTOGRAPH, geometry, IMAGES))
        yield from stage_figures(f"{SUBJECT} by stage, {depth}, final", times.kernels)


def stage_figures(subject: str, stages: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yield the time of each stage and their sum."""
    total = sum(float(np.median(samples)) for samples in stages.values())
    for name, samples in stages.items():
        yield Figure.of(subject, name, "s", samples, Limit("all stages", total))
    yield Figure(subject, "all stages", "s", total)


def _in_flight_seconds(index: int, images: Sequence[Frame]) -> dict[int, float]:
    device = f"cuda:{index}"
    return {
        number: lane_seconds(device, EQUALIZE, LaneConfig(number, timing_every=16), images, IN_FLIGHT_FRAMES)
        for number in IN_FLIGHT
    }


def in_flight_figures(seconds: Mapping[int, float]) -> Iterator[Figure]:
    """Yield the frame rate of a lane, copies included, by number of frames in flight, relative to one."""
    one = Limit("one at a time", 1 / next(iter(seconds.values())))
    for number, each in seconds.items():
        yield Figure(f"{SUBJECT}, a lane", f"{number} in flight", "frames/s", 1 / each, limit=one)
