"""Live pictures over a WebSocket: JPEG after JPEG, as fast as the viewer takes them."""

import asyncio
import struct
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from lumaflow.errors import LumaflowError
from lumaflow_service.api.state import SourceId, State
from lumaflow_service.api.websocket_handshake import accept_websocket, reject_websocket
from lumaflow_service.control.view_cache import EncodedView
from lumaflow_service.ipc.messages import View

router = APIRouter(prefix="/v1/sources/{source}")

HEAD = struct.Struct("<If")
"""Before each JPEG: the number of its frame modulo 2^32, and the seconds from its arrival to now."""
AHEAD = 2
"""Pictures on their way to a viewer at once. One would wait for the network, more would grow old in it."""
GONE = 4410


@router.websocket("/live")
async def live(socket: WebSocket, home: State, source: SourceId, view: View = View.ENHANCED) -> None:
    """Pictures of a source. The viewer answers each with a text message; one that is slow misses some."""
    await accept_websocket(socket)
    try:
        watched = home.pictures.watch(home.sources.get(source), view)
    except LumaflowError as error:
        return await reject_websocket(socket, error)
    viewer = Viewer(socket)
    async with aclosing(watched):  # the task that draws from it may be cancelled between two pictures
        tasks = {asyncio.create_task(viewer.listen()), asyncio.create_task(viewer.show(watched))}
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Viewer:
    """One who watches: shown a picture only when fewer than AHEAD are unanswered."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._room = asyncio.Semaphore(AHEAD)
        self._unanswered = 0

    async def listen(self) -> None:
        """Take answers until the viewer leaves."""
        with suppress(WebSocketDisconnect, KeyError):
            while await self._socket.receive_text() is not None:
                if self._unanswered:
                    self._unanswered -= 1
                    self._room.release()

    async def show(self, watched: AsyncGenerator[EncodedView, None]) -> None:
        """Send the newest picture whenever there is room, until the source is no more."""
        with suppress(WebSocketDisconnect, RuntimeError):
            while await self._room.acquire() and (picture := await anext(watched, None)):
                self._unanswered += 1
                await self._socket.send_bytes(packed(picture))
            await self._socket.close(GONE, "the source was deleted, or the service stops")


def packed(picture: EncodedView) -> bytes:
    """A picture as it travels."""
    age_seconds = time.monotonic() - picture.arrived
    return HEAD.pack(picture.sequence & 0xFFFFFFFF, age_seconds) + picture.jpeg
