"""JSON responses: the result of a frame, histograms, the state of sources and cameras."""

from dataclasses import asdict, fields
from typing import Literal, Self

from pydantic import BaseModel, Field

from lumaflow.frame import Tone
from lumaflow.stage import Stage
from lumaflow_service.api.requests import FrameFormat
from lumaflow_service.config.options import Feature, SourceOptions
from lumaflow_service.control.camera_status import CameraStatus
from lumaflow_service.control.sources import Source
from lumaflow_service.ipc.messages import Reply


class ToneState(BaseModel):
    """The effect of the modes auto, lowlight and dehaze on a frame, with 8-bit levels."""

    mode: Tone = Field(description="the main effect")
    strength: float = Field(description="of the main effect, 0 to 1")
    gain: float = Field(description="of dark levels; 1: unchanged")
    noise: float = Field(description="standard deviation of the noise in dark areas")
    black: float = Field(description="level that is mapped to black")
    white: float = Field(description="level that is mapped to white")
    haze: float = Field(description="strength of the haze removal, 0 to 1")
    cut: bool = Field(description="true if a scene cut precedes the frame, or no frame does")
    denoised: bool = Field(description="true if the noise filters changed the frame")
    reason: str

    @classmethod
    def from_reply(cls, reply: Reply) -> Self | None:
        """The tone in a reply of the worker; None in other modes."""
        if reply.tone is None:
            return None
        figures = asdict(reply.tone).items()
        return cls.model_validate(
            {name: round(value, 4) if isinstance(value, float) else value for name, value in figures}
        )


class FrameResult(BaseModel):
    """The result of one frame: which LUT was applied, on which device, and the time of each stage."""

    sequence: int
    lut: str
    lut_age: int
    device: str
    geometry: FrameFormat | None
    clamped: int = Field(description="values beyond the depth, each set to the highest level")
    tone: ToneState | None = Field(description="null in the other modes")
    stage_seconds: dict[str, float]
    frame_seconds: float

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """The result in a reply of the worker."""
        return cls(
            sequence=reply.sequence,
            lut=reply.lut,
            lut_age=reply.lut_age,
            device=reply.device,
            geometry=FrameFormat.from_json(reply.geometry),
            clamped=reply.clamped,
            tone=ToneState.from_reply(reply),
            stage_seconds=reply.stage_seconds,
            frame_seconds=reply.frame_seconds,
        )


class Histograms(BaseModel):
    """Counts of 256 grey levels before and after, and the mapping (the mean over all tiles).

    Samples of more than 8 bits are counted by their upper 8 bits.
    """

    sequence: int
    lut: str
    before: list[int]
    after: list[int]
    mapping: list[float]


class OutputState(BaseModel):
    """The state of one output of a camera."""

    name: str
    state: Literal["starting", "working", "waiting"]
    why: str
    written: int
    dropped: int


class CameraState(BaseModel):
    """The state of a camera. The URL has no credentials. Times are those of the newest frame."""

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
    def from_status(cls, url: str, status: CameraStatus) -> Self:
        """The state of a supervised camera."""
        last = status.last
        known = {field.name: getattr(status, field.name) for field in fields(status)}
        pts_seconds = None
        if last and last.pts is not None and last.time_base:
            pts_seconds = last.pts * last.time_base[0] / last.time_base[1]
        return cls(
            **{name: value for name, value in known.items() if name in cls.model_fields},
            url=url,
            why=status.text,
            pts_seconds=pts_seconds,
            captured_at=last.wall if last else None,
        )


class StageLatency(BaseModel):
    """The median and the 99th percentile of a stage over the last minute, in seconds, within 5 %."""

    p50: float
    p99: float


class SourceState(BaseModel):
    """A source: its options, and the result of its last frame (null before the first).

    `picture` is true while the last frame can be viewed. `extracted` lists the features of that frame.
    """

    id: str
    state: Literal["live", "idle"]
    geometry: FrameFormat | None
    geometry_fixed: bool
    options: SourceOptions
    device: str
    frames: int
    frames_per_second: float
    sequence: int | None
    age_seconds: float | None
    picture: bool
    extracted: list[Feature]
    lut: str | None
    lut_age: int | None
    tone: ToneState | None
    queue_depth: int
    stage_seconds: dict[str, float]
    stage_latency: dict[str, StageLatency]
    frame_seconds: float | None
    camera: CameraState | None

    @classmethod
    def from_source(cls, source: Source, device: str, picture: bool, camera: CameraState | None) -> Self:
        """The current state of a source."""
        last = source.last_reply
        return cls(
            id=source.id,
            state="live" if source.live else "idle",
            geometry=FrameFormat.from_json(source.geometry),
            geometry_fixed=source.fixed,
            options=source.options,
            device=last.device if last else device,
            frames=source.frames,
            frames_per_second=round(source.frames_per_second, 2),
            sequence=last.sequence if last else None,
            age_seconds=source.age_seconds,
            picture=picture,
            extracted=source.extracted,
            lut=last.lut if last else None,
            lut_age=last.lut_age if last else None,
            tone=ToneState.from_reply(last) if last else None,
            queue_depth=source.queued,
            stage_seconds=last.stage_seconds if last else {},
            stage_latency=stage_latency(source),
            frame_seconds=last.frame_seconds if last else None,
            camera=camera,
        )


def stage_latency(source: Source) -> dict[str, StageLatency]:
    """The latency of each stage that ran in the last minute, in pipeline order."""
    latency = source.latency.percentiles()
    return {
        stage: StageLatency(p50=latency[stage].p50, p99=latency[stage].p99)
        for stage in Stage
        if stage in latency
    }


class SourceList(BaseModel):
    """All sources, by id."""

    sources: list[SourceState]
