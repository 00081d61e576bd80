"""Views of a source's last frame: snapshot, MJPEG, features, histogram, heat map."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.requests import parse_features
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.control.view_cache import EncodedView
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply, View

router = APIRouter(prefix="/v1/sources/{source}")

BOUNDARY = "frame"
MJPEG = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
NO_STORE = {"Cache-Control": "no-store"}


def binary_responses(media: str) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI responses of a route that returns bytes of this media type."""
    content = {media: {"schema": {"type": "string", "format": "binary"}}}
    return {200: {"description": "OK", "content": content}, **openapi_problems(404, 422, 429, 503, 504)}


@router.get("/snapshot.jpg", responses=binary_responses(MediaType.JPEG), response_class=Response)
async def snapshot(state: State, source: SourceId, view: View = View.ENHANCED) -> Response:
    """The last frame as JPEG: enhanced, raw, both in one (split, or raw above enhanced), or a thumbnail."""
    image = await state.views.newest(state.sources.get(source), view)
    headers = {**NO_STORE, "X-Lumaflow-Frame": str(image.sequence)}
    return Response(image.jpeg, headers=headers, media_type=MediaType.JPEG)


@router.get("/live.mjpg", responses=binary_responses(MJPEG), response_class=StreamingResponse)
async def live(state: State, source: SourceId, view: View = View.ENHANCED) -> StreamingResponse:
    """MJPEG video; a slow viewer skips frames."""
    views = state.views.watch(state.sources.get(source), view)
    return StreamingResponse(mjpeg_parts(views), headers=NO_STORE, media_type=MJPEG)


async def mjpeg_parts(views: AsyncIterator[EncodedView]) -> AsyncIterator[bytes]:
    """The multipart body. The boundary follows each image at once: browsers render it only then."""
    boundary = f"--{BOUNDARY}\r\n"
    start = boundary
    async for image in views:
        header = (
            f"{start}Content-Type: image/jpeg\r\nContent-Length: {len(image.jpeg)}\r\n"
            f"X-Lumaflow-Frame: {image.sequence}\r\n\r\n"
        )
        yield header.encode() + image.jpeg + f"\r\n{boundary}".encode()
        start = ""


@router.get("/features.npz", responses=binary_responses(MediaType.NPZ), response_class=Response)
async def features(
    state: State,
    source: SourceId,
    features: Annotated[
        str | None, Query(description="hog,lbp,histogram,heatmap; default all available")
    ] = None,
) -> Response:
    """Features of the last frame as npz, for numpy.load."""
    names = parse_features(features)
    job = Job(0, Op.FEATURES, source, features=[str(name) for name in names] if names is not None else None)
    return await run_job(state, job, MediaType.NPZ)


HISTOGRAM_RESPONSES = binary_responses(MediaType.JSON)
HISTOGRAM_RESPONSES[200]["content"] = {
    MediaType.JSON: {"schema": {"$ref": "#/components/schemas/Histograms"}}
}


@router.get("/histogram", responses=HISTOGRAM_RESPONSES, response_class=Response)
async def histogram(state: State, source: SourceId) -> Response:
    """Histograms of the last frame, before and after, and the mapping (the mean over all tiles)."""
    return await run_job(state, Job(0, Op.HISTOGRAM, source), MediaType.JSON)


@router.get("/heatmap.png", responses=binary_responses(MediaType.PNG), response_class=Response)
async def heatmap(state: State, source: SourceId) -> Response:
    """Contrast of each tile of the last frame, from low (dark) to high (bright)."""
    return await run_job(state, Job(0, Op.HEATMAP, source), MediaType.PNG)


@router.get("/hog.png", responses=binary_responses(MediaType.PNG), response_class=Response)
async def hog(state: State, source: SourceId) -> Response:
    """Edge directions of the last frame: strokes along the edges, as an overlay with alpha."""
    return await run_job(state, Job(0, Op.HOG, source), MediaType.PNG)


@router.get("/lbp.png", responses=binary_responses(MediaType.PNG), response_class=Response)
async def lbp(state: State, source: SourceId) -> Response:
    """Variety of LBP codes in each cell of the last frame, from low (dark) to high (bright)."""
    return await run_job(state, Job(0, Op.LBP, source), MediaType.PNG)


async def run_job(state: AppState, job: Job, media: MediaType) -> Response:
    """The worker's response to a job about the last frame of an existing source."""
    state.sources.get(job.source)
    with state.ring.acquire() as slot:
        reply: Reply = await state.engine.call(job, slot)
        content = bytes(slot.buffer(reply.buffer, reply.length))
    headers = {**NO_STORE, "X-Lumaflow-Frame": str(reply.sequence)}
    return Response(content, headers=headers, media_type=media)
