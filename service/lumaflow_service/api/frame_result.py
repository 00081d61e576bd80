"""What is told of one frame as JSON: its figures, its histograms."""

from typing import Self

from pydantic import BaseModel, Field

from lumaflow_service.api.frame_format import FrameFormat
from lumaflow_service.ipc.messages import Reply


class FrameResult(BaseModel):
    """The figures of one frame."""

    sequence: int
    lut: str
    lut_age: int
    device: str
    geometry: FrameFormat | None
    clamped: int = Field(description="values beyond the depth, each set to the highest level")
    stage_seconds: dict[str, float]
    frame_seconds: float

    @classmethod
    def of(cls, reply: Reply) -> Self:
        """The figures a worker sent."""
        return cls(
            sequence=reply.sequence,
            lut=reply.lut,
            lut_age=reply.lut_age,
            device=reply.device,
            geometry=FrameFormat.of(reply.geometry),
            clamped=reply.clamped,
            stage_seconds=reply.stage_seconds,
            frame_seconds=reply.frame_seconds,
        )


class Histograms(BaseModel):
    """Counts of 256 grey levels before and after, and the mapping (the mean over all tiles).

    Levels deeper than 8 bits are counted by their upper 8.
    """

    sequence: int
    lut: str
    before: list[int]
    after: list[int]
    mapping: list[float]
