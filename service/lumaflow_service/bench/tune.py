"""`lumaflow bench tune`: looks for the launch shapes that suit this GPU, and keeps them for its lanes."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cuda.launch_config import CHOICES, DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Hog, LaneConfig, Mode, Options
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.kernels import FULL_HD, ULTRA_HD, Size
from lumaflow_service.bench.test_images import TestImage, frames

SIZES = (FULL_HD, ULTRA_HD)
PICTURES = 2
GAIN = 0.02
"""A part of the time that must be won: the medians of two runs of the same step differ by up to 1 %."""


@dataclass(frozen=True, slots=True)
class TuneJob:
    """A step whose time tells which values of some numbers are good."""

    name: str
    pixel_format: PixelFormat
    options: Options
    numbers: tuple[str, ...]


EQUALIZE = Options(Equalization(Mode.EQUALIZE))
JOBS = (
    TuneJob("equalize", PixelFormat.GRAY8, EQUALIZE, ("histogram_blocks", "lut_blocks")),
    TuneJob(
        "CLAHE",
        PixelFormat.GRAY8,
        Options(),
        ("tile_histogram_blocks", "histogram_pixels", "clahe_blocks", "clahe_pixels"),
    ),
    TuneJob(
        "HOG",
        PixelFormat.GRAY8,
        Options(Equalization(Mode.IDENTITY), hog=Hog()),
        ("hog_blocks",),
    ),
    TuneJob("12-bit equalize", PixelFormat.GRAY12, EQUALIZE, ("word_lut_blocks",)),
    TuneJob(
        "12-bit CLAHE",
        PixelFormat.GRAY12,
        Options(),
        ("word_count_blocks", "word_count_pixels", "word_clahe_blocks", "word_clahe_pixels"),
    ),
)

TOGETHER = (-3, -2, -1, 1, 2)
"""Steps along their choices by which numbers are moved together."""

Clock = Callable[[TuneJob, Size, LaunchConfig], float]
"""Seconds of a job on frames of a size, planned with some shapes."""


def tune(device: str, seconds: float) -> Iterator[Entry]:
    """Search for about `seconds`, keep the winner, and yield its figures beside those of the defaults.

    Raises DeviceError when `device` is no GPU, or when a shape changed a result; OSError when the cache
    cannot be written.
    """
    if device == "cpu":
        raise DeviceError("cpu was asked for; launch shapes are tuned on a GPU: give cuda or cuda:N")
    from lumaflow.cuda.autotune_cache import cache_folder, key_of, store

    index = int(device.removeprefix("cuda:"))
    clock = _clock(index)
    found = confirmed(clock, search(clock, monotonic() + seconds))
    check_results(index, found)
    store(key_of(index), found, cache_folder())
    yield from speed_figures(device, clock, found)
    yield from shape_figures(device, found)


def kept_at(device: str) -> Path:
    """The file in which the shapes of a GPU are kept."""
    from lumaflow.cuda.autotune_cache import cache_folder, key_of

    return cache_folder() / key_of(int(device.removeprefix("cuda:"))).file


def search(clock: Clock, until: float) -> LaunchConfig:
    """The best shapes that are found, one job after the other, until `monotonic` says `until`."""
    shapes = DEFAULT_LAUNCH_CONFIG
    for job in JOBS:
        best = _cost(clock, job, shapes)
        for changes in _tries(job):
            if monotonic() > until:
                return shapes
            tried = replace(shapes, **changes)
            cost = best if tried == shapes else _cost(clock, job, tried)
            if cost < best * (1 - GAIN):
                shapes, best = tried, cost
    return shapes


def _tries(job: TuneJob) -> Iterator[dict[str, int]]:
    """All blocks of a job moved together, for kernels side by side share the GPU; then each number alone."""
    blocks = [number for number in job.numbers if number.endswith("_blocks")]
    for steps in TOGETHER if len(blocks) > 1 else ():
        yield {number: _moved(number, steps) for number in blocks}
    for number in job.numbers:
        for value in CHOICES[number]:
            yield {number: value}


def _moved(number: str, steps: int) -> int:
    """The choice so many steps above the default, or the last one there is."""
    choices = CHOICES[number]
    place = choices.index(getattr(DEFAULT_LAUNCH_CONFIG, number)) + steps
    return choices[min(max(place, 0), len(choices) - 1)]


def confirmed(clock: Clock, found: LaunchConfig) -> LaunchConfig:
    """The numbers with which a job beats the defaults once more; of other jobs the defaults."""
    shapes = DEFAULT_LAUNCH_CONFIG
    for job in JOBS:
        tried = replace(shapes, **{number: getattr(found, number) for number in job.numbers})
        if tried != shapes and _cost(clock, job, tried) < _cost(clock, job, shapes) * (1 - GAIN / 2):
            shapes = tried
    return shapes


def check_results(index: int, shapes: LaunchConfig) -> None:
    """Raise DeviceError if a frame of any job comes out otherwise than with the defaults, by one bit."""
    for job in JOBS:
        geometry = Geometry(1000, 601, job.pixel_format)
        (frame,) = frames(TestImage.PHOTOGRAPH, geometry, 1)
        wanted, came = (_results(index, job, frame, planned) for planned in (DEFAULT_LAUNCH_CONFIG, shapes))
        for name, value in wanted.items():
            if not np.array_equal(came[name], value):
                raise DeviceError(f"{name} of {job.name} differ under {shapes}: keep to the defaults here")


def speed_figures(device: str, clock: Clock, found: LaunchConfig) -> Iterator[Figure]:
    """Yield what each job takes with the shapes found, against the defaults."""
    for job in JOBS:
        for size in SIZES:
            usual = Limit("the defaults", clock(job, size, DEFAULT_LAUNCH_CONFIG))
            seconds = usual.value if found == DEFAULT_LAUNCH_CONFIG else clock(job, size, found)
            yield Figure(f"{job.name} on {device}", f"{size[0]}x{size[1]}", "s", seconds, limit=usual)


def shape_figures(device: str, found: LaunchConfig) -> Iterator[Figure]:
    """Yield every number found, against its default."""
    for number, value in asdict(found).items():
        usual = Limit("the default", getattr(DEFAULT_LAUNCH_CONFIG, number))
        unit = number.rpartition("_")[2]
        yield Figure(f"launch shapes of {device}", number, unit, value, limit=usual)


def _cost(clock: Clock, job: TuneJob, shapes: LaunchConfig) -> float:
    """Geometric mean over the sizes: a tenth of a small frame counts as much as one of a large frame."""
    return prod(clock(job, size, shapes) for size in SIZES) ** (1 / len(SIZES))


def _clock(index: int) -> Clock:
    from lumaflow.cuda.bench.profiler import time_launch_config

    @cache
    def pictures(pixel_format: PixelFormat, size: Size) -> list[Frame]:
        return frames(TestImage.PHOTOGRAPH, Geometry(*size, pixel_format), PICTURES)

    def seconds(job: TuneJob, size: Size, shapes: LaunchConfig) -> float:
        shown = pictures(job.pixel_format, size)
        return float(np.median(time_launch_config(index, shown[0].geometry, job.options, shown, shapes)))

    return seconds


def _results(index: int, job: TuneJob, frame: Frame, shapes: LaunchConfig) -> dict[str, NDArray[Any]]:
    from lumaflow.cuda.lane import CudaLane

    with CudaLane(index, frame.geometry, job.options, LaneConfig(), shapes) as lane:
        lane.submit(frame)
        enhanced = lane.collect()
        arrays = {"pixels": enhanced.frame.pixels, "bins": enhanced.bins, "hog": enhanced.hog}
        return {name: array.copy() for name, array in arrays.items() if array is not None}
