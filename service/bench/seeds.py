"""`lumaflow bench seeds`: the experiments of the articles that lumaflow grew from, beside its own kernels."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.backend import open_lane
from pipeline.errors import DeviceError
from pipeline.frame import Frame, Geometry, PixelFormat
from pipeline.options import Equalization, Hog, HogLayout, Lbp, Mode, Options, Orientation
from service.bench.figure import Entry, Figure, Limit, Missing
from service.bench.lanes import run_in_turn
from service.bench.pipeline import fill
from service.bench.scene import Scene, frames

FULL_HD = Geometry(1920, 1080, PixelFormat.GRAY8)
SQUARE = Geometry(4096, 4096, PixelFormat.GRAY8)
PICTURES = 4
SCENES = (Scene.PHOTOGRAPH, Scene.DARK, Scene.CONSTANT)

PLACES = {"global atomics": 0, "shared memory": 1, "warp-private": 2}
BLOCKS, THREADS = (16, 64, 256, 1024), (128, 256, 512)
WIDTHS = {"uchar": 0, "16 bytes": 1}
WAYS = {"global memory": 0, "shared tile": 1, "padded tile": 2}
LADDER_FRAMES = 300

SEED_LAUNCH = (528, 256)
"""Blocks and threads of the histogram's variants, which read a byte at a time."""
CPU_CALLS = 5


def measure_seeds(device: str) -> Iterator[Entry]:
    """Yield the figures of every experiment. Raises DeviceError when `device` is no GPU."""
    if device == "cpu":
        raise DeviceError("cpu was asked for; the seeds are timed on a GPU: give cuda or cuda:N")
    index = int(device.removeprefix("cuda:"))
    yield from _histograms(index)
    yield from _ladder(index)
    yield from _equalization(index)
    yield from _transposition(index)


def _histograms(index: int) -> Iterator[Entry]:
    from pipeline.cuda.seeds.trials import time_count

    for scene in SCENES:
        shown = frames(scene, SQUARE, PICTURES)
        pixels = [frame.pixels for frame in shown]
        subject, first = f"seed: histogram, 4096x4096, {scene}", None
        for name, where in PLACES.items():
            samples = time_count(index, pixels, where, 0, *SEED_LAUNCH)
            figure = Figure.of(subject, name, "s", samples, first)
            first = first or Limit("global atomics", figure.median)
            yield figure
        final = _kernel(index, SQUARE, Options(Equalization(Mode.EQUALIZE)), shown, "histogram")
        yield Figure.of(subject, "final, with its LUT", "s", final, first)
        yield Figure.of(subject, "cv2.calcHist", "s", _cpu(cv2_histogram, pixels), first)


def cv2_histogram(pixels: NDArray[Any]) -> object:
    """What the GPU is held against."""
    return cv2.calcHist([pixels], [0], None, [256], [0, 256])


def _ladder(index: int) -> Iterator[Entry]:
    from pipeline.cuda.seeds.trials import time_hog, time_lbp

    shown = frames(Scene.PHOTOGRAPH, FULL_HD, PICTURES)
    pixels = [frame.pixels for frame in shown]
    options = Options(
        Equalization(Mode.IDENTITY),
        hog=Hog(HogLayout.COMPACT),
        lbp=Lbp(),
        timing_every=16,
        features_on_device=True,
    )
    rungs: dict[str, float] = {"CPU lane": _lane_seconds("cpu", options, shown, 5)}
    for name, where in (("first CUDA: all in global memory", 0), ("through shared memory", 1)):
        rungs[name] = float(
            np.median(time_hog(index, pixels, where)) + np.median(time_lbp(index, pixels, where))
        )
    final = [float(np.median(_kernel(index, FULL_HD, options, shown, name))) for name in ("hog_cells", "lbp")]
    rungs["final kernels"] = sum(final)
    rungs["lane: copies, graph, streams"] = _lane_seconds(f"cuda:{index}", options, shown, LADDER_FRAMES)
    yield from ladder_figures("seed: HOG and LBP, 1920x1080", rungs)


def ladder_figures(subject: str, rungs: Mapping[str, float]) -> Iterator[Figure]:
    """Yield each rung in frames a second, held against the first one."""
    rates = {name: 1 / seconds for name, seconds in rungs.items()}
    first = next(iter(rates))
    for name, rate in rates.items():
        yield Figure(subject, name, "frames/s", rate, limit=Limit(first, rates[first]))


def _lane_seconds(device: str, options: Options, shown: Sequence[Frame], each: int) -> float:
    with open_lane(device, FULL_HD, options) as lane:
        fill(lane, shown)
        return run_in_turn([lane], each)


def _equalization(index: int) -> Iterator[Entry]:
    from pipeline.cuda.seeds.trials import time_count, time_see

    shown = frames(Scene.PHOTOGRAPH, SQUARE, PICTURES)
    pixels = [frame.pixels for frame in shown]
    for (width, wide), threads, blocks in product(WIDTHS.items(), THREADS, BLOCKS):
        subject, launch = f"seed: equalisation, 4096x4096, {width}", f"{blocks} blocks of {threads}"
        counted = time_count(index, pixels, 1, wide, blocks, threads)
        seen = time_see(index, pixels, wide, blocks, threads)
        yield Figure.of(subject, f"{launch}: histogram", "s", counted)
        yield Figure.of(subject, f"{launch}: apply", "s", seen)
    options, subject = Options(Equalization(Mode.EQUALIZE)), "seed: equalisation, 4096x4096, final"
    for name in ("histogram", "apply_lut"):
        yield Figure.of(subject, name, "s", _kernel(index, SQUARE, options, shown, name))


def _transposition(index: int) -> Iterator[Entry]:
    from pipeline.cuda.replay import copy_bandwidth
    from pipeline.cuda.seeds.trials import time_transpose

    shown = frames(Scene.PHOTOGRAPH, SQUARE, PICTURES)
    pixels, subject = [frame.pixels for frame in shown], "seed: transposition, 4096x4096"
    copy = Limit("a copy", 2 * SQUARE.frame_bytes / copy_bandwidth(index))
    for name, way in WAYS.items():
        yield Figure.of(subject, name, "s", time_transpose(index, pixels, way), copy)
    options = Options(Equalization(Mode.IDENTITY), orientation=Orientation.TRANSPOSE)
    try:
        yield Figure.of(subject, "final", "s", _kernel(index, SQUARE, options, shown, "transpose"), copy)
    except DeviceError as error:
        yield Missing(subject, "final", str(error))
    yield Figure.of(subject, "cv2.transpose", "s", _cpu(cv2.transpose, pixels), copy)


def _kernel(
    index: int, geometry: Geometry, options: Options, shown: Sequence[Frame], kernel: str
) -> list[float]:
    from pipeline.cuda.replay import time_step

    times = time_step(index, geometry, options, shown).kernels
    return next(samples for name, samples in times.items() if name.startswith(kernel))


def _cpu(call: Callable[[NDArray[Any]], object], pixels: Sequence[NDArray[Any]]) -> list[float]:
    samples = []
    for number in range(CPU_CALLS + 1):
        began = perf_counter()
        call(pixels[number % len(pixels)])
        samples.append(perf_counter() - began)
    return samples[1:]
