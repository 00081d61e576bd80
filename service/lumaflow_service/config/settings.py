"""Settings of the service, read once at startup from LUMAFLOW_* variables and the command line."""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from lumaflow_service.config.presets import Preset
from lumaflow_service.config.validation import format_validation_error

MEBIBYTE = 1 << 20
SECRETS_DIR = Path("/run/secrets")
"""The folder of Docker secrets: its file `lumaflow_admin_token` sets LUMAFLOW_ADMIN_TOKEN."""
PREFIX = "LUMAFLOW_"
NAME_SIMILARITY = 0.85
"""Minimum similarity (difflib) of an unknown variable to a setting for a warning. Other variables may belong
to the configuration file, for example LUMAFLOW_GATE_PASSWORD."""
TOKEN_PATTERN = re.compile(r"[!-~]{16,512}")


def check_token(token: SecretStr) -> SecretStr:
    """Return a valid token unchanged. The error text omits the token."""
    if not TOKEN_PATTERN.fullmatch(token.get_secret_value()):
        raise ValueError(
            "expected 16 to 512 printable ASCII characters without spaces, got another value; create a token"
            " with `openssl rand -hex 24`"
        )
    return token


Token = Annotated[SecretStr, AfterValidator(check_token)]


def split_names(value: object) -> object:
    """The names in a comma-separated string; another value unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_names)]


class Settings(BaseSettings):
    """The settings of `lumaflow serve`. Arguments override the environment, which overrides secrets."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="forbid",
        frozen=True,
        secrets_dir=SECRETS_DIR if SECRETS_DIR.is_dir() else None,
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 selects a free one")
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N")
    config: Path | None = Field(None, description="YAML file of cameras; reloaded on SIGHUP")
    preset: Preset | None = Field(
        None,
        description="preset of all sources that set no mode and no preset; overrides `defaults` of the file",
    )
    demo: bool = Field(False, description="add the looping demo source `demo`")

    ingest_token: Token | None = Field(None, description="token that allows sending frames")
    read_token: Token | None = Field(
        None, description="token that allows reading, for viewers and Prometheus"
    )
    admin_token: Token | None = Field(None, description="token that allows everything")
    hosts: Names = Field((), description="accepted host names besides loopback, separated by commas")

    otlp: str = Field(
        "", description="OTLP/HTTP endpoint for one span a frame, such as http://127.0.0.1:4318/v1/traces"
    )

    slots: int = Field(8, ge=4, le=256, description="frames in the service at the same time")
    slot_bytes: int = Field(
        64 * MEBIBYTE, ge=MEBIBYTE, le=1 << 30, description="size of each buffer of a slot; the largest body"
    )
    max_pixels: int = Field(16_777_216, ge=1, description="largest frame, in pixels")
    head_seconds: float = Field(5.0, gt=0, description="max seconds for the head of a request to arrive")
    body_seconds: float = Field(10.0, gt=0, description="max seconds for a body to arrive")
    stall_seconds: float = Field(
        30.0, gt=0, description="max seconds without the client reading any response byte"
    )
    queue_depth: int = Field(4, ge=1, le=64, description="frames of one source that may be queued")
    max_sources: int = Field(256, ge=1, description="max sources; an idle one created by a frame is evicted")
    max_viewers: int = Field(64, ge=1, description="max live viewers at the same time")
    max_lanes: int = Field(64, ge=1, description="max open lanes; the least recently used is closed")
    lane_idle_seconds: float = Field(300.0, gt=0, description="seconds after which an unused lane is closed")
    worker_bytes: int = Field(
        16 << 30,
        ge=1 << 30,
        description="address space that a CPU worker may allocate after its start; a 4K lane needs 0.18 GB",
    )
    jpeg_quality: int = Field(90, ge=1, le=100, description="quality of JPEG responses")
    view_quality: int = Field(80, ge=1, le=100, description="quality of live views and snapshots")

    start_seconds: float = Field(300.0, gt=0, description="max seconds for a worker to become ready")
    heartbeat_seconds: float = Field(
        2.0, gt=0, description="seconds without a heartbeat after which a worker is killed"
    )
    job_seconds: float = Field(60.0, gt=0, description="max seconds of one job before the worker is killed")

    @property
    def tokens(self) -> dict[str, str]:
        """The configured tokens by scope."""
        tokens = {"ingest": self.ingest_token, "read": self.read_token, "admin": self.admin_token}
        return {scope: token.get_secret_value() for scope, token in tokens.items() if token}


def misspelled_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """A warning for each variable whose name resembles a setting, and which has no effect."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    for name in environment:
        if name in known or not name.startswith(PREFIX):
            continue
        for similar in get_close_matches(name, known, n=1, cutoff=NAME_SIMILARITY):
            yield f"unknown setting {name} is ignored; did you mean {similar}?"


def format_settings_error(error: ValidationError, arguments: Collection[str]) -> str:
    """All errors of settings, each under the name of its command-line argument or variable."""

    def name_of(field: str) -> str:
        return f"--{field}" if field in arguments else f"{PREFIX}{field.upper()}"

    renamed = ({**one, "loc": (name_of(str(one["loc"][0])),)} for one in error.errors())
    return "; ".join(format_validation_error(one, "settings") for one in renamed)
