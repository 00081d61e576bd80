"""The live page: the static files of service/web, at the root."""

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
    """The page itself."""
    return served(INDEX)


@router.get("/{name}")
async def file(name: str) -> FileResponse:
    """One of its files, by name: nothing else can be asked for."""
    return served(name)


def served(name: str) -> FileResponse:
    """A file as an answer; browsers ask again each time, so that a new version shows at once."""
    if name not in FILES:
        raise HTTPException(404)
    return FileResponse(FILES[name], headers={"Cache-Control": "no-cache"})
