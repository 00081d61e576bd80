"""Routes of sources: list, create, read, change, delete."""

from fastapi import APIRouter, Response

from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.requests import SourcePatch, SourcePut
from lumaflow_service.api.responses import CameraState, SourceList, SourceState
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.control.sources import Source

router = APIRouter(prefix="/v1/sources")


@router.get("")
async def list_sources(state: State) -> SourceList:
    """All sources."""
    return SourceList(sources=[source_state(state, source) for source in state.sources])


@router.put(
    "/{source}",
    responses={201: {"description": "Created", "model": SourceState}, **openapi_problems(413, 422, 429)},
)
async def put_source(state: State, source: SourceId, body: SourcePut, response: Response) -> SourceState:
    """Create or replace a source; it stays until it is deleted. With a url it is a camera."""
    is_new = all(existing.id != source for existing in state.sources)
    camera, options = body.camera(), state.sources.options_with(body.options.model_dump(exclude_unset=True))
    if camera:
        await state.cameras.put(source, camera, options)
    else:
        if state.cameras.find(source):
            await state.cameras.remove(source)
        state.sources.put(source, options, body.geometry.to_json() if body.geometry else None)
    if is_new:
        response.status_code = 201
    return source_state(state, state.sources.get(source))


@router.get("/{source}", responses=openapi_problems(404, 422))
async def get_source(state: State, source: SourceId) -> SourceState:
    """One source."""
    return source_state(state, state.sources.get(source))


@router.patch("/{source}", responses=openapi_problems(404, 413, 422))
async def patch_source(state: State, source: SourceId, body: SourcePatch) -> SourceState:
    """Change the given options. The next frame uses its own LUT."""
    found = state.sources.get(source)
    changes = body.camera_fields()
    if changes:
        await state.cameras.change(source, changes)
    found.options = found.options.changed(body.options.changes())
    if "geometry" in body.model_fields_set:
        found.fix_geometry(body.geometry.to_json() if body.geometry else None)
    return source_state(state, found)


@router.delete("/{source}", status_code=204, responses=openapi_problems(404, 422))
async def delete_source(state: State, source: SourceId) -> None:
    """Delete a source, its camera, its LUT and its last frame."""
    if state.cameras.find(source):
        await state.cameras.remove(source)
    state.sources.remove(source)


def source_state(state: AppState, source: Source) -> SourceState:
    """The current state of a source and of its camera, if it has one."""
    supervisor = state.cameras.find(source.id)
    camera = CameraState.from_status(state.cameras.url(source.id), supervisor.status) if supervisor else None
    return SourceState.from_source(source, state.engine.device, state.views.has_frame(source), camera)
