"""The configuration: what cameras there are, how they are enhanced, and where the results go."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lumaflow_service.config.options import Feature, Features, OptionsPatch, SourceOptions
from lumaflow_service.config.schema import names_at
from lumaflow_service.config.source_id import PATTERN, good_id
from lumaflow_service.config.url_policy import Network, UrlPolicy
from lumaflow_service.config.validation import Place

SourceName = Annotated[str, BeforeValidator(good_id), Field(pattern=PATTERN)]
Encoder = Literal["auto", "libx264", "libx265", "h264_nvenc", "hevc_nvenc", "h264_qsv", "h264_v4l2m2m"]
SERVER = r"^(rtsp|rtsps|rtmp|rtmps|srt)://\S+$"
Transport = Literal["tcp", "udp", "auto"]
Delivery = Literal["live", "lossless"]


class StrictModel(BaseModel):
    """Keys that are not known are refused; nothing changes once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RetentionConfig(StrictModel):
    """Files of an output and how long they stay."""

    path: str = Field(min_length=1, description="folder, seen from the configuration's")
    keep_days: float | None = Field(None, gt=0, description="older files are deleted")
    keep_free_gb: float = Field(1.0, ge=0, description="the oldest files go while less is free on the disk")


class EncoderConfig(StrictModel):
    """How an output encodes."""

    encoder: Encoder = Field("auto", description="auto: the first of hardware and x264 that works here")
    quality: int = Field(23, ge=1, le=51, description="constant quality; less is better")
    audio: bool = Field(True, description="pass the camera's sound on as it is")


class RecordConfig(RetentionConfig, EncoderConfig):
    """Enhanced video in segments that play even after a crash."""

    segment_seconds: float = Field(300, ge=1, le=86_400)
    container: Literal["mp4", "mov", "mkv"] = Field("mp4", description="mov also holds G.711 sound")
    no_signal: bool = Field(False, description="record a 'no signal' picture while the camera is gone")


def _server(came: Any) -> Any:
    """A server's URL; the text of the error does not hold what came, which has no place for its password."""
    if not (isinstance(came, str) and re.match(SERVER, came)):
        raise ValueError("give a server's URL: rtsp:// rtsps:// rtmp:// rtmps:// or srt://, without a blank")
    return came


class PublishConfig(EncoderConfig):
    """Enhanced video to a server: rtsp://, rtsps://, rtmp:// or srt://."""

    url: Annotated[str, BeforeValidator(_server), Field(pattern=SERVER, repr=False)]
    no_signal: bool = Field(True, description="show a 'no signal' picture while the camera is gone")


class SnapshotConfig(RetentionConfig):
    """A JPEG of the enhanced picture every so often."""

    every_seconds: float = Field(60, ge=0.1, le=86_400)


class DescriptorsConfig(RetentionConfig):
    """Descriptors of frames: npz files, or lines of JSON."""

    format: Literal["npz", "jsonl"] = "npz"
    every_seconds: float = Field(0, ge=0, le=86_400, description="0: those of every frame, 2 MB each at 720p")
    features: Features = Field([Feature.HOG, Feature.LBP], min_length=1)


def _publish(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


class OutputConfig(StrictModel):
    """One output, by its kind."""

    record: RecordConfig | None = None
    publish: (
        Annotated[PublishConfig, BeforeValidator(_publish, json_schema_input_type=PublishConfig | str)] | None
    ) = None
    snapshot: SnapshotConfig | None = None
    descriptors: DescriptorsConfig | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "OutputConfig":
        given = self.model_dump(exclude_none=True)
        if len(given) != 1:
            raise ValueError(f"{len(given)} kinds came in one output; start each with a dash of its own")
        return self

    @property
    def kind(self) -> str:
        """record, publish, snapshot or descriptors."""
        return next(iter(self.model_dump(exclude_none=True)))


class CameraConfig(OptionsPatch):
    """A camera: where it is, how it is read and enhanced, and where the results go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, repr=False, description="rtsp:, rtsps:, http:, https:, file: or v4l2:")
    transport: Transport = Field("tcp", description="of RTSP; auto tries tcp, then udp")
    delivery: Delivery = Field("live", description="live: the newest frame wins; lossless: nothing dropped")
    loop: bool = Field(False, description="start files over at their end")
    deinterlace: bool = False
    verify_tls: bool = Field(True, description="refuse a rtsps: or https: server without a good certificate")
    paused: bool = Field(False, description="begin paused")
    outputs: list[OutputConfig] = Field(default_factory=list)

    def options(self, defaults: OptionsPatch) -> SourceOptions:
        """The options of this source: its own over the defaults over ours."""
        wanted = {*SourceOptions.model_fields}
        own = {key: value for key, value in self.changes().items() if key in wanted}
        features = [
            name for output in self.outputs if output.descriptors for name in output.descriptors.features
        ]
        return SourceOptions.model_validate({**defaults.changes(), **own}).with_features(features)

    @property
    def without_options(self) -> dict[str, Any]:
        """All that a camera's process must be restarted for when it changes."""
        return self.model_dump(mode="json", exclude={*SourceOptions.model_fields})


def _networks(value: Any) -> Any:
    for one in value if isinstance(value, list) else []:
        try:
            ip_network(one)
        except ValueError as error:
            raise ValueError(f"{error}; write networks as 192.168.1.0/24") from None
    return value


class Config(StrictModel):
    """A whole configuration file."""

    defaults: OptionsPatch = OptionsPatch()
    networks: Annotated[list[str], BeforeValidator(_networks)] = Field(
        [], description="networks that cameras are in; when given, no other address is opened"
    )
    files: list[str] = Field(["."], description="folders that file: URLs may lie in")
    sources: dict[SourceName, CameraConfig] = {}

    def policy(self, folder: Path) -> UrlPolicy:
        """What this configuration, which lies in `folder`, lets be opened."""
        networks: tuple[Network, ...] = tuple(ip_network(one) for one in self.networks)
        return UrlPolicy(networks, tuple(folder / one for one in self.files))


NO_CAMERAS = Config.model_validate({})


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lumaflow configuration",
        **{key: value for key, value in Config.model_json_schema().items() if key != "title"},
    }


def known_at(place: Place) -> list[str]:
    """The keys that are known at a place of the configuration."""
    return names_at(schema(), place)
