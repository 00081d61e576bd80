"""The shape of a frame as JSON: size, format, and how its samples are to be read."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.ipc.geometry_json import GeometryJson


class FrameFormat(BaseModel):
    """Width and height in pixels, the pixel format, and how its samples are to be read."""

    model_config = ConfigDict(extra="forbid")

    width: int = Field(ge=1, le=MAX_SIDE_PX)
    height: int = Field(ge=1, le=MAX_SIDE_PX)
    format: PixelFormat
    range: Range = Field(Range.UNSPECIFIED, description="unspecified: limited for YUV, full for all others")
    alignment: Alignment = Field(Alignment.LSB, description="of gray10, gray12 and gray14 in their 16 bits")
    matrix: Matrix = Field(Matrix.UNSPECIFIED, description="unspecified: bt601 below 720 lines, else bt709")

    @classmethod
    def of(cls, geometry: GeometryJson | None) -> Self | None:
        """The frame format of a geometry in a message."""
        return cls.model_validate(geometry._asdict()) if geometry else None

    def to_json(self) -> GeometryJson:
        """The geometry for a message; an unspecified range gets the default of the pixel format."""
        return GeometryJson.of(self.geometry, self.matrix)

    @property
    def geometry(self) -> Geometry:
        """The same in the pipeline's own type. Raises FrameError."""
        return Geometry(self.width, self.height, self.format, self.range, self.alignment)

    @property
    def frame_bytes(self) -> int:
        """Bytes of one raw frame of this shape."""
        return self.geometry.frame_bytes


class FixedFormat(FrameFormat):
    """The shape of all frames of a source; one that no frame can have is refused."""

    @model_validator(mode="after")
    def possible(self) -> Self:
        """Raises FrameError, a ValueError."""
        _ = self.geometry
        return self
