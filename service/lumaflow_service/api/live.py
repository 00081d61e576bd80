"""Live video over a WebSocket: JPEG images, as fast as the viewer acknowledges them."""

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

HEADER = struct.Struct("<If")
"""Precedes each JPEG: the frame's sequence number modulo 2^32, and its age in seconds when it is sent."""
MAX_UNACKNOWLEDGED = 2
"""Images in flight to a viewer. With 1 the sender would idle for a round trip; more would add latency."""
GONE = 4410


@router.websocket("/live")
async def live(socket: WebSocket, state: State, source: SourceId, view: View = View.ENHANCED) -> None:
    """Send views of a source. The viewer acknowledges each with a text message; a slow viewer skips some."""
    await accept_websocket(socket)
    try:
        views = state.views.watch(state.sources.get(source), view)
    except LumaflowError as error:
        return await reject_websocket(socket, error)
    viewer = Viewer(socket)
    async with aclosing(views):  # the task that iterates it may be cancelled between two images
        tasks = {
            asyncio.create_task(viewer.receive_acknowledgements()),
            asyncio.create_task(viewer.send_views(views)),
        }
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Viewer:
    """One viewer, with at most MAX_UNACKNOWLEDGED images in flight."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._window = asyncio.Semaphore(MAX_UNACKNOWLEDGED)
        self._unacknowledged = 0

    async def receive_acknowledgements(self) -> None:
        """Count acknowledgements until the viewer disconnects."""
        with suppress(WebSocketDisconnect, KeyError):
            while await self._socket.receive_text() is not None:
                if self._unacknowledged:
                    self._unacknowledged -= 1
                    self._window.release()

    async def send_views(self, views: AsyncGenerator[EncodedView, None]) -> None:
        """Send the newest image whenever the window allows, until the source is deleted."""
        with suppress(WebSocketDisconnect, RuntimeError):
            while await self._window.acquire() and (image := await anext(views, None)):
                self._unacknowledged += 1
                await self._socket.send_bytes(pack(image))
            await self._socket.close(GONE, "the source was deleted, or the service is stopping")


def pack(image: EncodedView) -> bytes:
    """One message: HEADER and JPEG."""
    age_seconds = time.monotonic() - image.arrived
    return HEADER.pack(image.sequence & 0xFFFFFFFF, age_seconds) + image.jpeg
