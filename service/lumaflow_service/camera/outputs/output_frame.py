"""An enhanced frame for the outputs, with the metadata of the camera's frame."""

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
    """A copy of one enhanced frame.

    pts, time_base, wall, arrived, epoch, corrupt : as in CapturedFrame
    sequence, lut : number and LUT kind of the enhanced frame
    descriptors : npz file with the descriptors that an output needs, else empty
    encoder_format : pixel format to encode in, or the same with 8 bits
    color : colour tags of the camera's frame
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
    descriptors: bytes = b""

    @classmethod
    def of(cls, captured: CapturedFrame, ready: EnhancedReady, memory: SlotMemory) -> "OutputFrame":
        """Copy an enhanced frame out of its slot."""
        geometry = ready.geometry.geometry
        enhanced = np.frombuffer(memory.buffer(ready.slot, "enhanced", geometry.frame_bytes), np.uint8)
        return cls(
            replace(Frame.from_buffer(enhanced.copy(), geometry), color=ready.geometry.color),
            captured.pts,
            captured.time_base,
            captured.wall,
            captured.arrived,
            ready.sequence,
            ready.lut,
            captured.epoch,
            captured.corrupt,
            color_of(geometry, captured.frame),
            encoder_format_of(geometry, captured.frame),
            bytes(memory.buffer(ready.slot, "answer", ready.descriptor_bytes))
            if ready.descriptor_bytes
            else b"",
        )

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.frame.geometry.width, self.frame.geometry.height

    def with_frame(self, frame: Frame) -> "OutputFrame":
        """Return a copy with other pixels and no descriptors."""
        return replace(self, frame=frame, descriptors=b"")

    def at(self, arrived: float) -> "OutputFrame":
        """Return a copy with a later monotonic time, and pts and wall time shifted by as much."""
        later = arrived - self.arrived
        pts = self.pts + round(Fraction(later) / self.time_base)
        return replace(self, pts=pts, wall=self.wall + later, arrived=arrived)


def color_of(geometry: Geometry, frame: VideoFrame) -> ColorTags:
    """Return the colour tags to encode with: the camera's own, but full range for gray."""
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
