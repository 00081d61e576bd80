"""POST a frame, receive it enhanced."""

import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lumaflow.frame import ToneReport
from lumaflow_service.api.body import drain, receive_body
from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.requests import FrameQuery, choose_media_type, content_type_of, parse_features
from lumaflow_service.api.responses import FrameResult
from lumaflow_service.api.state import SourceId, State
from lumaflow_service.control.sources import FrameRequest
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Reply
from lumaflow_service.ipc.slots import SlotLease

router = APIRouter()

REQUEST_MEDIA = (MediaType.JPEG, MediaType.PNG, MediaType.RAW)
REQUEST_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {media: {"schema": {"type": "string", "format": "binary"}} for media in REQUEST_MEDIA},
    }
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The enhanced frame, in the media type that Accept prefers",
        "headers": {
            "X-Lumaflow-Frame": {
                "description": "sequence number of the frame in its source",
                "schema": {"type": "integer"},
            },
            "X-Lumaflow-Lut": {
                "description": "the frame whose LUT was applied",
                "schema": {"enum": ["previous", "own", "identity"]},
            },
            "X-Lumaflow-Tone": {
                "description": "what the modes auto, lowlight and dehaze did, for example"
                " lowlight;strength=0.93;gain=8.1;noise=2.3;haze=0.00; absent in other modes",
                "schema": {"type": "string"},
            },
            "X-Lumaflow-Shown": {
                "description": "size and format of the enhanced frame, as in a raw response",
                "schema": {"type": "string"},
            },
            "X-Lumaflow-Device": {
                "description": "the device that ran the pipeline",
                "schema": {"type": "string"},
            },
            "Server-Timing": {"description": "time of every stage in ms", "schema": {"type": "string"}},
        },
        "content": {
            MediaType.JSON: {"schema": {"$ref": "#/components/schemas/FrameResult"}},
            **{
                media: {"schema": {"type": "string", "format": "binary"}}
                for media in (MediaType.JPEG, MediaType.PNG, MediaType.RAW, MediaType.NPZ)
            },
        },
    },
    **openapi_problems(400, 406, 408, 409, 413, 415, 422, 429, 503, 504),
}


@router.post(
    "/v1/sources/{source}/frames",
    responses=RESPONSES,
    openapi_extra=REQUEST_BODY,
    response_class=Response,
)
async def post_frame(
    request: Request,
    state: State,
    source: SourceId,
    query: Annotated[FrameQuery, Query()],
) -> Response:
    """Enhance one frame of a source. The first frame creates the source."""
    arrived = time.monotonic()
    try:
        media = media_of(request)
        answer = choose_media_type(request.headers.get("accept", ""), media)
        features = parse_features(query.features)
        raw = query.frame_format(state.settings.max_pixels) if media is MediaType.RAW else None
        with state.sources.enqueue(source) as sender:
            async with receive_body(request, state.ring, raw, state.settings.body_seconds) as (slot, length):
                parent = request.headers.get("traceparent", "")
                upload = FrameRequest(
                    media, length, arrived, answer=answer, features=features, traceparent=parent
                )
                if raw:
                    upload = replace(upload, geometry=raw.to_json())
                reply = await state.sources.enhance(sender, slot, upload)
                return frame_response(reply, slot, answer)
    except Exception:
        await drain(request)
        raise


def media_of(request: Request) -> MediaType:
    """The media type of the body. Raises UnsupportedMediaError."""
    content_type = content_type_of(request.headers.get("content-type"))
    if content_type not in REQUEST_MEDIA:
        raise UnsupportedMediaError(
            f"expected Content-Type: {', '.join(REQUEST_MEDIA)}, got {content_type or '(none)'}; send one of"
            " them"
        )
    return MediaType(content_type)


def frame_response(reply: Reply, slot: SlotLease, answer: MediaType) -> Response:
    """The response with its headers. Its bytes are copied, so the slot can be reused."""
    timing = ", ".join(f"{stage};dur={seconds * 1e3:.3f}" for stage, seconds in reply.stage_seconds.items())
    headers = {
        "X-Lumaflow-Frame": str(reply.sequence),
        "X-Lumaflow-Lut": reply.lut,
        "X-Lumaflow-Shown": reply.output_text,
        "X-Lumaflow-Device": reply.device,
        "Server-Timing": timing,
        "Cache-Control": "no-store",
    }
    if reply.tone:
        headers["X-Lumaflow-Tone"] = format_tone(reply.tone)
    return Response(copy_content(reply, slot, answer), headers=headers, media_type=answer)


def format_tone(tone: ToneReport) -> str:
    """The value of X-Lumaflow-Tone: an item with parameters (RFC 8941)."""
    effect = f"{tone.mode};strength={tone.strength:.2f};gain={tone.gain:.1f}"
    return f"{effect};noise={tone.noise:.1f};haze={tone.haze:.2f}"


def copy_content(reply: Reply, slot: SlotLease, answer: MediaType) -> bytes:
    """The bytes of a response, copied out of the slot."""
    if answer is MediaType.JSON:
        return FrameResult.from_reply(reply).model_dump_json().encode()
    return bytes(slot.buffer(reply.buffer, reply.length))
