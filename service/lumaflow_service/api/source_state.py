"""How sources and their cameras stand, as JSON."""

from dataclasses import fields
from typing import Literal, Self

from pydantic import BaseModel

from lumaflow.stage import Stage
from lumaflow_service.api.frame_format import FrameFormat
from lumaflow_service.config.options import Feature, SourceOptions
from lumaflow_service.control.camera_status import CameraStatus
from lumaflow_service.control.sources import Source


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
    def of(cls, url: str, standing: CameraStatus) -> Self:
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


class StageLatency(BaseModel):
    """The median and the 99th percentile of a stage over the last minute, in seconds, within 5 %."""

    p50: float
    p99: float


class SourceState(BaseModel):
    """A source: its options, and the figures of its last frame (null before the first).

    `picture` says whether that can still be looked at, `extracted` which features it has.
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
    queue_depth: int
    stage_seconds: dict[str, float]
    stage_latency: dict[str, StageLatency]
    frame_seconds: float | None
    camera: CameraState | None

    @classmethod
    def of(cls, source: Source, device: str, picture: bool, camera: CameraState | None) -> Self:
        """How a source stands now."""
        last = source.last
        return cls(
            id=source.id,
            state="live" if source.live else "idle",
            geometry=FrameFormat.of(source.geometry),
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
