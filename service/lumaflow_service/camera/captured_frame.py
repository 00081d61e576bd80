"""A decoded frame and its metadata, on the way from the camera to a slot."""

from dataclasses import dataclass
from fractions import Fraction

from av.video.frame import VideoFrame


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One frame of a camera.

    number : counts the frames of this process
    pts : presentation time in units of `time_base`; always greater than that of the frame before
    wall : arrival in seconds since 1970
    arrived : arrival in seconds on the monotonic clock
    epoch : counts the changes of the geometry
    corrupt : the frame is damaged, or refers to a damaged frame
    """

    number: int
    frame: VideoFrame
    pts: int
    time_base: Fraction
    wall: float
    arrived: float
    epoch: int
    corrupt: bool
