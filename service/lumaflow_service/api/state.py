"""The state that routes share. FastAPI passes it to a route that declares a `State` parameter."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends
from fastapi import Path as PathParam
from pydantic import BeforeValidator
from starlette.requests import HTTPConnection

from lumaflow_service.config.settings import Settings
from lumaflow_service.config.source_id import PATTERN, check_id
from lumaflow_service.control.cameras import Cameras
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.one_shot_images import OneShotImages
from lumaflow_service.control.sources import Sources
from lumaflow_service.control.tracing import Tracing
from lumaflow_service.control.view_cache import ViewCache
from lumaflow_service.ipc.slots import SlotRing
from lumaflow_service.webrtc.peers import WebRtcPeers


@dataclass(frozen=True, slots=True)
class AppState:
    """The parts of a running service.

    clip_to_render : the demo clip if it must be rendered first
    """

    settings: Settings
    metrics: Metrics
    ring: SlotRing
    engine: Engine
    sources: Sources
    views: ViewCache
    peers: WebRtcPeers
    cameras: Cameras
    images: OneShotImages
    tracing: Tracing | None
    clip_to_render: Path | None


async def get_state(connection: HTTPConnection) -> AppState:
    """The state of the application (async, because FastAPI runs a plain function in a thread)."""
    state: AppState = connection.app.state.shared
    return state


State = Annotated[AppState, Depends(get_state)]
SourceId = Annotated[
    str, BeforeValidator(check_id), PathParam(pattern=PATTERN, description="id of the source")
]
