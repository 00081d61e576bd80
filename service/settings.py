"""What an operator can set, read once at the start from LUMAFLOW_* variables and the command line."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MEBIBYTE = 1 << 20


class Settings(BaseSettings):
    """All settings of `lumaflow serve`; arguments win over the environment."""

    model_config = SettingsConfigDict(env_prefix="LUMAFLOW_", extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N")
    config: Path | None = Field(None, description="YAML file of cameras; read again on SIGHUP")
    demo: bool = Field(False, description="add the looping sample source `demo`")

    otlp: str = Field(
        "", description="OTLP/HTTP address that a span a frame goes to, as http://127.0.0.1:4318/v1/traces"
    )

    slots: int = Field(8, ge=4, le=256, description="frames that can be inside the service at once")
    slot_bytes: int = Field(
        64 * MEBIBYTE, ge=MEBIBYTE, le=1 << 30, description="room of each buffer of a slot; the largest body"
    )
    max_pixels: int = Field(16_777_216, ge=1, description="largest frame, in pixels")
    body_seconds: float = Field(10.0, gt=0, description="time a body may take to arrive")
    queue_depth: int = Field(4, ge=1, le=64, description="frames of one source that may wait")
    max_sources: int = Field(256, ge=1, description="sources kept; idle ones made by a frame give way")
    max_viewers: int = Field(64, ge=1, description="live viewers at once")
    max_lanes: int = Field(64, ge=1, description="lanes the worker keeps open; the least recent gives way")
    lane_idle_seconds: float = Field(300.0, gt=0, description="a lane unused for so long is closed")
    jpeg_quality: int = Field(90, ge=1, le=100, description="quality of JPEG answers")

    start_seconds: float = Field(300.0, gt=0, description="time a worker may take to become ready")
    heartbeat_seconds: float = Field(2.0, gt=0, description="silence after which a worker counts as stuck")
    job_seconds: float = Field(60.0, gt=0, description="time one job may take before the worker is stuck")
