"""`lumaflow bench kernels`: GPU time of steps and of each kernel, relative to a copy of the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from lumaflow.errors import DeviceError
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Hog, Lbp, Mode, Options, Orientation
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.images import ImageKind, frames

if TYPE_CHECKING:
    from lumaflow.cuda.bench.profiler import KernelTimes

IMAGES = 4  # used in turn, one per slot
SCENE_RATIO_GOAL = 1.5  # maximum time of the slowest scene relative to the fastest

Size = tuple[int, int]
HD, FULL_HD, ULTRA_HD, SQUARE = (1280, 720), (1920, 1080), (3840, 2160), (4096, 4096)
SIZES = (HD, FULL_HD, ULTRA_HD, SQUARE)


@dataclass(frozen=True, slots=True)
class KernelJob:
    """A step, or one kernel of it, to measure.

    kernel : beginning of the name of the kernel, or "" for the whole step
    goals : size -> maximum seconds on an H200
    copy_goal : maximum time relative to a copy of the same bytes
    sizes : sizes to measure
    """

    name: str
    pixel_format: PixelFormat
    options: Options
    goals: dict[Size, float] = field(default_factory=dict)
    kernel: str = ""
    copy_goal: float | None = None
    sizes: Sequence[Size] = SIZES


def _adaptive_job(
    name: str, pixel_format: PixelFormat, equalization: Equalization, goal: float | None = None
) -> KernelJob:
    goals = {} if goal is None else {FULL_HD: goal}
    return KernelJob(name, pixel_format, Options(equalization), goals, sizes=(FULL_HD,))


JOBS = (
    KernelJob("equalize", PixelFormat.GRAY8, Options(Equalization(Mode.EQUALIZE)), {SQUARE: 15e-6}),
    KernelJob("CLAHE", PixelFormat.GRAY8, Options(), {ULTRA_HD: 16e-6, SQUARE: 30e-6}),
    KernelJob("CLAHE, HOG, LBP", PixelFormat.GRAY8, Options(hog=Hog(), lbp=Lbp()), {FULL_HD: 15e-6}),
    KernelJob(
        "CLAHE, smoothing, gate",
        PixelFormat.GRAY8,
        Options(Equalization(smoothing=0.1, gate=True)),
        sizes=(FULL_HD,),
    ),
    KernelJob(
        "transposition",
        PixelFormat.GRAY8,
        Options(Equalization(Mode.IDENTITY), orientation=Orientation.TRANSPOSE),
        kernel="transpose",
        copy_goal=1 / 0.8,
    ),
    KernelJob("12-bit CLAHE", PixelFormat.GRAY12, Options(), {FULL_HD: 20e-6}),
    _adaptive_job("auto", PixelFormat.NV12, Equalization(Mode.AUTO)),
    _adaptive_job("lowlight, no filters", PixelFormat.NV12, Equalization(Mode.LOWLIGHT, denoise=False)),
    _adaptive_job("lowlight", PixelFormat.NV12, Equalization(Mode.LOWLIGHT), 60e-6),
    _adaptive_job("lowlight, BGR", PixelFormat.BGR24, Equalization(Mode.LOWLIGHT), 60e-6),
    _adaptive_job("dehaze", PixelFormat.NV12, Equalization(Mode.DEHAZE)),
)


def measure_kernels(device: str, sizes: Sequence[Size] = SIZES) -> Iterator[Entry]:
    """Yield the figures of each job at each size; jobs that the device cannot run are skipped.

    Raises DeviceError if `device` is not a GPU.
    """
    if device == "cpu":
        raise DeviceError("expected a GPU, got cpu; kernels run on a GPU only: use cuda or cuda:N")
    from lumaflow.cuda.bench.profiler import copy_bandwidth, time_step

    index = int(device.removeprefix("cuda:"))
    bandwidth = copy_bandwidth(index)
    yield Figure(device, "copy, read and written", "GB/s", bandwidth / 1e9)
    for size, job in product(sizes, JOBS):
        if size not in job.sizes:
            continue
        geometry = Geometry(*size, job.pixel_format)
        try:
            times = {
                scene: time_step(index, geometry, job.options, _images(scene, geometry))
                for scene in ImageKind
            }
        except DeviceError as error:
            yield Skipped(f"{size[0]}x{size[1]} {job.name}", "all", str(error))
        else:
            yield from job_figures(job, size, times, bandwidth)


@lru_cache(len(ImageKind))
def _images(scene: ImageKind, geometry: Geometry) -> list[Frame]:
    return frames(scene, geometry, IMAGES)


def job_figures(
    job: KernelJob, size: Size, times: Mapping[ImageKind, "KernelTimes"], bandwidth: float
) -> Iterator[Figure]:
    """Yield the figures of one job from its times by scene; `bandwidth` of a copy in bytes per second."""
    subject = f"{size[0]}x{size[1]} {job.name}"
    samples_of = {scene: _samples(job, times_of_scene) for scene, times_of_scene in times.items()}
    for scene, samples in samples_of.items():
        copy = Limit("a copy", times[scene].moved_bytes / bandwidth, job.copy_goal)
        yield Figure.of(subject, scene, "s", samples, copy)
    medians = [float(np.median(samples)) for samples in samples_of.values()]
    slowest, fastest = max(medians), min(medians)
    yield Figure(
        subject, "slowest over fastest", "times", slowest / fastest, limit=Limit("1", 1.0, SCENE_RATIO_GOAL)
    )
    if size in job.goals:
        goal = Limit(f"the goal, {job.goals[size] * 1e6:g} us", job.goals[size], 1.0)
        yield Figure(subject, "slowest", "s", slowest, limit=goal)
    if not job.kernel:
        for kernel, samples in times[ImageKind.PHOTOGRAPH].kernels.items():
            yield Figure.of(subject, f"  {kernel}, {ImageKind.PHOTOGRAPH}", "s", samples)


def _samples(job: KernelJob, times: "KernelTimes") -> list[float]:
    if not job.kernel:
        return times.step
    return next(samples for name, samples in times.kernels.items() if name.startswith(job.kernel))
