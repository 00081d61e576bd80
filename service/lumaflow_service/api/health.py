"""Routes of health checks and metrics."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.state import State
from lumaflow_service.errors import WorkerUnavailableError

router = APIRouter()


class Health(BaseModel):
    """The body of a successful health check."""

    status: str = "ok"
    device: str = ""


@router.get("/livez")
async def livez() -> Health:
    """Liveness: this process responds."""
    return Health()


@router.get("/readyz", responses=openapi_problems(503))
async def readyz(state: State) -> Health:
    """Readiness: a worker processed a frame within the last 5 s."""
    if not state.engine.ready:
        raise WorkerUnavailableError(state.engine.unavailable_reason)
    return Health(device=state.engine.device)


@router.get("/metrics", response_class=Response, responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}})
async def metrics(state: State) -> Response:
    """All metrics in the Prometheus text format."""
    state.sources.update_gauges()
    state.cameras.observe()
    state.metrics.update_gauges(state.engine.device, state.ring.in_use, state.ring.memory.slots)
    return Response(state.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
