"""Alive, ready, metrics."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from lumaflow_service.api.problems import problems
from lumaflow_service.api.state import State
from lumaflow_service.errors import WorkerUnavailableError

router = APIRouter()


class Health(BaseModel):
    """That all is well, and on which device."""

    status: str = "ok"
    device: str = ""


@router.get("/livez")
async def livez() -> Health:
    """Whether this process answers."""
    return Health()


@router.get("/readyz", responses=problems(503))
async def readyz(home: State) -> Health:
    """Whether a frame really ran through a worker within the last 5 s."""
    if not home.engine.ready:
        raise WorkerUnavailableError(home.engine.pause_words)
    return Health(device=home.engine.device)


@router.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}})
async def metrics(home: State) -> Response:
    """All metrics, for Prometheus."""
    home.sources.observe()
    home.cameras.observe()
    home.metrics.observe(home.engine.device, home.ring.in_use, home.ring.memory.slots)
    return Response(home.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
