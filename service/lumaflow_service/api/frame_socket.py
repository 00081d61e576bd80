"""Frames over a WebSocket: each binary message in is a frame, and is answered by it, enhanced, in order."""

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
from lumaflow_service.api.frame_format import FrameFormat
from lumaflow_service.api.frames import content_of
from lumaflow_service.api.problems import Problem, status_of
from lumaflow_service.api.query import FrameQuery, features_in
from lumaflow_service.api.state import AppState, SourceId, State
from lumaflow_service.api.websocket_handshake import accept_websocket, reject_websocket
from lumaflow_service.config.options import Feature
from lumaflow_service.control.sources import Upload
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.slots import RESERVED_SLOTS

router = APIRouter()

MAGIC = {b"\xff\xd8\xff": MediaType.JPEG, b"\x89PNG": MediaType.PNG}


class SocketQuery(FrameQuery):
    """What the query says of all frames of a connection; those with a `format` are raw."""

    answer: MediaType | None = Field(None, description="media type of the answers; default that of the frame")


@router.websocket("/v1/sources/{source}/frames")
async def frames(
    socket: WebSocket, home: State, source: SourceId, query: Annotated[SocketQuery, Query()]
) -> None:
    """Enhance frame after frame of a source.

    A frame that cannot be enhanced is answered by a text message, its problem details.
    """
    await accept_websocket(socket)
    try:
        raw = query.shape(home.settings.max_pixels) if query.format else None
        desk = FrameConnection(home, source, raw, query.answer, features_in(query.features))
    except LumaflowError as error:
        return await reject_websocket(socket, error)
    await serve(socket, desk, home.settings.queue_depth)


async def serve(socket: WebSocket, desk: "FrameConnection", most: int) -> None:
    """Answer what comes, in its order. While `most` frames are unanswered none is read."""
    answers: asyncio.Queue[asyncio.Task[bytes]] = asyncio.Queue()
    room = asyncio.Semaphore(most)
    sending = asyncio.create_task(send(socket, answers, room))
    try:
        async for body in received(socket, room, sending):
            answers.put_nowait(asyncio.create_task(desk.enhance(body)))
    finally:
        sending.cancel()
        while not answers.empty():
            answers.get_nowait().cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def received(
    socket: WebSocket, room: asyncio.Semaphore, sending: asyncio.Task[None]
) -> AsyncIterator[bytes]:
    """Body after body, until the client leaves."""
    with suppress(WebSocketDisconnect):
        while not sending.done():
            await room.acquire()
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            yield message.get("bytes") or b""


async def send(
    socket: WebSocket, answers: "asyncio.Queue[asyncio.Task[bytes]]", room: asyncio.Semaphore
) -> None:
    """Send answer after answer as their turn comes."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            answer = await answers.get()
            try:
                await socket.send_bytes(await answer)
            except LumaflowError as error:
                status = status_of(socket.app, error)
                problem = Problem.of(status, str(error), socket.url.path)
                await socket.send_text(problem.model_dump_json())
            room.release()


@dataclass(frozen=True, slots=True)
class FrameConnection:
    """Takes the frames of one connection."""

    house: AppState
    source: str
    raw: FrameFormat | None
    answer: MediaType | None
    features: list[Feature] | None

    async def enhance(self, body: bytes) -> bytes:
        """The answer to one frame. Raises LumaflowError."""
        upload = self._upload(body)
        with self.house.ring.acquire(RESERVED_SLOTS) as slot:
            slot.buffer("frame" if self.raw else "body", len(body))[:] = body
            with self.house.sources.enter(self.source) as sender:
                reply = await self.house.sources.enhance(sender, slot, upload)
            return content_of(reply, slot, upload.answer)

    def _upload(self, body: bytes) -> Upload:
        if self.raw and len(body) != self.raw.frame_bytes:
            raise wrong_length(len(body), self.raw.frame_bytes)
        media = MediaType.RAW if self.raw else image_type(body)
        return Upload(
            media,
            len(body),
            time.monotonic(),
            self.raw.to_json() if self.raw else None,
            self.answer or media,
            self.features,
        )


def image_type(body: bytes) -> MediaType:
    """What an image is by its first bytes. Raises UnsupportedMediaError."""
    for magic, media in MAGIC.items():
        if body.startswith(magic):
            return media
    raise UnsupportedMediaError(
        f"a message of {len(body)} bytes came that is neither JPEG nor PNG; send one as a binary message, or"
        " give ?format=..&width=..&height=.. for raw frames"
    )
