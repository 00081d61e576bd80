"""Video over WebRTC with WHEP: POST an offer, receive an answer, DELETE its Location to leave."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.requests import content_type_of
from lumaflow_service.api.state import SourceId, State
from lumaflow_service.errors import TooLargeError, UnsupportedMediaError
from lumaflow_service.ipc.messages import View

router = APIRouter(prefix="/v1/sources/{source}/whep")

SDP = "application/sdp"
MAX_OFFER_BYTES = 64 * 1024
CONTENT: dict[str, Any] = {SDP: {"schema": {"type": "string"}}}
PeerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="id of the viewer")]


@router.post(
    "",
    status_code=201,
    responses={
        201: {"description": "The answer; DELETE its Location to leave", "content": CONTENT},
        **openapi_problems(400, 404, 413, 415, 422, 429, 501),
    },
    openapi_extra={"requestBody": {"required": True, "content": CONTENT}},
    response_class=Response,
)
async def post_offer(
    request: Request, state: State, source: SourceId, view: View = View.ENHANCED
) -> Response:
    """Watch a source over WebRTC (WHEP); needs the extra `webrtc`."""
    found = state.sources.get(source)
    peer, answer = await state.peers.add(found, view, await read_offer(request))
    headers = {"Location": f"{request.url.path}/{peer}"}
    return Response(answer, 201, headers, media_type=SDP)


@router.delete("/{peer}", responses=openapi_problems(404, 422), response_class=Response)
async def delete_peer(state: State, source: SourceId, peer: PeerId) -> Response:
    """Stop watching."""
    state.peers.remove(peer)
    return Response()


async def read_offer(request: Request) -> str:
    """The SDP offer in the body. Raises UnsupportedMediaError, TooLargeError."""
    content_type = content_type_of(request.headers.get("content-type"))
    if content_type != SDP:
        raise UnsupportedMediaError(
            f"expected Content-Type: {SDP}, got {content_type or '(none)'}; send an SDP offer"
        )
    offer = b""
    async for chunk in request.stream():
        offer += chunk
        if len(offer) > MAX_OFFER_BYTES:
            raise TooLargeError(
                f"expected an offer of at most {MAX_OFFER_BYTES} bytes, got more; send a shorter one"
            )
    return offer.decode(errors="replace")
