"""`lumaflow bench peers`: the same operations with other libraries, measured in one run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Options
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.host import usable_cores
from lumaflow_service.bench.images import ImageKind, frames
from lumaflow_service.bench.kernels import FULL_HD, SQUARE, ULTRA_HD, Size

SIZES = (FULL_HD, ULTRA_HD, SQUARE)
SCENES = (ImageKind.PHOTOGRAPH, ImageKind.DARK)
IMAGES = 4
CALLS = 5
LUMAFLOW_OPTIONS = {"equalize": Options(Equalization(Mode.EQUALIZE)), "CLAHE": Options()}
"""Operation -> options of the lane whose GPU time per step is compared."""

Call = Callable[[NDArray[Any]], object]
"""Runs an operation on a (H, W) uint8 plane in host memory."""

CV2_JOBS: Mapping[str, Call] = {
    "equalize": cv2.equalizeHist,
    "CLAHE": cv2.createCLAHE(2.0, (8, 8)).apply,
    "histogram": lambda pixels: cv2.calcHist([pixels], [0], None, [256], [0, 256]),
    "LUT": lambda pixels: cv2.LUT(pixels, np.arange(256, dtype=np.uint8)),
}


Images = Mapping[ImageKind, Sequence[Frame]]
LaneTimes = Mapping[tuple[str, ImageKind], Limit]
"""(operation, scene) -> time of a lane, if it was measured."""


def measure_baselines(device: str, sizes: Sequence[Size] = SIZES) -> Iterator[Entry]:
    """Yield the time of each library and operation relative to a lane's step on the same GPU.

    On the CPU only OpenCV and kornia-rs are measured; the other libraries need a GPU.
    """
    for size in sizes:
        geometry = Geometry(*size, PixelFormat.GRAY8)
        images = {scene: frames(scene, geometry, IMAGES) for scene in SCENES}
        lane_times: dict[tuple[str, ImageKind], Limit] = {}
        if device != "cpu":
            for figure, key in _lane_figures(device, geometry, images):
                lane_times[key] = Limit("ours", figure.median)
                yield figure
            yield from _gpu_figures(device, geometry, images, lane_times)
        yield from _cv2_figures(geometry, images, lane_times)
        yield from _kornia_rs_figures(geometry, images, lane_times)


def _lane_figures(
    device: str, geometry: Geometry, images: Images
) -> Iterator[tuple[Figure, tuple[str, ImageKind]]]:
    from lumaflow.cuda.bench.profiler import time_step

    index = int(device.removeprefix("cuda:"))
    for job, options in LUMAFLOW_OPTIONS.items():
        for scene, scene_frames in images.items():
            times = time_step(index, geometry, options, scene_frames).step
            yield Figure.of(f"{geometry} on {device}", f"{job}: ours, {scene}", "s", times), (job, scene)


def _gpu_figures(device: str, geometry: Geometry, images: Images, lane_times: LaneTimes) -> Iterator[Entry]:
    from lumaflow.cuda.bench.baselines import BASELINES, time_baseline

    subject, index = f"{geometry} on {device}", int(device.removeprefix("cuda:"))
    for baseline in BASELINES:
        for scene, scene_frames in images.items():
            name = f"{baseline.job}: {baseline.name}, {scene}"
            try:
                samples = time_baseline(index, baseline, [frame.pixels for frame in scene_frames])
            except Exception as error:  # any error of one library must not stop the others
                yield Skipped(subject, name, f"{type(error).__name__}: {error}".splitlines()[0])
                break
            yield Figure.of(subject, name, "s", samples, lane_times.get((baseline.job, scene)))


def _cv2_figures(geometry: Geometry, images: Images, lane_times: LaneTimes) -> Iterator[Figure]:
    default_threads = cv2.getNumThreads()
    try:
        for threads in (1, usable_cores()):
            cv2.setNumThreads(threads)
            yield from _cpu_figures(geometry, f"cv2, {threads} threads", CV2_JOBS, images, lane_times)
    finally:
        cv2.setNumThreads(default_threads)


def _kornia_rs_figures(geometry: Geometry, images: Images, lane_times: LaneTimes) -> Iterator[Entry]:
    try:
        jobs = kornia_rs_jobs()
    except ImportError as error:
        yield Skipped(f"{geometry} on the CPU", "kornia-rs", f"{error}: pip install kornia-rs")
        return
    yield from _cpu_figures(geometry, "kornia-rs", jobs, images, lane_times)


def kornia_rs_jobs() -> Mapping[str, Call]:
    """The operations of kornia-rs on the CPU. Raises ImportError if it is not installed."""
    from kornia_rs import imgproc

    return {
        "equalize": lambda pixels: imgproc.equalize_hist(pixels[:, :, None]),
        "CLAHE": lambda pixels: imgproc.clahe(pixels[:, :, None], 2.0, (8, 8)),
        "histogram": lambda pixels: imgproc.compute_histogram(pixels[:, :, None], 256),
    }


def _cpu_figures(
    geometry: Geometry, library: str, jobs: Mapping[str, Call], images: Images, lane_times: LaneTimes
) -> Iterator[Figure]:
    for job, call in jobs.items():
        for scene, scene_frames in images.items():
            name, samples = f"{job}: {library}, {scene}", _seconds(call, scene_frames)
            yield Figure.of(f"{geometry} on the CPU", name, "s", samples, lane_times.get((job, scene)))


def _seconds(call: Call, images: Sequence[Frame]) -> list[float]:
    samples = []
    for _, frame in zip(range(CALLS + 1), cycle(images), strict=False):
        start = perf_counter()
        call(frame.pixels)
        samples.append(perf_counter() - start)
    return samples[1:]
