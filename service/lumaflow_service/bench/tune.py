"""`lumaflow bench tune`: searches the fastest launch configuration for a GPU and saves it for its lanes."""

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
from lumaflow_service.bench.images import ImageKind, frames
from lumaflow_service.bench.kernels import FULL_HD, ULTRA_HD, Size

SIZES = (FULL_HD, ULTRA_HD)
IMAGES = 2
MIN_GAIN = 0.02
"""Minimum gain to accept a change, as a fraction; medians of two runs of one step differ by up to 1 %."""


@dataclass(frozen=True, slots=True)
class TuneJob:
    """A step to measure, and the fields of LaunchConfig that affect it."""

    name: str
    pixel_format: PixelFormat
    options: Options
    fields: tuple[str, ...]


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
    TuneJob("12-bit equalize", PixelFormat.GRAY12, EQUALIZE, ("u16_lut_blocks",)),
    TuneJob(
        "12-bit CLAHE",
        PixelFormat.GRAY12,
        Options(),
        ("u16_histogram_blocks", "u16_histogram_pixels", "u16_clahe_blocks", "u16_clahe_pixels"),
    ),
)

JOINT_STEPS = (-3, -2, -1, 1, 2)
"""Steps from the default along `CHOICES` by which all block counts of a job are changed together."""

Timer = Callable[[TuneJob, Size, LaunchConfig], float]
"""Seconds of a job on frames of a size with a launch configuration."""


def tune(device: str, seconds: float) -> Iterator[Entry]:
    """Search for about `seconds`, save the best configuration, and yield its figures.

    Raises DeviceError if `device` is not a GPU or a configuration changes a result; OSError if the cache file
    cannot be written.
    """
    if device == "cpu":
        raise DeviceError("expected a GPU, got cpu; launches are tuned on a GPU only: use cuda or cuda:N")
    from lumaflow.cuda.autotune_cache import cache_folder, key_of, store

    index = int(device.removeprefix("cuda:"))
    timer = _timer(index)
    found = confirm(timer, search(timer, monotonic() + seconds))
    check_results(index, found)
    store(key_of(index), found, cache_folder())
    yield from speed_figures(device, timer, found)
    yield from config_figures(device, found)


def cache_file(device: str) -> Path:
    """The file in which the launch configuration of a GPU is saved."""
    from lumaflow.cuda.autotune_cache import cache_folder, key_of

    return cache_folder() / key_of(int(device.removeprefix("cuda:"))).file


def search(timer: Timer, until: float) -> LaunchConfig:
    """The best configuration found, job by job, until `monotonic()` reaches `until`."""
    config = DEFAULT_LAUNCH_CONFIG
    for job in JOBS:
        best = _cost(timer, job, config)
        for changes in _candidates(job):
            if monotonic() > until:
                return config
            candidate = replace(config, **changes)
            cost = best if candidate == config else _cost(timer, job, candidate)
            if cost < best * (1 - MIN_GAIN):
                config, best = candidate, cost
    return config


def _candidates(job: TuneJob) -> Iterator[dict[str, int]]:
    """Changes to try: all block counts together, as concurrent kernels share the GPU; then each field."""
    blocks = [field for field in job.fields if field.endswith("_blocks")]
    for steps in JOINT_STEPS if len(blocks) > 1 else ():
        yield {field: _choice(field, steps) for field in blocks}
    for field in job.fields:
        for value in CHOICES[field]:
            yield {field: value}


def _choice(field: str, steps: int) -> int:
    """The choice `steps` above the default, limited to the first and last choice."""
    choices = CHOICES[field]
    index = choices.index(getattr(DEFAULT_LAUNCH_CONFIG, field)) + steps
    return choices[min(max(index, 0), len(choices) - 1)]


def confirm(timer: Timer, found: LaunchConfig) -> LaunchConfig:
    """The configuration of the jobs that are again faster than with the defaults; defaults for the others."""
    config = DEFAULT_LAUNCH_CONFIG
    for job in JOBS:
        candidate = replace(config, **{field: getattr(found, field) for field in job.fields})
        if candidate != config and _cost(timer, job, candidate) < _cost(timer, job, config) * (
            1 - MIN_GAIN / 2
        ):
            config = candidate
    return config


def check_results(index: int, config: LaunchConfig) -> None:
    """Raise DeviceError if the result of any job differs from that of the default configuration."""
    for job in JOBS:
        geometry = Geometry(1000, 601, job.pixel_format)
        (frame,) = frames(ImageKind.PHOTOGRAPH, geometry, 1)
        expected, found = (_results(index, job, frame, each) for each in (DEFAULT_LAUNCH_CONFIG, config))
        for name, value in expected.items():
            if not np.array_equal(found[name], value):
                raise DeviceError(f"{name} of {job.name} differs with {config}; use the defaults on this GPU")


def speed_figures(device: str, timer: Timer, found: LaunchConfig) -> Iterator[Figure]:
    """Yield the time of each job with the configuration found, relative to the defaults."""
    for job in JOBS:
        for size in SIZES:
            default = Limit("the defaults", timer(job, size, DEFAULT_LAUNCH_CONFIG))
            seconds = default.value if found == DEFAULT_LAUNCH_CONFIG else timer(job, size, found)
            yield Figure(f"{job.name} on {device}", f"{size[0]}x{size[1]}", "s", seconds, limit=default)


def config_figures(device: str, found: LaunchConfig) -> Iterator[Figure]:
    """Yield each field of the configuration found, relative to its default."""
    for field, value in asdict(found).items():
        default = Limit("the default", getattr(DEFAULT_LAUNCH_CONFIG, field))
        unit = field.rpartition("_")[2]
        yield Figure(f"launch configuration of {device}", field, unit, value, limit=default)


def _cost(timer: Timer, job: TuneJob, config: LaunchConfig) -> float:
    """Geometric mean over the sizes, so that relative changes of small and large frames count equally."""
    return prod(timer(job, size, config) for size in SIZES) ** (1 / len(SIZES))


def _timer(index: int) -> Timer:
    from lumaflow.cuda.bench.profiler import time_launch_config

    @cache
    def images(pixel_format: PixelFormat, size: Size) -> list[Frame]:
        return frames(ImageKind.PHOTOGRAPH, Geometry(*size, pixel_format), IMAGES)

    def seconds(job: TuneJob, size: Size, config: LaunchConfig) -> float:
        job_images = images(job.pixel_format, size)
        return float(
            np.median(time_launch_config(index, job_images[0].geometry, job.options, job_images, config))
        )

    return seconds


def _results(index: int, job: TuneJob, frame: Frame, config: LaunchConfig) -> dict[str, NDArray[Any]]:
    from lumaflow.cuda.lane import CudaLane

    with CudaLane(index, frame.geometry, job.options, LaneConfig(), config) as lane:
        lane.submit(frame)
        enhanced = lane.collect()
        arrays = {"pixels": enhanced.frame.pixels, "bins": enhanced.bins, "hog": enhanced.hog}
        return {name: array.copy() for name, array in arrays.items() if array is not None}
