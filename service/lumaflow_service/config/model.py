"""The data model of the configuration file: cameras, their options, and their outputs."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lumaflow_service.config.options import Feature, Features, OptionsPatch, SourceOptions
from lumaflow_service.config.presets import Preset, expand_preset, merge_options
from lumaflow_service.config.schema import keys_at
from lumaflow_service.config.source_id import PATTERN, check_id
from lumaflow_service.config.url_policy import Network, UrlPolicy
from lumaflow_service.config.validation import Location

SourceName = Annotated[str, BeforeValidator(check_id), Field(pattern=PATTERN)]
Encoder = Literal["auto", "libx264", "libx265", "h264_nvenc", "hevc_nvenc", "h264_qsv", "h264_v4l2m2m"]
PUBLISH_URL = r"^(rtsp|rtsps|rtmp|rtmps|srt)://\S+$"
Transport = Literal["tcp", "udp", "auto"]
Delivery = Literal["live", "lossless"]


class StrictModel(BaseModel):
    """An immutable model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RetentionConfig(StrictModel):
    """The folder of an output's files, and how long they are kept."""

    path: str = Field(min_length=1, description="folder, relative to the configuration file")
    keep_days: float | None = Field(None, gt=0, description="older files are deleted")
    keep_free_gb: float = Field(
        1.0, ge=0, description="with less free disk space the oldest files are deleted"
    )


class EncoderConfig(StrictModel):
    """Encoder settings of an output."""

    encoder: Encoder = Field(
        "auto", description="auto: the first that works, hardware encoders before libx264"
    )
    quality: int = Field(23, ge=1, le=51, description="constant quality; lower is better")
    audio: bool = Field(True, description="copy the camera's audio without re-encoding")


class RecordConfig(RetentionConfig, EncoderConfig):
    """Enhanced video in segments; a segment stays playable after a crash."""

    segment_seconds: float = Field(300, ge=1, le=86_400, description="length of one file")
    container: Literal["mp4", "mov", "mkv"] = Field("mp4", description="mov also stores G.711 audio")
    no_signal: bool = Field(False, description="record a 'no signal' image while the camera is disconnected")


def _check_publish_url(value: Any) -> Any:
    """Return a valid URL unchanged. The error text omits the value: it may contain a password."""
    if not (isinstance(value, str) and re.match(PUBLISH_URL, value)):
        raise ValueError(
            "expected a URL of rtsp:// rtsps:// rtmp:// rtmps:// or srt:// without spaces, got another value"
        )
    return value


class PublishConfig(EncoderConfig):
    """Enhanced video to a server: rtsp://, rtsps://, rtmp://, rtmps:// or srt://."""

    url: Annotated[
        str,
        BeforeValidator(_check_publish_url),
        Field(pattern=PUBLISH_URL, repr=False, description="rtsp:, rtsps:, rtmp:, rtmps: or srt:"),
    ]
    no_signal: bool = Field(True, description="publish a 'no signal' image while the camera is disconnected")


class SnapshotConfig(RetentionConfig):
    """A JPEG of the enhanced frame at an interval."""

    every_seconds: float = Field(60, ge=0.1, le=86_400, description="interval between two files")


class DescriptorsConfig(RetentionConfig):
    """Descriptors of frames, as npz files or JSON lines."""

    format: Literal["npz", "jsonl"] = Field("npz", description="numpy files, or JSON lines")
    every_seconds: float = Field(0, ge=0, le=86_400, description="0: every frame, 2 MB each at 720p")
    features: Features = Field([Feature.HOG, Feature.LBP], min_length=1, description="which to write")


def _expand_publish(value: Any) -> Any:
    """`publish: URL` is short for `publish: {url: URL}`."""
    return {"url": value} if isinstance(value, str) else value


class OutputConfig(StrictModel):
    """One output: exactly one of its fields is set."""

    record: RecordConfig | None = None
    publish: (
        Annotated[PublishConfig, BeforeValidator(_expand_publish, json_schema_input_type=PublishConfig | str)]
        | None
    ) = None
    snapshot: SnapshotConfig | None = None
    descriptors: DescriptorsConfig | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "OutputConfig":
        kinds = self.model_dump(exclude_none=True)
        if len(kinds) != 1:
            raise ValueError(
                f"expected one kind in an output, got {len(kinds)}; start each with its own dash"
            )
        return self

    @property
    def kind(self) -> str:
        """The name of the field that is set: record, publish, snapshot or descriptors."""
        return next(iter(self.model_dump(exclude_none=True)))


class CameraConfig(OptionsPatch):
    """A camera: its URL, its options, and its outputs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, repr=False, description="rtsp:, rtsps:, http:, https:, file: or v4l2:")
    transport: Transport = Field("tcp", description="of RTSP; auto tries tcp, then udp")
    delivery: Delivery = Field(
        "live", description="live: only the newest frame is kept; lossless: no frame is dropped"
    )
    loop: bool = Field(False, description="repeat files")
    deinterlace: bool = Field(False, description="deinterlace the decoded frames")
    verify_tls: bool = Field(
        True, description="reject an rtsps: or https: server whose certificate is not trusted"
    )
    paused: bool = Field(False, description="start paused")
    outputs: list[OutputConfig] = Field(default_factory=list, description="where enhanced frames go")

    def options(self, defaults: OptionsPatch) -> SourceOptions:
        """The options of the source: those of the camera, then `defaults`, then the built-in values."""
        own = {key: value for key, value in self.changes().items() if key in SourceOptions.model_fields}
        features = [
            feature
            for output in self.outputs
            if output.descriptors
            for feature in output.descriptors.features
        ]
        return SourceOptions.model_validate(merge_options(defaults.changes(), own)).with_features(features)

    @property
    def without_options(self) -> dict[str, Any]:
        """The fields that need a restart of the camera process when they change."""
        fields: dict[str, Any] = self.model_dump(mode="json", exclude={*SourceOptions.model_fields})
        return fields


def _check_networks(value: Any) -> Any:
    for network in value if isinstance(value, list) else []:
        try:
            ip_network(network)
        except ValueError as error:
            raise ValueError(f"expected networks such as 192.168.1.0/24, got {error}") from None
    return value


class Config(StrictModel):
    """A configuration file."""

    defaults: OptionsPatch = Field(OptionsPatch(), description="options of every source that sets no other")
    networks: Annotated[list[str], BeforeValidator(_check_networks)] = Field(
        [], description="allowed networks of cameras; if set, no other address is opened"
    )
    files: list[str] = Field(["."], description="folders that file: URLs may refer to")
    sources: dict[SourceName, CameraConfig] = Field({}, description="the cameras, by source id")

    def with_preset(self, preset: Preset) -> "Config":
        """A copy whose `defaults` have this preset."""
        changes = {**self.defaults.changes(), **expand_preset({"preset": preset})}
        return self.model_copy(update={"defaults": OptionsPatch.model_validate(changes)})

    def policy(self, folder: Path) -> UrlPolicy:
        """The URLs that this configuration, a file in `folder`, allows."""
        networks: tuple[Network, ...] = tuple(map(ip_network, self.networks))
        return UrlPolicy(networks, tuple(folder / path for path in self.files))


NO_CAMERAS = Config.model_validate({})


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lumaflow configuration",
        **{key: value for key, value in Config.model_json_schema().items() if key != "title"},
    }


def known_keys(location: Location) -> list[str]:
    """The keys at a location of the configuration."""
    return keys_at(schema(), location)
