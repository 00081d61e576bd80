"""`lumaflow bench kernels`: GPU time of whole steps and of each kernel, beside a copy of the same bytes."""

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
from lumaflow_service.bench.test_images import TestImage, frames

if TYPE_CHECKING:
    from lumaflow.cuda.bench.profiler import KernelTimes

PICTURES = 4  # that take turns, each in a slot of its own
EVENNESS = 1.5  # how much slower than the quickest picture the slowest may be

Size = tuple[int, int]
HD, FULL_HD, ULTRA_HD, SQUARE = (1280, 720), (1920, 1080), (3840, 2160), (4096, 4096)
SIZES = (HD, FULL_HD, ULTRA_HD, SQUARE)


@dataclass(frozen=True, slots=True)
class Chain:
    """A job to time.

    kernel : beginning of the name of the one kernel that is meant, or "" for the whole step
    goals : size -> seconds that are to be reached on an H200
    copy_goal : times a copy of the same bytes that is to be reached
    """

    name: str
    pixel_format: PixelFormat
    options: Options
    goals: dict[Size, float] = field(default_factory=dict)
    kernel: str = ""
    copy_goal: float | None = None


CHAINS = (
    Chain("equalize", PixelFormat.GRAY8, Options(Equalization(Mode.EQUALIZE)), {SQUARE: 15e-6}),
    Chain("CLAHE", PixelFormat.GRAY8, Options(), {ULTRA_HD: 16e-6, SQUARE: 30e-6}),
    Chain("CLAHE, HOG, LBP", PixelFormat.GRAY8, Options(hog=Hog(), lbp=Lbp()), {FULL_HD: 15e-6}),
    Chain(
        "transposition",
        PixelFormat.GRAY8,
        Options(Equalization(Mode.IDENTITY), orientation=Orientation.TRANSPOSE),
        kernel="transpose",
        copy_goal=1 / 0.8,
    ),
    Chain("12-bit CLAHE", PixelFormat.GRAY12, Options(), {FULL_HD: 20e-6}),
)


def measure_kernels(device: str, sizes: Sequence[Size] = SIZES) -> Iterator[Entry]:
    """Yield the figures of every chain at every size; one that this lane refuses is left out.

    Raises DeviceError when `device` is no GPU.
    """
    if device == "cpu":
        raise DeviceError("cpu was asked for; kernels are timed on a GPU: give cuda or cuda:N")
    from lumaflow.cuda.bench.profiler import copy_bandwidth, time_step

    index = int(device.removeprefix("cuda:"))
    bandwidth = copy_bandwidth(index)
    yield Figure(device, "copy, read and written", "GB/s", bandwidth / 1e9)
    for size, chain in product(sizes, CHAINS):
        geometry = Geometry(*size, chain.pixel_format)
        try:
            times = {
                scene: time_step(index, geometry, chain.options, _pictures(scene, geometry))
                for scene in TestImage
            }
        except DeviceError as error:
            yield Skipped(f"{size[0]}x{size[1]} {chain.name}", "all", str(error))
        else:
            yield from chain_figures(chain, size, times, bandwidth)


@lru_cache(len(TestImage))
def _pictures(scene: TestImage, geometry: Geometry) -> list[Frame]:
    return frames(scene, geometry, PICTURES)


def chain_figures(
    chain: Chain, size: Size, times: Mapping[TestImage, "KernelTimes"], bandwidth: float
) -> Iterator[Figure]:
    """Yield the figures of one chain, from its times on every scene and the bytes a second of a copy."""
    subject = f"{size[0]}x{size[1]} {chain.name}"
    chosen = {scene: _chosen(chain, spent) for scene, spent in times.items()}
    for scene, samples in chosen.items():
        copy = Limit("a copy", times[scene].moved_bytes / bandwidth, chain.copy_goal)
        yield Figure.of(subject, scene, "s", samples, copy)
    medians = [float(np.median(samples)) for samples in chosen.values()]
    slowest, fastest = max(medians), min(medians)
    yield Figure(subject, "slowest over fastest", "times", slowest / fastest, limit=Limit("1", 1.0, EVENNESS))
    if size in chain.goals:
        goal = Limit(f"the goal, {chain.goals[size] * 1e6:g} us", chain.goals[size], 1.0)
        yield Figure(subject, "slowest", "s", slowest, limit=goal)
    if not chain.kernel:
        for kernel, samples in times[TestImage.PHOTOGRAPH].kernels.items():
            yield Figure.of(subject, f"  {kernel}, {TestImage.PHOTOGRAPH}", "s", samples)


def _chosen(chain: Chain, times: "KernelTimes") -> list[float]:
    if not chain.kernel:
        return times.step
    return next(samples for name, samples in times.kernels.items() if name.startswith(chain.kernel))
