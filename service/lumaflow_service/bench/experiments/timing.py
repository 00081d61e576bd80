"""What the experiments share: their frames, a production kernel's time, a lane's, and a call's on the CPU."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from lumaflow.backend import open_lane
from lumaflow.formats import PixelFormat
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig, Options
from lumaflow_service.bench.mixed_load import run_in_turn
from lumaflow_service.bench.pipeline import fill

FULL_HD = Geometry(1920, 1080, PixelFormat.GRAY8)
SQUARE = Geometry(4096, 4096, PixelFormat.GRAY8)
PICTURES = 4
CPU_CALLS = 5


def kernel_seconds(
    index: int, geometry: Geometry, options: Options, shown: Sequence[Frame], kernel: str
) -> list[float]:
    """GPU time of the production kernel whose name begins so, in the step of a lane."""
    from lumaflow.cuda.bench.profiler import time_step

    times = time_step(index, geometry, options, shown).kernels
    return next(samples for name, samples in times.items() if name.startswith(kernel))


def lane_seconds(
    device: str, options: Options, config: LaneConfig, shown: Sequence[Frame], each: int
) -> float:
    """Seconds a frame that a lane sustains, over `each` frames born in its slots."""
    with open_lane(device, shown[0].geometry, options, config) as lane:
        fill(lane, shown)
        return run_in_turn([lane], each)


def call_seconds(call: Callable[[NDArray[Any]], object], pixels: Sequence[NDArray[Any]]) -> list[float]:
    """Seconds of a call on the CPU; the first one is left out."""
    samples = []
    for number in range(CPU_CALLS + 1):
        began = perf_counter()
        call(pixels[number % len(pixels)])
        samples.append(perf_counter() - began)
    return samples[1:]
