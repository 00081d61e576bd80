"""Sources: list, make, look at, change, delete."""

from fastapi import APIRouter, Response

from service.api.house import Home, SourceId
from service.api.problems import problems
from service.api.shapes import SourceList, SourcePatch, SourcePut, SourceState

router = APIRouter(prefix="/v1/sources")


@router.get("")
async def list_sources(home: Home) -> SourceList:
    """All sources."""
    return SourceList(sources=[SourceState.of(source, home.engine.device) for source in home.sources])


@router.put(
    "/{source}",
    responses={201: {"description": "Made", "model": SourceState}, **problems(413, 422, 429)},
)
async def put_source(home: Home, source: SourceId, body: SourcePut, response: Response) -> SourceState:
    """Make a source, or set one anew; it stays until it is deleted."""
    geometry = body.geometry.size if body.geometry else None
    if home.sources.put(source, body.options, geometry):
        response.status_code = 201
    return SourceState.of(home.sources.get(source), home.engine.device)


@router.get("/{source}", responses=problems(404, 422))
async def get_source(home: Home, source: SourceId) -> SourceState:
    """One source."""
    return SourceState.of(home.sources.get(source), home.engine.device)


@router.patch("/{source}", responses=problems(404, 413, 422))
async def patch_source(home: Home, source: SourceId, body: SourcePatch) -> SourceState:
    """Change the options that are given; the next frame then uses its own mapping."""
    found = home.sources.get(source)
    found.options = found.options.changed(body.options.changes())
    if "geometry" in body.model_fields_set:
        found.fixed = body.geometry is not None
        found.geometry = body.geometry.size if body.geometry else found.geometry
    return SourceState.of(found, home.engine.device)


@router.delete("/{source}", status_code=204, responses=problems(404, 422))
async def delete_source(home: Home, source: SourceId) -> None:
    """Delete a source, its mapping and its last frame."""
    home.sources.drop(source)
