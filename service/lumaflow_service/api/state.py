"""What the routes share: everything the service owns, made when the application starts."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path
from pydantic import BeforeValidator
from starlette.requests import HTTPConnection

from lumaflow_service.config.settings import Settings
from lumaflow_service.config.source_id import PATTERN, good_id
from lumaflow_service.control.cameras import Cameras
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.one_shot_images import OneShotImages
from lumaflow_service.control.sources import Sources
from lumaflow_service.control.view_cache import ViewCache
from lumaflow_service.ipc.slots import SlotRing
from lumaflow_service.webrtc.peers import WebRtcPeers


@dataclass(frozen=True, slots=True)
class AppState:
    """The parts of a running service."""

    settings: Settings
    metrics: Metrics
    ring: SlotRing
    engine: Engine
    sources: Sources
    pictures: ViewCache
    peers: WebRtcPeers
    cameras: Cameras
    trials: OneShotImages


async def get_state(connection: HTTPConnection) -> AppState:
    """The house of the application that serves this (async: a plain function would take a thread)."""
    house: AppState = connection.app.state.house
    return house


State = Annotated[AppState, Depends(get_state)]
SourceId = Annotated[str, BeforeValidator(good_id), Path(pattern=PATTERN, description="id of the source")]
