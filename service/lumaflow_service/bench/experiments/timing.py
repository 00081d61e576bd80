"""Sizes of the experiments, and timing of a production kernel, of a lane, and of a call on the CPU."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from lumaflow.backend import open_lane
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig, Options
from lumaflow_service.bench.lane_driver import fill_slots, seconds_per_frame

FULL_HD = Geometry(1920, 1080, PixelFormat.GRAY8)
SQUARE = Geometry(4096, 4096, PixelFormat.GRAY8)
IMAGES = 4
CPU_CALLS = 5


def kernel_seconds(
    index: int, geometry: Geometry, options: Options, images: Sequence[Frame], kernel: str
) -> list[float]:
    """GPU seconds of a production kernel in the step of a lane; `kernel` is the beginning of its name."""
    from lumaflow.cuda.bench.profiler import time_step

    times = time_step(index, geometry, options, images).kernels
    return next(samples for name, samples in times.items() if name.startswith(kernel))


def lane_seconds(
    device: str, options: Options, config: LaneConfig, images: Sequence[Frame], count: int
) -> float:
    """Seconds per frame of a lane, over `count` frames that are already in its slots."""
    with open_lane(device, images[0].geometry, options, config) as lane:
        fill_slots(lane, images)
        return seconds_per_frame([lane], count)


def call_seconds(call: Callable[[NDArray[Any]], object], pixels: Sequence[NDArray[Any]]) -> list[float]:
    """Seconds of each call on the CPU, without the first one."""
    samples = []
    for number in range(CPU_CALLS + 1):
        began = perf_counter()
        call(pixels[number % len(pixels)])
        samples.append(perf_counter() - began)
    return samples[1:]
