"""What the routes take and give as JSON."""

from dataclasses import fields
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipeline.errors import OptionError
from pipeline.formats import Alignment, Matrix, PixelFormat, Range
from pipeline.geometry import MAX_SIDE_PX, Geometry
from pipeline.stage import Stage
from service.doorbell import Levels, Reply, Size, geometry_of
from service.ingest.config import CameraConfig, Delivery, Transport
from service.ingest.standing import Standing
from service.options import Feature, OptionsPatch, SourceOptions
from service.sources import Source


class Shape(BaseModel):
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


class FixedShape(Shape):
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


class SourcePut(BaseModel):
    """A source to be made or set anew; with a geometry, no other frame is taken."""

    model_config = ConfigDict(extra="forbid")

    options: SourceOptions = SourceOptions()
    geometry: FixedShape | None = None
    url: str | None = Field(None, min_length=1, max_length=2048, description="of a camera to be read")
    transport: Transport | None = None
    delivery: Delivery | None = None
    deinterlace: bool | None = None
    verify_tls: bool | None = None

    def camera(self) -> CameraConfig | None:
        """The camera this makes the source, None without a url. Raises OptionError."""
        if self.url is None:
            if camera_fields(self):
                raise OptionError(f"{', '.join(camera_fields(self))} came without a url; add the camera's")
            return None
        return CameraConfig(**camera_fields(self))


class SourcePatch(BaseModel):
    """What is to change; a geometry of null lets any frame in again."""

    model_config = ConfigDict(extra="forbid")

    options: OptionsPatch = OptionsPatch()
    geometry: FixedShape | None = None
    url: str | None = Field(None, min_length=1, max_length=2048, description="of a camera to be read instead")
    transport: Transport | None = None
    delivery: Delivery | None = None
    deinterlace: bool | None = None
    verify_tls: bool | None = None

    def camera_changes(self) -> dict[str, Any]:
        """What is to change at the camera."""
        return camera_fields(self)


def camera_fields(body: BaseModel) -> dict[str, Any]:
    """The fields of a body that belong to a camera, as far as they were given."""
    return body.model_dump(
        include={"url", "transport", "delivery", "deinterlace", "verify_tls"}, exclude_none=True
    )


class OutputState(BaseModel):
    """How an output of a camera stands."""

    name: str
    state: Literal["starting", "working", "waiting"]
    why: str
    written: int
    dropped: int


class CameraState(BaseModel):
    """How a camera stands; the URL is told without credentials. The times are those of its newest frame."""

    url: str
    state: Literal["connecting", "live", "waiting", "paused", "ended"]
    cause: Literal[
        "",
        "refused",
        "timeout",
        "auth",
        "not_found",
        "tls",
        "codec",
        "stalled",
        "frozen",
        "eof",
        "corrupt",
    ]
    why: str
    codec: str
    epoch: int
    corrupt: int
    restamped: int
    reconnects: int
    pts_seconds: float | None
    captured_at: float | None
    outputs: list[OutputState]

    @classmethod
    def of(cls, url: str, standing: Standing) -> Self:
        """How a supervisor's camera stands now."""
        last = standing.last
        known = {field.name: getattr(standing, field.name) for field in fields(standing)}
        seconds = None
        if last and last.pts is not None and last.time_base:
            seconds = last.pts * last.time_base[0] / last.time_base[1]
        return cls(
            **{name: value for name, value in known.items() if name in cls.model_fields},
            url=url,
            why=standing.text,
            pts_seconds=seconds,
            captured_at=last.wall if last else None,
        )


class Figures(BaseModel):
    """The figures of one frame."""

    sequence: int
    lut: str
    lut_age: int
    device: str
    geometry: Shape | None
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
            geometry=Shape.of(reply.geometry, reply.levels),
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


class StageLatency(BaseModel):
    """The median and the 99th percentile of a stage over the last minute, in seconds, within 5 %."""

    p50: float
    p99: float


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
    stage_latency: dict[str, StageLatency]
    frame_seconds: float | None
    camera: CameraState | None

    @classmethod
    def of(cls, source: Source, device: str, camera: CameraState | None = None) -> Self:
        """How a source stands now."""
        last = source.last
        return cls(
            id=source.id,
            state="live" if source.live else "idle",
            geometry=Shape.of(source.geometry, source.levels),
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
            stage_latency=latency_of(source),
            frame_seconds=last.frame_seconds if last else None,
            camera=camera,
        )


def latency_of(source: Source) -> dict[str, StageLatency]:
    """The latency of each stage that frames passed in the last minute, in their order."""
    took = source.latency.percentiles()
    return {stage: StageLatency(p50=took[stage].p50, p99=took[stage].p99) for stage in Stage if stage in took}


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
