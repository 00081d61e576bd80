"""Looking at a source's last frame: pictures, live pictures, features, histogram, heat map."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from lumaflow_service.api.problems import problems
from lumaflow_service.api.query import features_in
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.control.view_cache import EncodedView
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply, View

router = APIRouter(prefix="/v1/sources/{source}")

BOUNDARY = "frame"
MJPEG = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
NO_STORE = {"Cache-Control": "no-store"}


def answers(media: str, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI responses of a route that gives bytes of this media type."""
    content = {media: {"schema": {"type": "string", "format": "binary"}}}
    return {200: {"description": "OK", "content": content}, **problems(404, 422, 429, 503, 504, *statuses)}


@router.get("/snapshot.jpg", responses=answers(MediaType.JPEG), response_class=Response)
async def snapshot(home: State, source: SourceId, view: View = View.ENHANCED) -> Response:
    """The last frame as JPEG: enhanced, raw, both in one (split, or raw above enhanced), or a thumbnail."""
    picture = await home.pictures.newest(home.sources.get(source), view)
    headers = {**NO_STORE, "X-Lumaflow-Frame": str(picture.sequence)}
    return Response(picture.jpeg, headers=headers, media_type=MediaType.JPEG)


@router.get("/live.mjpg", responses=answers(MJPEG), response_class=StreamingResponse)
async def live(home: State, source: SourceId, view: View = View.ENHANCED) -> StreamingResponse:
    """JPEG after JPEG as frames come; a slow viewer skips some."""
    watched = home.pictures.watch(home.sources.get(source), view)
    return StreamingResponse(parts(watched), headers=NO_STORE, media_type=MJPEG)


async def parts(watched: AsyncIterator[EncodedView]) -> AsyncIterator[bytes]:
    """The body of a live answer. A boundary follows each picture at once: browsers show it only then."""
    border = f"--{BOUNDARY}\r\n"
    start = border
    async for picture in watched:
        head = (
            f"{start}Content-Type: image/jpeg\r\nContent-Length: {len(picture.jpeg)}\r\n"
            f"X-Lumaflow-Frame: {picture.sequence}\r\n\r\n"
        )
        yield head.encode() + picture.jpeg + f"\r\n{border}".encode()
        start = ""


@router.get("/features.npz", responses=answers(MediaType.NPZ), response_class=Response)
async def features(
    home: State,
    source: SourceId,
    features: Annotated[
        str | None, Query(description="hog,lbp,histogram,heatmap; default all there are")
    ] = None,
) -> Response:
    """What was extracted from the last frame, for numpy.load."""
    wanted = features_in(features)
    job = Job(0, Op.FEATURES, source, features=[str(name) for name in wanted] if wanted is not None else None)
    return await looked_up(home, job, MediaType.NPZ)


HISTOGRAM = answers(MediaType.JSON)
HISTOGRAM[200]["content"] = {MediaType.JSON: {"schema": {"$ref": "#/components/schemas/Histograms"}}}


@router.get("/histogram", responses=HISTOGRAM, response_class=Response)
async def histogram(home: State, source: SourceId) -> Response:
    """Histograms of the last frame, before and after, and the mapping (the mean over all tiles)."""
    return await looked_up(home, Job(0, Op.HISTOGRAM, source), MediaType.JSON)


@router.get("/heatmap.png", responses=answers(MediaType.PNG), response_class=Response)
async def heatmap(home: State, source: SourceId) -> Response:
    """Contrast of each tile of the last frame: dark is flat, bright has contrast."""
    return await looked_up(home, Job(0, Op.HEATMAP, source), MediaType.PNG)


@router.get("/hog.png", responses=answers(MediaType.PNG), response_class=Response)
async def hog(home: State, source: SourceId) -> Response:
    """Directions of the edges in the last frame: strokes along them, to lay over the picture."""
    return await looked_up(home, Job(0, Op.HOG, source), MediaType.PNG)


@router.get("/lbp.png", responses=answers(MediaType.PNG), response_class=Response)
async def lbp(home: State, source: SourceId) -> Response:
    """Variety of texture in each cell of the last frame: dark is plain, bright is rich."""
    return await looked_up(home, Job(0, Op.LBP, source), MediaType.PNG)


async def looked_up(home: AppState, job: Job, media: MediaType) -> Response:
    """What a worker answers about the last frame of a source that exists."""
    home.sources.get(job.source)
    with home.ring.acquire() as slot:
        reply: Reply = await home.engine.call(job, slot)
        content = bytes(slot.buffer(reply.buffer, reply.length))
    headers = {**NO_STORE, "X-Lumaflow-Frame": str(reply.sequence)}
    return Response(content, headers=headers, media_type=media)
