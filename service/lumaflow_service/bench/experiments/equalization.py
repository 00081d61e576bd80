"""Seed 3: equalisation of 4096x4096 by launch, by stage, by frames in flight and by depth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.options import Equalization, LaneConfig, Mode, Options
from lumaflow_service.bench.experiments.timing import PICTURES, SQUARE, kernel_seconds, lane_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.test_images import TestImage, frames

BLOCKS, THREADS = (16, 64, 256, 1024), (128, 256, 512)
WIDTHS = {"uchar": 0, "16 bytes": 1}
STAGED = {"uchar": (256, 256), "16 bytes": (256, 512)}
"""Blocks and threads by which the stages are told: the article's, and the best of the sweep on an H200."""
IN_FLIGHT = (1, 2, 4)
FLIGHT_FRAMES = 200
DEPTHS = (PixelFormat.GRAY12, PixelFormat.GRAY16)
EQUALIZE = Options(Equalization(Mode.EQUALIZE))
SUBJECT = "seed: equalisation, 4096x4096"


def measure_equalization(index: int) -> Iterator[Entry]:
    """Yield the figures of the whole experiment."""
    shown = frames(TestImage.PHOTOGRAPH, SQUARE, PICTURES)
    yield from _by_launch(index, shown)
    yield from _by_stage(index, shown)
    yield from _by_depth(index)
    yield from flight_figures(_in_flight(index, shown))


def _by_launch(index: int, shown: Sequence[Frame]) -> Iterator[Figure]:
    from lumaflow.cuda.bench.experiments.timing import time_count, time_see

    pixels = [frame.pixels for frame in shown]
    for (width, wide), threads, blocks in product(WIDTHS.items(), THREADS, BLOCKS):
        subject, launch = f"{SUBJECT}, {width}", f"{blocks} blocks of {threads}"
        counted = time_count(index, pixels, 1, wide, blocks, threads)
        yield Figure.of(subject, f"{launch}: histogram", "s", counted)
        yield Figure.of(subject, f"{launch}: apply", "s", time_see(index, pixels, wide, blocks, threads))


def _by_stage(index: int, shown: Sequence[Frame]) -> Iterator[Figure]:
    from lumaflow.cuda.bench.experiments.timing import time_stages

    pixels = [frame.pixels for frame in shown]
    for width, (blocks, threads) in STAGED.items():
        stages = time_stages(index, pixels, WIDTHS[width], blocks, threads)
        yield from stage_figures(f"{SUBJECT} by stage, {width}, {blocks} blocks of {threads}", stages)
    final = {
        name: kernel_seconds(index, SQUARE, EQUALIZE, shown, kernel)
        for name, kernel in (("histogram, merge and LUT", "histogram"), ("apply", "apply_lut"))
    }
    yield from stage_figures(f"{SUBJECT} by stage, final", final)


def _by_depth(index: int) -> Iterator[Figure]:
    from lumaflow.cuda.bench.profiler import time_step

    for depth in DEPTHS:
        geometry = replace(SQUARE, pixel_format=depth)
        times = time_step(index, geometry, EQUALIZE, frames(TestImage.PHOTOGRAPH, geometry, PICTURES))
        yield from stage_figures(f"{SUBJECT} by stage, {depth}, final", times.kernels)


def stage_figures(subject: str, stages: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yield each stage, and all of them one after the other."""
    whole = sum(float(np.median(samples)) for samples in stages.values())
    for name, samples in stages.items():
        yield Figure.of(subject, name, "s", samples, Limit("all stages", whole))
    yield Figure(subject, "all stages", "s", whole)


def _in_flight(index: int, shown: Sequence[Frame]) -> dict[int, float]:
    device = f"cuda:{index}"
    return {
        number: lane_seconds(device, EQUALIZE, LaneConfig(number, timing_every=16), shown, FLIGHT_FRAMES)
        for number in IN_FLIGHT
    }


def flight_figures(seconds: Mapping[int, float]) -> Iterator[Figure]:
    """Yield the frames a second of a lane with so many frames in flight, copies and all, against one."""
    alone = Limit("one at a time", 1 / next(iter(seconds.values())))
    for number, each in seconds.items():
        yield Figure(f"{SUBJECT}, a lane", f"{number} in flight", "frames/s", 1 / each, limit=alone)
