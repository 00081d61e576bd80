"""POST a frame, get it back enhanced."""

import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lumaflow_service.api.accept import choose
from lumaflow_service.api.body import drain, received
from lumaflow_service.api.frame_result import FrameResult
from lumaflow_service.api.problems import problems
from lumaflow_service.api.query import FrameQuery, features_in
from lumaflow_service.api.state import SourceId, State
from lumaflow_service.control.sources import Upload
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Reply
from lumaflow_service.ipc.slots import SlotLease

router = APIRouter()

TAKEN = (MediaType.JPEG, MediaType.PNG, MediaType.RAW)
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {media: {"schema": {"type": "string", "format": "binary"}} for media in TAKEN},
    }
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The frame, enhanced, in the form that Accept asks for",
        "headers": {
            "X-Lumaflow-Frame": {
                "description": "number of the frame in its source",
                "schema": {"type": "integer"},
            },
            "X-Lumaflow-Lut": {
                "description": "whose mapping was applied",
                "schema": {"enum": ["previous", "own", "identity"]},
            },
            "X-Lumaflow-Shown": {
                "description": "size and format of the enhanced frame, as in a raw answer",
                "schema": {"type": "string"},
            },
            "X-Lumaflow-Device": {"description": "where it ran", "schema": {"type": "string"}},
            "Server-Timing": {"description": "time of every stage in ms", "schema": {"type": "string"}},
        },
        "content": {
            MediaType.JSON: {"schema": {"$ref": "#/components/schemas/Figures"}},
            **{
                media: {"schema": {"type": "string", "format": "binary"}}
                for media in (MediaType.JPEG, MediaType.PNG, MediaType.RAW, MediaType.NPZ)
            },
        },
    },
    **problems(400, 406, 408, 409, 413, 415, 422, 429, 503, 504),
}


@router.post("/v1/sources/{source}/frames", responses=ANSWERS, openapi_extra=BODY, response_class=Response)
async def post_frame(
    request: Request,
    home: State,
    source: SourceId,
    query: Annotated[FrameQuery, Query()],
) -> Response:
    """Enhance one frame of a source, which comes into being with its first frame."""
    arrived = time.monotonic()
    try:
        media = media_of(request)
        answer = choose(request.headers.get("accept", ""), media)
        wanted = features_in(query.features)
        raw = query.shape(home.settings.max_pixels) if media is MediaType.RAW else None
        with home.sources.enter(source) as sender:
            async with received(request, home.ring, raw, home.settings.body_seconds) as (slot, length):
                parent = request.headers.get("traceparent", "")
                upload = Upload(media, length, arrived, answer=answer, features=wanted, traceparent=parent)
                if raw:
                    upload = replace(upload, geometry=raw.to_json())
                reply = await home.sources.enhance(sender, slot, upload)
                return response(reply, slot, answer)
    except Exception:
        await drain(request)
        raise


def media_of(request: Request) -> MediaType:
    """The media type of the body. Raises UnsupportedMediaError."""
    came = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if came not in TAKEN:
        raise UnsupportedMediaError(f"Content-Type: {came or '(none)'} came; send {', '.join(TAKEN)}")
    return MediaType(came)


def response(reply: Reply, slot: SlotLease, answer: MediaType) -> Response:
    """The answer with its headers; its bytes leave the slot here, which may then be used again."""
    timing = ", ".join(f"{stage};dur={seconds * 1e3:.3f}" for stage, seconds in reply.stage_seconds.items())
    headers = {
        "X-Lumaflow-Frame": str(reply.sequence),
        "X-Lumaflow-Lut": reply.lut,
        "X-Lumaflow-Shown": reply.output_text,
        "X-Lumaflow-Device": reply.device,
        "Server-Timing": timing,
        "Cache-Control": "no-store",
    }
    return Response(content_of(reply, slot, answer), headers=headers, media_type=answer)


def content_of(reply: Reply, slot: SlotLease, answer: MediaType) -> bytes:
    """The bytes of an answer, copied out of the slot."""
    if answer is MediaType.JSON:
        return FrameResult.of(reply).model_dump_json().encode()
    return bytes(slot.buffer(reply.buffer, reply.length))
