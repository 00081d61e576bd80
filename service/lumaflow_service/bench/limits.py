"""What a lane is held against: the wire of its GPU, or the same job through OpenCV on the CPU."""

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
CV2_LEAST = 3


@dataclass(frozen=True, slots=True)
class Wire:
    """Seconds that the bytes of one frame take between host and GPU: up, down, and both at once."""

    up: float
    down: float
    both: float


def measure_wire(lane: Lane, answer: Enhanced) -> Wire:
    """Measure the wire with the bytes that go up and come down for one frame of this CUDA lane."""
    from lumaflow.cuda.bench.pcie_bandwidth import measure

    device = int(lane.device.removeprefix("cuda:"))
    up, down = lane.geometry.frame_bytes, answer_bytes(answer)
    return Wire(measure(device, up, 0), measure(device, 0, down), measure(device, up, down))


def answer_bytes(answer: Enhanced) -> int:
    """Bytes of the arrays that come down with one frame; what stays on the device is no NumPy array."""
    arrays = (*answer.frame.planes, answer.bins, answer.lut, answer.hog, answer.lbp)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def cv2_seconds(geometry: Geometry, frame: Frame) -> float:
    """Median seconds of the same job through OpenCV, but for LBP, for which cv2 has no call."""
    job = _cv2_job(geometry)
    job(frame.pixels)
    spent: list[float] = []
    while len(spent) < CV2_LEAST or sum(spent) < CV2_SECONDS:
        began = perf_counter()
        job(frame.pixels)
        spent.append(perf_counter() - began)
    return float(np.median(spent))


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
