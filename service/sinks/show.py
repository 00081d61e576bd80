"""An enhanced picture as the outputs get it, with all that travelled with it from the camera."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from service.doorbell import Shown
from service.files.color import Color, stored_as
from service.ingest.shot import Shot
from service.slots import SlotMemory


@dataclass(frozen=True, slots=True)
class Show:
    """One enhanced picture; its arrays are its own.

    pixels : (H, W) or (H, W, 3) uint8 BGR
    described : npz with the descriptors that an output asked for, else empty
    stored_as : 8-bit pixel format to encode with; color : tags of the camera's picture
    """

    pixels: NDArray[np.uint8]
    pts: int
    time_base: Fraction
    wall: float
    arrived: float
    sequence: int
    lut: str
    epoch: int
    corrupt: bool
    color: Color
    stored_as: str
    described: bytes = b""

    @classmethod
    def of(cls, shot: Shot, shown: Shown, memory: SlotMemory) -> "Show":
        """A copy of what lies in a slot."""
        width, height, pixel_format = shot.geometry
        shape = (height, width) if pixel_format == "gray8" else (height, width, 3)
        enhanced = np.frombuffer(memory.buffer(shown.slot, "enhanced", shot.slot_bytes), np.uint8)
        return cls(
            enhanced.reshape(shape).copy(),
            shot.pts,
            shot.time_base,
            shot.wall,
            shot.arrived,
            shown.sequence,
            shown.lut,
            shot.epoch,
            shot.corrupt,
            Color.of(shot.frame),
            stored_as(shot.frame, even_only=True),
            bytes(memory.buffer(shown.slot, "answer", shown.described)) if shown.described else b"",
        )

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]

    def replaced(self, pixels: NDArray[np.uint8]) -> "Show":
        """Another picture in this one's place."""
        return replace(self, pixels=pixels, described=b"")

    def at(self, arrived: float) -> "Show":
        """The same at a later time on the monotonic clock."""
        later = arrived - self.arrived
        pts = self.pts + round(Fraction(later) / self.time_base)
        return replace(self, pts=pts, wall=self.wall + later, arrived=arrived)
