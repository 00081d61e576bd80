"""Whether a camera repeats one picture: a live one has noise, or something moves in it."""

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from lumaflow_service.media.convert import plane_array

FROZEN_SECONDS = 10.0
STEP_PX = 4
MSB = ("p010le", "p210le", "p410le")
"""Formats whose 10 bits are the upper ones."""
LARGEST_DIFFERENCE = 8
"""In grey levels. A key frame of the same still differs by less than this; a digit that changes, by more."""


class FreezeDetector:
    """Compares every fourth pixel of the luma with that of the picture that was last different."""

    def __init__(self) -> None:
        self._kept: NDArray[np.int16] | None = None
        self._since = 0.0

    def frozen(self, picture: VideoFrame, now: float) -> bool:
        """Whether the picture has not changed for ten seconds."""
        sample = luma_sample(picture)
        if self._kept is None or self._kept.shape != sample.shape or _differ(self._kept, sample):
            self._kept, self._since = sample, now
        return now - self._since >= FROZEN_SECONDS


def luma_sample(picture: VideoFrame) -> NDArray[np.int16]:
    """The upper 8 bits of every fourth sample of the first plane, in both directions."""
    plane, bits = picture.planes[0], picture.format.components[0].bits
    dtype = np.dtype(np.uint8) if bits <= 8 else np.dtype(np.uint16)
    width = min(plane.width, plane.line_size // dtype.itemsize)
    samples = plane_array(plane, (plane.height, width), dtype)[::STEP_PX, ::STEP_PX]
    shift = 8 if picture.format.name in MSB else max(bits - 8, 0)
    return (samples >> shift).astype(np.int16)


def _differ(a: NDArray[np.int16], b: NDArray[np.int16]) -> bool:
    return int(np.abs(a - b).max()) > LARGEST_DIFFERENCE
