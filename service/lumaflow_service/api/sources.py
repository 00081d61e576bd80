"""Sources: list, make, look at, change, delete."""

from fastapi import APIRouter, Response

from lumaflow_service.api.bodies import SourcePatch, SourcePut
from lumaflow_service.api.problems import problems
from lumaflow_service.api.source_state import CameraState, SourceList, SourceState
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.control.sources import Source

router = APIRouter(prefix="/v1/sources")


@router.get("")
async def list_sources(home: State) -> SourceList:
    """All sources."""
    return SourceList(sources=[state_of(home, source) for source in home.sources])


@router.put(
    "/{source}",
    responses={201: {"description": "Made", "model": SourceState}, **problems(413, 422, 429)},
)
async def put_source(home: State, source: SourceId, body: SourcePut, response: Response) -> SourceState:
    """Make a source, or set one anew; it stays until it is deleted. With a url it is a camera, read here."""
    new = all(one.id != source for one in home.sources)
    camera = body.camera()
    if camera:
        await home.cameras.put(source, camera, body.options)
    else:
        if home.cameras.find(source):
            await home.cameras.remove(source)
        home.sources.put(source, body.options, body.geometry.to_json() if body.geometry else None)
    if new:
        response.status_code = 201
    return state_of(home, home.sources.get(source))


@router.get("/{source}", responses=problems(404, 422))
async def get_source(home: State, source: SourceId) -> SourceState:
    """One source."""
    return state_of(home, home.sources.get(source))


@router.patch("/{source}", responses=problems(404, 413, 422))
async def patch_source(home: State, source: SourceId, body: SourcePatch) -> SourceState:
    """Change the options that are given; the next frame then uses its own mapping."""
    found = home.sources.get(source)
    changes = body.camera_changes()
    if changes:
        await home.cameras.change(source, changes)
    found.options = found.options.changed(body.options.changes())
    if "geometry" in body.model_fields_set:
        found.fix(body.geometry.to_json() if body.geometry else None)
    return state_of(home, found)


@router.delete("/{source}", status_code=204, responses=problems(404, 422))
async def delete_source(home: State, source: SourceId) -> None:
    """Delete a source, its camera, its mapping and its last frame."""
    if home.cameras.find(source):
        await home.cameras.remove(source)
    home.sources.drop(source)


def state_of(home: AppState, source: Source) -> SourceState:
    """How a source stands now, with its camera if it has one."""
    supervisor = home.cameras.find(source.id)
    camera = CameraState.of(home.cameras.url(source.id), supervisor.standing) if supervisor else None
    return SourceState.of(source, home.engine.device, home.pictures.keeps(source), camera)
