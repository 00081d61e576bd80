"""What an operator can set, read once at the start from LUMAFLOW_* variables and the command line."""

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from lumaflow_service.config.validation import format_validation_error

MEBIBYTE = 1 << 20
SECRETS = Path("/run/secrets")
"""Where Docker lays secrets: a file `lumaflow_admin_token` there is LUMAFLOW_ADMIN_TOKEN."""
PREFIX = "LUMAFLOW_"
NEAR = 0.85
"""How alike a variable must be to one of ours; others may be a configuration's, as LUMAFLOW_GATE_PASSWORD."""
GOOD_TOKEN = re.compile(r"[!-~]{16,512}")


def good_token(token: SecretStr) -> SecretStr:
    """A token that is hard to guess and fits into a header. The text of the error does not hold it."""
    if not GOOD_TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError("a token has 16 to 512 letters, digits and signs; `openssl rand -hex 24` makes one")
    return token


Token = Annotated[SecretStr, AfterValidator(good_token)]


def split_names(came: object) -> object:
    """Names with commas between them, as a variable holds them."""
    return [name.strip() for name in came.split(",") if name.strip()] if isinstance(came, str) else came


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_names)]


class Settings(BaseSettings):
    """All settings of `lumaflow serve`; arguments win over the environment, and it wins over secrets."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, secrets_dir=SECRETS if SECRETS.is_dir() else None
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    device: str = Field("auto", description="auto, cpu, cuda or cuda:N")
    config: Path | None = Field(None, description="YAML file of cameras; read again on SIGHUP")
    demo: bool = Field(False, description="add the looping sample source `demo`")

    ingest_token: Token | None = Field(None, description="token of those who send frames")
    read_token: Token | None = Field(None, description="token of those who look, Prometheus among them")
    admin_token: Token | None = Field(None, description="token of those who may do everything")
    hosts: Names = Field((), description="names the service is asked for by, besides loopback's: a,b")

    otlp: str = Field(
        "", description="OTLP/HTTP address that a span a frame goes to, as http://127.0.0.1:4318/v1/traces"
    )

    slots: int = Field(8, ge=4, le=256, description="frames that can be inside the service at once")
    slot_bytes: int = Field(
        64 * MEBIBYTE, ge=MEBIBYTE, le=1 << 30, description="room of each buffer of a slot; the largest body"
    )
    max_pixels: int = Field(16_777_216, ge=1, description="largest frame, in pixels")
    head_seconds: float = Field(5.0, gt=0, description="time the head of a request may take to arrive")
    body_seconds: float = Field(10.0, gt=0, description="time a body may take to arrive")
    stall_seconds: float = Field(30.0, gt=0, description="time a client may take nothing of an answer")
    queue_depth: int = Field(4, ge=1, le=64, description="frames of one source that may wait")
    max_sources: int = Field(256, ge=1, description="sources kept; idle ones made by a frame give way")
    max_viewers: int = Field(64, ge=1, description="live viewers at once")
    max_lanes: int = Field(64, ge=1, description="lanes the worker keeps open; the least recent gives way")
    lane_idle_seconds: float = Field(300.0, gt=0, description="a lane unused for so long is closed")
    worker_bytes: int = Field(
        16 << 30,
        ge=1 << 30,
        description="address space a worker on the CPU may take beyond its start; a lane of 4K takes 0.18 GB",
    )
    jpeg_quality: int = Field(90, ge=1, le=100, description="quality of JPEG answers")
    view_quality: int = Field(80, ge=1, le=100, description="quality of live pictures and snapshots")

    start_seconds: float = Field(300.0, gt=0, description="time a worker may take to become ready")
    heartbeat_seconds: float = Field(2.0, gt=0, description="silence after which a worker counts as stuck")
    job_seconds: float = Field(60.0, gt=0, description="time one job may take before the worker is stuck")

    @property
    def tokens(self) -> dict[str, str]:
        """The tokens there are, by what they are for."""
        given = {"ingest": self.ingest_token, "read": self.read_token, "admin": self.admin_token}
        return {name: token.get_secret_value() for name, token in given.items() if token}


def unknown(environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable that looks like a setting misspelt, which would change nothing."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    for name in environment:
        near = get_close_matches(name, known, n=1, cutoff=NEAR) if name.startswith(PREFIX) else []
        if near and name not in known:
            yield f"{name} is no setting and changes nothing; did you mean {near[0]}?"


def explained(error: ValidationError, given: Collection[str]) -> str:
    """Every mistake of settings, under the name it was given by: that of an argument, or of a variable."""
    named = (
        {**one, "loc": (f"--{name}" if (name := str(one["loc"][0])) in given else f"{PREFIX}{name.upper()}",)}
        for one in error.errors()
    )
    return "; ".join(format_validation_error(one, "the settings") for one in named)
