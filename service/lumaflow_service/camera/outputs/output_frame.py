"""An enhanced picture as the outputs get it, with all that travelled with it from the camera."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from av.video.frame import VideoFrame

from lumaflow.formats import Chroma, Family
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.ipc.messages import EnhancedReady
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.media.color import FULL, YuvConversion, chroma_steps

DEEP = "10le"


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """One enhanced picture; its planes are its own.

    described : npz with the descriptors that an output asked for, else empty
    stored_as : pixel format to encode with, or the same without `DEEP`; color : tags of the camera's picture
    """

    frame: Frame
    pts: int
    time_base: Fraction
    wall: float
    arrived: float
    sequence: int
    lut: str
    epoch: int
    corrupt: bool
    color: YuvConversion
    stored_as: str
    described: bytes = b""

    @classmethod
    def of(cls, shot: CapturedFrame, shown: EnhancedReady, memory: SlotMemory) -> "OutputFrame":
        """A copy of what lies in a slot."""
        geometry = shown.geometry.geometry
        enhanced = np.frombuffer(memory.buffer(shown.slot, "enhanced", geometry.frame_bytes), np.uint8)
        return cls(
            replace(Frame.from_buffer(enhanced.copy(), geometry), color=shown.geometry.color),
            shot.pts,
            shot.time_base,
            shot.wall,
            shot.arrived,
            shown.sequence,
            shown.lut,
            shot.epoch,
            shot.corrupt,
            color_of(geometry, shot.frame),
            stored_as(geometry, shot.frame),
            bytes(memory.buffer(shown.slot, "answer", shown.descriptor_bytes))
            if shown.descriptor_bytes
            else b"",
        )

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.frame.geometry.width, self.frame.geometry.height

    def replaced(self, frame: Frame) -> "OutputFrame":
        """Another picture in this one's place."""
        return replace(self, frame=frame, described=b"")

    def at(self, arrived: float) -> "OutputFrame":
        """The same at a later time on the monotonic clock."""
        later = arrived - self.arrived
        pts = self.pts + round(Fraction(later) / self.time_base)
        return replace(self, pts=pts, wall=self.wall + later, arrived=arrived)


def color_of(geometry: Geometry, frame: VideoFrame) -> YuvConversion:
    """Tags to encode with: the camera's own; gray is shown, and so stored, in full range."""
    color = YuvConversion.of(frame)
    return replace(color, range=FULL) if geometry.layout.family is Family.GRAY else color


def stored_as(geometry: Geometry, frame: VideoFrame) -> str:
    """The pixel format to encode with: the camera's depth and chroma, or whole chroma where sides are odd."""
    layout = geometry.layout
    across, down = chroma_steps(frame) if layout.family is Family.RGB else (2, 2)
    if layout.chroma is Chroma.PACKED:
        across, down = 2, 1
    if geometry.width % across or geometry.height % down:
        across = down = 1
    name = {(1, 1): "yuv444p", (2, 1): "yuv422p"}.get((across, down), "yuv420p")
    return name + DEEP if layout.family is Family.YUV and layout.bits > 8 else name
