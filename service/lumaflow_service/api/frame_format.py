"""The shape of a frame as JSON: size, format, and how its samples are to be read."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lumaflow.formats import Alignment, Matrix, PixelFormat, Range
from lumaflow.geometry import MAX_SIDE_PX, Geometry
from lumaflow_service.ipc.messages import Levels, Size, geometry_of


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
    def of(cls, size: Size | None, levels: Levels) -> Self | None:
        """The shape of a message's geometry."""
        return cls.of_geometry(geometry_of(size, levels), levels) if size else None

    @classmethod
    def of_geometry(cls, geometry: Geometry, levels: Levels) -> Self:
        """The shape of frames of this geometry and of the matrix in `levels`."""
        return cls(
            width=geometry.width,
            height=geometry.height,
            format=geometry.pixel_format,
            range=geometry.range,
            alignment=geometry.alignment,
            matrix=levels.matrix,
        )

    @property
    def size(self) -> Size:
        """This shape as it travels in messages."""
        return self.width, self.height, str(self.format)

    @property
    def levels(self) -> Levels:
        """How its samples are to be read, what is not said settled as the pipeline does."""
        return Levels.of(self.geometry, self.matrix)

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

    @property
    def fixed(self) -> tuple[Size, Levels]:
        """This shape as a source is fixed to it."""
        return self.size, self.levels

    @model_validator(mode="after")
    def possible(self) -> Self:
        """Raises FrameError, a ValueError."""
        _ = self.geometry
        return self
