"""Detects a frozen camera, which repeats one image; a live image has noise or motion."""

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from lumaflow_service.media.convert import plane_array

FROZEN_SECONDS = 10.0
STEP_PX = 4
MSB = ("p010le", "p210le", "p410le")
"""Formats whose samples occupy the most significant bits."""
LARGEST_DIFFERENCE = 8
"""In grey levels. Key frames of one still image differ by less; a changing clock differs by more."""


class FreezeDetector:
    """Compares every fourth luma sample with the reference, the last frame that was different."""

    def __init__(self) -> None:
        self._reference: NDArray[np.int16] | None = None
        self._since = 0.0

    def is_frozen(self, frame: VideoFrame, now: float) -> bool:
        """Return whether the image has not changed for FROZEN_SECONDS; `now` is on the monotonic clock."""
        sample, reference = luma_sample(frame), self._reference
        if reference is None or reference.shape != sample.shape or _differ(reference, sample):
            self._reference, self._since = sample, now
        return now - self._since >= FROZEN_SECONDS


def luma_sample(frame: VideoFrame) -> NDArray[np.int16]:
    """Return the upper 8 bits of every fourth sample of the first plane, in both directions."""
    plane, bits = frame.planes[0], frame.format.components[0].bits
    dtype = np.dtype(np.uint8) if bits <= 8 else np.dtype(np.uint16)
    width = min(plane.width, plane.line_size // dtype.itemsize)
    samples = plane_array(plane, (plane.height, width), dtype)[::STEP_PX, ::STEP_PX]
    shift = 8 if frame.format.name in MSB else max(bits - 8, 0)
    return (samples >> shift).astype(np.int16)


def _differ(a: NDArray[np.int16], b: NDArray[np.int16]) -> bool:
    return int(np.abs(a - b).max()) > LARGEST_DIFFERENCE
