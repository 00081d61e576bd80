"""Reference times for a lane: PCIe transfers of the same bytes, or the same job with OpenCV on the CPU."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lumaflow.formats import PixelFormat
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane

CV2_SECONDS = 1.0
CV2_MIN_CALLS = 3


@dataclass(frozen=True, slots=True)
class PcieTimes:
    """Seconds to transfer the bytes of one frame between host and GPU: up, down, and both at once."""

    up: float
    down: float
    both: float


def measure_pcie(lane: Lane, result: Enhanced) -> PcieTimes:
    """Measure PCIe transfers of the bytes that one frame of this CUDA lane uploads and downloads."""
    from lumaflow.cuda.bench.pcie_bandwidth import seconds_per_frame

    device = int(lane.device.removeprefix("cuda:"))
    up, down = lane.geometry.frame_bytes, result_bytes(result)
    return PcieTimes(*(seconds_per_frame(device, *sizes) for sizes in ((up, 0), (0, down), (up, down))))


def result_bytes(result: Enhanced) -> int:
    """Bytes downloaded per frame: the NumPy arrays of a result; arrays on the device are CuPy arrays."""
    arrays = (*result.frame.planes, result.bins, result.lut, result.hog, result.lbp)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def cv2_seconds(geometry: Geometry, frame: Frame) -> float:
    """Median seconds of the same job with OpenCV, without LBP, which cv2 does not provide."""
    job = _cv2_job(geometry)
    job(frame.pixels)
    seconds: list[float] = []
    while len(seconds) < CV2_MIN_CALLS or sum(seconds) < CV2_SECONDS:
        start = perf_counter()
        job(frame.pixels)
        seconds.append(perf_counter() - start)
    return float(np.median(seconds))


def _cv2_job(geometry: Geometry) -> Callable[[NDArray[Any]], Any]:
    clahe = cv2.createCLAHE(2.0, (8, 8))
    window = ((geometry.width - 16) // 8 * 8 + 16, (geometry.height - 16) // 8 * 8 + 16)
    hog = cv2.HOGDescriptor(window, (16, 16), (8, 8), (8, 8), 9, 1, -1, 0, 0.2, True, 64, False)

    def descriptors(luma: Any) -> Any:
        return hog.compute(luma, winStride=window, padding=(0, 0))

    def color(pixels: NDArray[Any]) -> Any:
        hue, saturation, value = cv2.split(cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV))
        enhanced = cv2.cvtColor(cv2.merge((hue, saturation, clahe.apply(value))), cv2.COLOR_HSV2BGR)
        return descriptors(cv2.cvtColor(enhanced, cv2.COLOR_BGR2GRAY))

    if geometry.pixel_format is PixelFormat.BGR24:
        return color
    return lambda pixels: descriptors(clahe.apply(pixels))
