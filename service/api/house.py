"""What the routes share: everything the service owns, made when the application starts."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from service.engine import Engine
from service.ingest.cameras import Cameras
from service.metrics import Metrics
from service.pictures import Pictures
from service.settings import Settings
from service.slots import SlotRing
from service.sources import Sources


@dataclass(frozen=True, slots=True)
class House:
    """The parts of a running service."""

    settings: Settings
    metrics: Metrics
    ring: SlotRing
    engine: Engine
    sources: Sources
    pictures: Pictures
    cameras: Cameras


async def house_of(request: Request) -> House:
    """The house of the application that serves this request (async: a plain function would take a thread)."""
    house: House = request.app.state.house
    return house


Home = Annotated[House, Depends(house_of)]
SourceId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="id of the source")]
