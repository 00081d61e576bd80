"""A picture on its way from the camera, with what travels with it."""

from dataclasses import dataclass
from fractions import Fraction

from av.video.frame import VideoFrame


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """One picture.

    number : counts the pictures of this process
    pts : in units of `time_base`; grows from picture to picture, whatever the camera says
    wall : seconds since 1970 by this machine's clock when it arrived; arrived : the same, monotonic
    epoch : counts the geometries; corrupt : the decoder doubts it
    """

    number: int
    frame: VideoFrame
    pts: int
    time_base: Fraction
    wall: float
    arrived: float
    epoch: int
    corrupt: bool
