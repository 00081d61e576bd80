"""What the routes take and give as JSON."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import OptionError
from pipeline.frame import MAX_SIDE_PX, Geometry, PixelFormat
from service.doorbell import Reply, Size
from service.options import Feature, OptionsPatch, SourceOptions
from service.sources import Source


class Shape(BaseModel):
    """Width and height in pixels, and the pixel format."""

    model_config = ConfigDict(extra="forbid")

    width: int = Field(ge=1, le=MAX_SIDE_PX)
    height: int = Field(ge=1, le=MAX_SIDE_PX)
    format: PixelFormat

    @classmethod
    def of(cls, size: Size | None) -> Self | None:
        """The shape of a message's geometry."""
        return cls(width=size[0], height=size[1], format=PixelFormat(size[2])) if size else None

    @property
    def size(self) -> Size:
        """This shape as it travels in messages."""
        return self.width, self.height, str(self.format)

    @property
    def frame_bytes(self) -> int:
        """Bytes of one raw frame of this shape."""
        return Geometry(self.width, self.height, self.format).frame_bytes


class SourcePut(BaseModel):
    """A source to be made or set anew; with a geometry, no other frame is taken."""

    model_config = ConfigDict(extra="forbid")

    options: SourceOptions = SourceOptions()
    geometry: Shape | None = None


class SourcePatch(BaseModel):
    """What is to change; a geometry of null lets any frame in again."""

    model_config = ConfigDict(extra="forbid")

    options: OptionsPatch = OptionsPatch()
    geometry: Shape | None = None


class Figures(BaseModel):
    """The figures of one frame."""

    sequence: int
    lut: str
    lut_age: int
    device: str
    geometry: Shape | None
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
            geometry=Shape.of(reply.geometry),
            stage_seconds=reply.stage_seconds,
            frame_seconds=reply.frame_seconds,
        )


class Histograms(BaseModel):
    """Counts of the 256 grey levels before and after, and the mapping (the mean over all tiles)."""

    sequence: int
    lut: str
    before: list[int]
    after: list[int]
    mapping: list[float]


class SourceState(BaseModel):
    """A source: its options, and the figures of its last frame (null before the first)."""

    id: str
    state: Literal["live", "idle"]
    geometry: Shape | None
    geometry_fixed: bool
    options: SourceOptions
    device: str
    frames: int
    frames_per_second: float
    sequence: int | None
    age_seconds: float | None
    lut: str | None
    lut_age: int | None
    queue_depth: int
    stage_seconds: dict[str, float]
    frame_seconds: float | None

    @classmethod
    def of(cls, source: Source, device: str) -> Self:
        """How a source stands now."""
        last = source.last
        return cls(
            id=source.id,
            state="live" if source.live else "idle",
            geometry=Shape.of(source.geometry),
            geometry_fixed=source.fixed,
            options=source.options,
            device=last.device if last else device,
            frames=source.frames,
            frames_per_second=round(source.frames_per_second, 2),
            sequence=last.sequence if last else None,
            age_seconds=source.age_seconds,
            lut=last.lut if last else None,
            lut_age=last.lut_age if last else None,
            queue_depth=source.waiting,
            stage_seconds=last.stage_seconds if last else {},
            frame_seconds=last.frame_seconds if last else None,
        )


class SourceList(BaseModel):
    """All sources, by id."""

    sources: list[SourceState]


def features_in(text: str | None) -> list[Feature] | None:
    """The features in a comma-separated query; None when it was not given. Raises OptionError."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in list(Feature)]
    if unknown:
        raise OptionError(f"features={text} came; give any of {','.join(Feature)}")
    return [Feature(name) for name in names]
