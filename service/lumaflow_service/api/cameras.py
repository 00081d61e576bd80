"""Cameras: pause, resume, restart; read the configuration again."""

from fastapi import APIRouter

from lumaflow_service.api.problems import problems
from lumaflow_service.api.source_state import SourceState
from lumaflow_service.api.sources import state_of
from lumaflow_service.api.state import SourceId, State

router = APIRouter(prefix="/v1")


@router.post("/sources/{source}/pause", responses=problems(404, 422))
async def pause(home: State, source: SourceId) -> SourceState:
    """Let go of a camera until it is resumed; its outputs are finished."""
    await home.cameras.pause(source)
    return state_of(home, home.sources.get(source))


@router.post("/sources/{source}/resume", responses=problems(404, 422))
async def resume(home: State, source: SourceId) -> SourceState:
    """Read a paused camera again."""
    await home.cameras.resume(source)
    return state_of(home, home.sources.get(source))


@router.post("/sources/{source}/restart", responses=problems(404, 422))
async def restart(home: State, source: SourceId) -> SourceState:
    """Let go of a camera and connect to it anew."""
    await home.cameras.restart(source)
    return state_of(home, home.sources.get(source))


@router.post("/config/reload", status_code=204, responses=problems(409, 422))
async def reload(home: State) -> None:
    """Read the configuration file again; only what changed in it restarts, and a bad file changes nothing."""
    await home.cameras.reload()
