"""`lumaflow bench peers`: the same jobs through the libraries that a user would pick instead, in one run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.frame import Frame, Geometry, PixelFormat
from pipeline.options import Equalization, Mode, Options
from service.bench.figure import Entry, Figure, Limit, Missing
from service.bench.host import usable_cores
from service.bench.kernels import FULL_HD, SQUARE, ULTRA_HD, Size
from service.bench.scene import Scene, frames

SIZES = (FULL_HD, ULTRA_HD, SQUARE)
SCENES = (Scene.PHOTOGRAPH, Scene.DARK)
PICTURES = 4
CALLS = 5
OURS = {"equalize": Options(Equalization(Mode.EQUALIZE)), "CLAHE": Options()}
"""Job -> what a lane does for it; its time is that of the step on the GPU."""

CPU_JOBS: Mapping[str, Callable[[NDArray[Any]], object]] = {
    "equalize": cv2.equalizeHist,
    "CLAHE": cv2.createCLAHE(2.0, (8, 8)).apply,
    "histogram": lambda pixels: cv2.calcHist([pixels], [0], None, [256], [0, 256]),
    "LUT": lambda pixels: cv2.LUT(pixels, np.arange(256, dtype=np.uint8)),
}


def measure_peers(device: str, sizes: Sequence[Size] = SIZES) -> Iterator[Entry]:
    """Yield what each peer takes for a job, against what a lane's step takes for it on the same GPU.

    On the CPU only OpenCV is measured, for the GPU peers have nothing to run on.
    """
    for size in sizes:
        geometry = Geometry(*size, PixelFormat.GRAY8)
        pictures = {scene: frames(scene, geometry, PICTURES) for scene in SCENES}
        ours: dict[tuple[str, Scene], Limit] = {}
        if device != "cpu":
            for figure, key in _ours(device, geometry, pictures):
                ours[key] = Limit("ours", figure.median)
                yield figure
            yield from _on_gpu(device, geometry, pictures, ours)
        yield from _on_cpu(geometry, pictures, ours)


def _ours(
    device: str, geometry: Geometry, pictures: Mapping[Scene, Sequence[Frame]]
) -> Iterator[tuple[Figure, tuple[str, Scene]]]:
    from pipeline.cuda.replay import time_step

    index = int(device.removeprefix("cuda:"))
    for job, options in OURS.items():
        for scene, shown in pictures.items():
            times = time_step(index, geometry, options, shown).step
            yield Figure.of(f"{geometry} on {device}", f"{job}: ours, {scene}", "s", times), (job, scene)


def _on_gpu(
    device: str,
    geometry: Geometry,
    pictures: Mapping[Scene, Sequence[Frame]],
    ours: Mapping[tuple[str, Scene], Limit],
) -> Iterator[Entry]:
    from pipeline.cuda.peers import PEERS, time_peer

    subject, index = f"{geometry} on {device}", int(device.removeprefix("cuda:"))
    for peer in PEERS:
        for scene, shown in pictures.items():
            name = f"{peer.job}: {peer.name}, {scene}"
            try:
                samples = time_peer(index, peer, [frame.pixels for frame in shown])
            except Exception as error:  # whatever is wrong with a peer, the others are still measured
                yield Missing(subject, name, f"{type(error).__name__}: {error}".splitlines()[0])
                break
            yield Figure.of(subject, name, "s", samples, ours.get((peer.job, scene)))


def _on_cpu(
    geometry: Geometry,
    pictures: Mapping[Scene, Sequence[Frame]],
    ours: Mapping[tuple[str, Scene], Limit],
) -> Iterator[Figure]:
    usual = cv2.getNumThreads()
    try:
        for threads in (1, usable_cores()):
            cv2.setNumThreads(threads)
            for job, call in CPU_JOBS.items():
                for scene, shown in pictures.items():
                    name = f"{job}: cv2, {threads} threads, {scene}"
                    samples = _seconds(call, shown)
                    yield Figure.of(f"{geometry} on the CPU", name, "s", samples, ours.get((job, scene)))
    finally:
        cv2.setNumThreads(usual)


def _seconds(call: Callable[[NDArray[Any]], object], pictures: Sequence[Frame]) -> list[float]:
    samples = []
    for _, frame in zip(range(CALLS + 1), cycle(pictures), strict=False):
        began = perf_counter()
        call(frame.pixels)
        samples.append(perf_counter() - began)
    return samples[1:]
