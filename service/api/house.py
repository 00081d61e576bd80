"""What the routes share: everything the service owns, made when the application starts."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path
from pydantic import BeforeValidator
from starlette.requests import HTTPConnection

from service.engine import Engine
from service.ingest.cameras import Cameras
from service.metrics import Metrics
from service.pictures import Pictures
from service.settings import Settings
from service.slots import SlotRing
from service.source_id import PATTERN, good_id
from service.sources import Sources
from service.trials import Trials
from service.webrtc.peers import Peers


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
