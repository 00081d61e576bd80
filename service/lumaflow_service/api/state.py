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
from lumaflow_service.control.one_shot_images import Trials
from lumaflow_service.control.sources import Sources
from lumaflow_service.control.view_cache import Pictures
from lumaflow_service.ipc.slots import SlotRing
from lumaflow_service.webrtc.peers import Peers


@dataclass(frozen=True, slots=True)
class House:
    """The parts of a running service."""

    settings: Settings
    metrics: Metrics
    ring: SlotRing
    engine: Engine
    sources: Sources
    pictures: Pictures
    peers: Peers
    cameras: Cameras
    trials: Trials


async def house_of(connection: HTTPConnection) -> House:
    """The house of the application that serves this (async: a plain function would take a thread)."""
    house: House = connection.app.state.house
    return house


Home = Annotated[House, Depends(house_of)]
SourceId = Annotated[str, BeforeValidator(good_id), Path(pattern=PATTERN, description="id of the source")]
