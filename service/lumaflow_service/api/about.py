"""GET /v1/about: version, device, limits, and the options of a source."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from lumaflow_service.api.access import Scope
from lumaflow_service.api.state import State
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.config.presets import Preset, preset_values
from lumaflow_service.webrtc.peers import webrtc_installed

router = APIRouter(prefix="/v1")

OPTIONS_SCHEMA = SourceOptions.model_json_schema()


class About(BaseModel):
    """The service: its limits, the default options of a source, and their JSON schema."""

    version: str
    device: str
    max_bytes: int = Field(description="largest body of a frame or an image")
    max_pixels: int
    scopes: list[Scope] = Field(description="scopes of the client's token; all of them without tokens")
    webrtc: bool = Field(description="true if video is available over WebRTC (WHEP)")
    options: SourceOptions
    presets: dict[Preset, dict[str, Any]] = Field(description="the option values that each preset sets")
    options_schema: dict[str, Any]


@router.get("/about")
async def about(state: State, request: Request) -> About:
    """Version, device, limits and options of the service."""
    return About(
        version=version("lumaflow"),
        device=state.engine.device,
        max_bytes=state.settings.slot_bytes,
        max_pixels=state.settings.max_pixels,
        scopes=sorted(request.state.scopes),
        webrtc=webrtc_installed(),
        options=state.sources.options_with({}),
        presets={preset: preset_values(preset) for preset in Preset},
        options_schema=OPTIONS_SCHEMA,
    )
