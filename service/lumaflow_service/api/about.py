"""What a client may want to know first: version, device, limits, and the options there are."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from lumaflow_service.api.access import Scope
from lumaflow_service.api.state import State
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.webrtc.peers import available

router = APIRouter(prefix="/v1")

SCHEMA = SourceOptions.model_json_schema()


class About(BaseModel):
    """The service: its limits, the options of a new source, and their JSON schema."""

    version: str
    device: str
    max_bytes: int = Field(description="largest body of a frame or an image")
    max_pixels: int
    scopes: list[Scope] = Field(description="what whoever asks this may do: send frames, look, do everything")
    webrtc: bool = Field(description="whether pictures can be had by WebRTC (WHEP)")
    options: SourceOptions
    options_schema: dict[str, Any]


@router.get("/about")
async def about(home: State, request: Request) -> About:
    """The service."""
    return About(
        version=version("lumaflow"),
        device=home.engine.device,
        max_bytes=home.settings.slot_bytes,
        max_pixels=home.settings.max_pixels,
        scopes=sorted(request.state.scopes),
        webrtc=available(),
        options=SourceOptions(),
        options_schema=SCHEMA,
    )
