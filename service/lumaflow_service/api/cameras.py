"""Routes of cameras: pause, resume, restart, and reload of the configuration."""

from fastapi import APIRouter

from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.responses import SourceState
from lumaflow_service.api.sources import source_state
from lumaflow_service.api.state import SourceId, State

router = APIRouter(prefix="/v1")


@router.post("/sources/{source}/pause", responses=openapi_problems(404, 422))
async def pause(state: State, source: SourceId) -> SourceState:
    """Disconnect a camera and finish its outputs until it is resumed."""
    await state.cameras.pause(source)
    return source_state(state, state.sources.get(source))


@router.post("/sources/{source}/resume", responses=openapi_problems(404, 422))
async def resume(state: State, source: SourceId) -> SourceState:
    """Connect a paused camera."""
    await state.cameras.resume(source)
    return source_state(state, state.sources.get(source))


@router.post("/sources/{source}/restart", responses=openapi_problems(404, 422))
async def restart(state: State, source: SourceId) -> SourceState:
    """Disconnect a camera and connect it again."""
    await state.cameras.restart(source)
    return source_state(state, state.sources.get(source))


@router.post("/config/reload", status_code=204, responses=openapi_problems(409, 422))
async def reload(state: State) -> None:
    """Reload the configuration file. Only changed cameras restart; an invalid file changes nothing."""
    await state.cameras.reload()
