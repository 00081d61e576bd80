"""The live page: the static files of `lumaflow_service/web`, served at the root."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

WEB = Path(__file__).parents[1] / "web"
FILES = {path.name: path for path in WEB.iterdir() if path.is_file()}
INDEX = "index.html"

router = APIRouter(include_in_schema=False)


@router.get("/")
async def index() -> FileResponse:
    """The page."""
    return file_response(INDEX)


@router.get("/{name}")
async def file(name: str) -> FileResponse:
    """One file of the page, by its exact name."""
    return file_response(name)


def file_response(name: str) -> FileResponse:
    """A file. Browsers revalidate it at each load, so that an update takes effect at once."""
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(FILES[name], headers={"Cache-Control": "no-cache"})
