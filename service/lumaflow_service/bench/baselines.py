"""`lumaflow bench peers`: the same jobs through the libraries that a user would pick instead, in one run."""

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
from lumaflow_service.bench.kernels import FULL_HD, SQUARE, ULTRA_HD, Size
from lumaflow_service.bench.test_images import TestImage, frames

SIZES = (FULL_HD, ULTRA_HD, SQUARE)
SCENES = (TestImage.PHOTOGRAPH, TestImage.DARK)
PICTURES = 4
CALLS = 5
OURS = {"equalize": Options(Equalization(Mode.EQUALIZE)), "CLAHE": Options()}
"""Job -> what a lane does for it; its time is that of the step on the GPU."""

Call = Callable[[NDArray[Any]], object]
"""Does a job on a (H, W) uint8 plane in host memory."""

CV2_JOBS: Mapping[str, Call] = {
    "equalize": cv2.equalizeHist,
    "CLAHE": cv2.createCLAHE(2.0, (8, 8)).apply,
    "histogram": lambda pixels: cv2.calcHist([pixels], [0], None, [256], [0, 256]),
    "LUT": lambda pixels: cv2.LUT(pixels, np.arange(256, dtype=np.uint8)),
}


Pictures = Mapping[TestImage, Sequence[Frame]]
Ours = Mapping[tuple[str, TestImage], Limit]
"""(job, scene) -> what a lane takes for it, once that is known."""


def measure_peers(device: str, sizes: Sequence[Size] = SIZES) -> Iterator[Entry]:
    """Yield what each peer takes for a job, against what a lane's step takes for it on the same GPU.

    On the CPU only OpenCV and kornia-rs are measured, for the others have nothing to run on.
    """
    for size in sizes:
        geometry = Geometry(*size, PixelFormat.GRAY8)
        pictures = {scene: frames(scene, geometry, PICTURES) for scene in SCENES}
        ours: dict[tuple[str, TestImage], Limit] = {}
        if device != "cpu":
            for figure, key in _ours(device, geometry, pictures):
                ours[key] = Limit("ours", figure.median)
                yield figure
            yield from _on_gpu(device, geometry, pictures, ours)
        yield from _cv2(geometry, pictures, ours)
        yield from _kornia_rs(geometry, pictures, ours)


def _ours(
    device: str, geometry: Geometry, pictures: Pictures
) -> Iterator[tuple[Figure, tuple[str, TestImage]]]:
    from lumaflow.cuda.bench.profiler import time_step

    index = int(device.removeprefix("cuda:"))
    for job, options in OURS.items():
        for scene, shown in pictures.items():
            times = time_step(index, geometry, options, shown).step
            yield Figure.of(f"{geometry} on {device}", f"{job}: ours, {scene}", "s", times), (job, scene)


def _on_gpu(device: str, geometry: Geometry, pictures: Pictures, ours: Ours) -> Iterator[Entry]:
    from lumaflow.cuda.bench.baselines import PEERS, time_baseline

    subject, index = f"{geometry} on {device}", int(device.removeprefix("cuda:"))
    for peer in PEERS:
        for scene, shown in pictures.items():
            name = f"{peer.job}: {peer.name}, {scene}"
            try:
                samples = time_baseline(index, peer, [frame.pixels for frame in shown])
            except Exception as error:  # whatever is wrong with a peer, the others are still measured
                yield Skipped(subject, name, f"{type(error).__name__}: {error}".splitlines()[0])
                break
            yield Figure.of(subject, name, "s", samples, ours.get((peer.job, scene)))


def _cv2(geometry: Geometry, pictures: Pictures, ours: Ours) -> Iterator[Figure]:
    usual = cv2.getNumThreads()
    try:
        for threads in (1, usable_cores()):
            cv2.setNumThreads(threads)
            yield from _on_cpu(geometry, f"cv2, {threads} threads", CV2_JOBS, pictures, ours)
    finally:
        cv2.setNumThreads(usual)


def _kornia_rs(geometry: Geometry, pictures: Pictures, ours: Ours) -> Iterator[Entry]:
    try:
        jobs = kornia_rs_jobs()
    except ImportError as error:
        yield Skipped(f"{geometry} on the CPU", "kornia-rs", f"{error}: pip install kornia-rs")
        return
    yield from _on_cpu(geometry, "kornia-rs", jobs, pictures, ours)


def kornia_rs_jobs() -> Mapping[str, Call]:
    """What kornia-rs does on the CPU with threads of its own. Raises ImportError where it is missing."""
    from kornia_rs import imgproc

    return {
        "equalize": lambda pixels: imgproc.equalize_hist(pixels[:, :, None]),
        "CLAHE": lambda pixels: imgproc.clahe(pixels[:, :, None], 2.0, (8, 8)),
        "histogram": lambda pixels: imgproc.compute_histogram(pixels[:, :, None], 256),
    }


def _on_cpu(
    geometry: Geometry, peer: str, jobs: Mapping[str, Call], pictures: Pictures, ours: Ours
) -> Iterator[Figure]:
    for job, call in jobs.items():
        for scene, shown in pictures.items():
            name, samples = f"{job}: {peer}, {scene}", _seconds(call, shown)
            yield Figure.of(f"{geometry} on the CPU", name, "s", samples, ours.get((job, scene)))


def _seconds(call: Call, pictures: Sequence[Frame]) -> list[float]:
    samples = []
    for _, frame in zip(range(CALLS + 1), cycle(pictures), strict=False):
        began = perf_counter()
        call(frame.pixels)
        samples.append(perf_counter() - began)
    return samples[1:]
