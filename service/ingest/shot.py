"""A picture on its way from the camera: what travels with it, and how it becomes pixels for a lane."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from av.video.frame import VideoFrame

from pipeline.frame import PixelFormat
from service.doorbell import Size
from service.files.color import Color, to_bgr


@dataclass(frozen=True, slots=True)
class Shot:
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

    @property
    def geometry(self) -> Size:
        """Width, height and pixel format in a slot."""
        return self.frame.width, self.frame.height, str(pixel_format(self.frame))

    @property
    def slot_bytes(self) -> int:
        """Bytes it takes in a slot."""
        channels = 1 if pixel_format(self.frame) is PixelFormat.GRAY8 else 3
        return self.frame.width * self.frame.height * channels

    def lay(self, buffer: memoryview) -> None:
        """Write the pixels into a slot's buffer of `slot_bytes`."""
        width, height, _ = self.geometry
        if pixel_format(self.frame) is PixelFormat.GRAY8:
            plane = self.frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8)[: plane.line_size * height]
            gray = rows.reshape(height, plane.line_size)[:, :width]
            np.copyto(np.frombuffer(buffer, np.uint8).reshape(height, width), gray)
        else:
            pixels = to_bgr(self.frame, Color.of(self.frame))
            np.copyto(np.frombuffer(buffer, np.uint8).reshape(height, width, 3), pixels)


def pixel_format(frame: VideoFrame) -> PixelFormat:
    """The format that a decoded frame has in a slot."""
    return PixelFormat.GRAY8 if frame.format.name == "gray" else PixelFormat.BGR24
