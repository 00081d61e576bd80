"""What a lane is held against: the wire of its GPU, or the same job through OpenCV on the CPU."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.frame import Enhanced, Geometry, PixelFormat
from pipeline.lane import Lane
from service.bench.figure import Limit

CV2_SECONDS = 1.0
CV2_LEAST = 3


def lane_limit(lane: Lane, pixels: NDArray[np.uint8], answer: Enhanced) -> Limit:
    """The limit in frames a second for the job of `lane` on `pixels`, whose result was `answer`.

    On the CPU it lacks LBP, for which cv2 has no call.
    """
    if lane.device == "cpu":
        return Limit("cv2 CLAHE, HOG", 1 / _cv2_seconds(lane.geometry, pixels))
    from pipeline.cuda.wire import measure

    device = int(lane.device.removeprefix("cuda:"))
    return Limit("wire, full duplex", 1 / measure(device, lane.geometry.frame_bytes, answer_bytes(answer)))


def answer_bytes(answer: Enhanced) -> int:
    """Bytes of the arrays that come down with one frame."""
    arrays = (answer.frame.pixels, answer.bins, answer.lut, answer.hog, answer.lbp)
    return sum(array.nbytes for array in arrays if array is not None)


def _cv2_seconds(geometry: Geometry, pixels: NDArray[np.uint8]) -> float:
    job = _cv2_job(geometry)
    job(pixels)
    spent: list[float] = []
    while len(spent) < CV2_LEAST or sum(spent) < CV2_SECONDS:
        began = perf_counter()
        job(pixels)
        spent.append(perf_counter() - began)
    return float(np.median(spent))


def _cv2_job(geometry: Geometry) -> Callable[[NDArray[np.uint8]], Any]:
    clahe = cv2.createCLAHE(2.0, (8, 8))
    window = ((geometry.width - 16) // 8 * 8 + 16, (geometry.height - 16) // 8 * 8 + 16)
    hog = cv2.HOGDescriptor(window, (16, 16), (8, 8), (8, 8), 9, 1, -1, 0, 0.2, True, 64, False)

    def descriptors(luma: Any) -> Any:
        return hog.compute(luma, winStride=window, padding=(0, 0))

    def color(pixels: NDArray[np.uint8]) -> Any:
        hue, saturation, value = cv2.split(cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV))
        enhanced = cv2.cvtColor(cv2.merge((hue, saturation, clahe.apply(value))), cv2.COLOR_HSV2BGR)
        return descriptors(cv2.cvtColor(enhanced, cv2.COLOR_BGR2GRAY))

    if geometry.pixel_format is PixelFormat.BGR24:
        return color
    return lambda pixels: descriptors(clahe.apply(pixels))
