"""Looking by WebRTC, as WHEP has it: post an offer, get an answer, delete its Location to leave."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from lumaflow_service.api.problems import problems
from lumaflow_service.api.state import SourceId, State
from lumaflow_service.errors import TooLargeError, UnsupportedMediaError
from lumaflow_service.ipc.messages import View

router = APIRouter(prefix="/v1/sources/{source}/whep")

SDP = "application/sdp"
MOST_BYTES = 64 * 1024
CONTENT: dict[str, Any] = {SDP: {"schema": {"type": "string"}}}
PeerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="id of the viewer")]


@router.post(
    "",
    status_code=201,
    responses={
        201: {"description": "The answer; DELETE its Location to leave", "content": CONTENT},
        **problems(400, 404, 413, 415, 422, 429, 501),
    },
    openapi_extra={"requestBody": {"required": True, "content": CONTENT}},
    response_class=Response,
)
async def take_offer(request: Request, home: State, source: SourceId, view: View = View.ENHANCED) -> Response:
    """Look at a source by WebRTC (WHEP); with the extra `webrtc` only."""
    found = home.sources.get(source)
    name, answer = await home.peers.take(found, view, await offer_in(request))
    headers = {"Location": f"{request.url.path}/{name}"}
    return Response(answer, 201, headers, media_type=SDP)


@router.delete("/{peer}", responses=problems(404, 422), response_class=Response)
async def leave(home: State, source: SourceId, peer: PeerId) -> Response:
    """Look no more."""
    home.peers.drop(peer)
    return Response()


async def offer_in(request: Request) -> str:
    """The offer that was posted. Raises UnsupportedMediaError, TooLargeError."""
    came = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if came != SDP:
        raise UnsupportedMediaError(f"Content-Type: {came or '(none)'} came; send an offer as {SDP}")
    offer = b""
    async for chunk in request.stream():
        offer += chunk
        if len(offer) > MOST_BYTES:
            raise TooLargeError(f"an offer of more than {MOST_BYTES} bytes came; send less")
    return offer.decode(errors="replace")
