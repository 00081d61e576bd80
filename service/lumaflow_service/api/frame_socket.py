"""Frames over a WebSocket: each binary message is a frame, and the response is that frame, enhanced."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect
from pydantic import Field

from lumaflow.errors import LumaflowError
from lumaflow_service.api.body import wrong_length
from lumaflow_service.api.frames import copy_content
from lumaflow_service.api.problems import Problem, status_of
from lumaflow_service.api.requests import FrameFormat, FrameQuery, parse_features
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.api.websocket_handshake import accept_websocket, reject_websocket
from lumaflow_service.config.options import Feature
from lumaflow_service.control.sources import FrameRequest
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.slots import RESERVED_SLOTS

router = APIRouter()

SIGNATURES = {b"\xff\xd8\xff": MediaType.JPEG, b"\x89PNG": MediaType.PNG}


class SocketQuery(FrameQuery):
    """Query parameters that apply to all frames of a connection. With a `format` the frames are raw."""

    answer: MediaType | None = Field(
        None, description="media type of the responses; default that of the frame"
    )


@router.websocket("/v1/sources/{source}/frames")
async def frames(
    socket: WebSocket, state: State, source: SourceId, query: Annotated[SocketQuery, Query()]
) -> None:
    """Enhance frames of a source in order.

    The response to a rejected frame is a text message with problem details.
    """
    await accept_websocket(socket)
    try:
        raw = query.frame_format(state.settings.max_pixels) if query.format else None
        connection = FrameConnection(state, source, raw, query.answer, parse_features(query.features))
    except LumaflowError as error:
        return await reject_websocket(socket, error)
    await process_frames(socket, connection, state.settings.queue_depth)


async def process_frames(socket: WebSocket, connection: "FrameConnection", max_pending: int) -> None:
    """Respond to frames in the order of their arrival, with at most `max_pending` in flight."""
    responses: asyncio.Queue[asyncio.Task[bytes]] = asyncio.Queue()
    pending = asyncio.Semaphore(max_pending)
    sender = asyncio.create_task(send_responses(socket, responses, pending))
    try:
        async for body in receive_frames(socket, pending, sender):
            responses.put_nowait(asyncio.create_task(connection.enhance(body)))
    finally:
        sender.cancel()
        while not responses.empty():
            responses.get_nowait().cancel()
        await asyncio.gather(sender, return_exceptions=True)


async def receive_frames(
    socket: WebSocket, pending: asyncio.Semaphore, sender: asyncio.Task[None]
) -> AsyncIterator[bytes]:
    """Message bodies, until the client disconnects."""
    with suppress(WebSocketDisconnect):
        while not sender.done():
            await pending.acquire()
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            yield message.get("bytes") or b""


async def send_responses(
    socket: WebSocket, responses: "asyncio.Queue[asyncio.Task[bytes]]", pending: asyncio.Semaphore
) -> None:
    """Send each response once it is complete, in queue order."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            response = await responses.get()
            try:
                await socket.send_bytes(await response)
            except LumaflowError as error:
                problem = Problem.create(status_of(socket.app, error), str(error), socket.url.path)
                await socket.send_text(problem.model_dump_json())
            pending.release()


@dataclass(frozen=True, slots=True)
class FrameConnection:
    """A connection that sends frames of one source; `raw` is None for images."""

    state: AppState
    source: str
    raw: FrameFormat | None
    answer: MediaType | None
    features: list[Feature] | None

    async def enhance(self, body: bytes) -> bytes:
        """The response to one frame. Raises LumaflowError."""
        upload = self._upload(body)
        with self.state.ring.acquire(RESERVED_SLOTS) as slot:
            slot.buffer("frame" if self.raw else "body", len(body))[:] = body
            with self.state.sources.enqueue(self.source) as sender:
                reply = await self.state.sources.enhance(sender, slot, upload)
            return copy_content(reply, slot, upload.answer)

    def _upload(self, body: bytes) -> FrameRequest:
        if self.raw and len(body) != self.raw.frame_bytes:
            raise wrong_length(len(body), self.raw.frame_bytes)
        media = MediaType.RAW if self.raw else image_type(body)
        return FrameRequest(
            media,
            len(body),
            time.monotonic(),
            self.raw.to_json() if self.raw else None,
            self.answer or media,
            self.features,
        )


def image_type(body: bytes) -> MediaType:
    """The media type of an image by its signature. Raises UnsupportedMediaError."""
    for signature, media in SIGNATURES.items():
        if body.startswith(signature):
            return media
    raise UnsupportedMediaError(
        f"expected a binary message with a JPEG or PNG, got {len(body)} bytes of another type; send an image,"
        " or add ?format=..&width=..&height=.. for raw frames"
    )
