"""Whether a camera repeats one picture: a live one has noise, or something moves in it."""

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

FROZEN_SECONDS = 10.0
STEP_PX = 4
LARGEST_DIFFERENCE = 8
"""In grey levels. A key frame of the same still differs by less than this; a digit that changes, by more."""


class StillWatch:
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
    """Every fourth byte of the first plane, in both directions."""
    plane = picture.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8)[: plane.line_size * plane.height]
    return rows.reshape(plane.height, plane.line_size)[::STEP_PX, : plane.width : STEP_PX].astype(np.int16)


def _differ(a: NDArray[np.int16], b: NDArray[np.int16]) -> bool:
    return int(np.abs(a - b).max()) > LARGEST_DIFFERENCE
