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
from lumaflow_service.media.color import FULL, ColorTags
from lumaflow_service.media.pixel_format import chroma_subsampling, encoder_format


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """One enhanced picture; its planes are its own.

    described : npz with the descriptors that an output asked for, else empty
    encoder_format : pixel format to encode in, or the same of 8 bits; color : tags of the camera's frame
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
    color: ColorTags
    encoder_format: str
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
            encoder_format_of(geometry, shot.frame),
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


def color_of(geometry: Geometry, frame: VideoFrame) -> ColorTags:
    """Tags to encode with: the camera's own; gray is shown, and so stored, in full range."""
    color = ColorTags.of(frame)
    return replace(color, range=FULL) if geometry.layout.family is Family.GRAY else color


def encoder_format_of(geometry: Geometry, frame: VideoFrame) -> str:
    """The pixel format to encode in: the depth and chroma of the slot, or 4:4:4 where a side is odd."""
    layout = geometry.layout
    subsampling = chroma_subsampling(frame) if layout.family is Family.RGB else (2, 2)
    if layout.chroma is Chroma.PACKED:
        subsampling = (2, 1)
    is_high = layout.family is Family.YUV and layout.bits > 8
    return encoder_format(subsampling, (geometry.width, geometry.height), 10 if is_high else 8)
