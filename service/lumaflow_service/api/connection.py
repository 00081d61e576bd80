"""An HTTP connection that waits for a client only so long; uvicorn's own knows no such limit."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """Closed when a request takes too long to arrive or its head has no end, or when its answer is not taken.

    The deadlines are absolute: a byte now and then does not move them. Between two requests uvicorn's own
    (keep-alive) holds, in a WebSocket its pings.
    """

    def __init__(
        self, *args: Any, head_seconds: float, body_seconds: float, stall_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._body_seconds = body_seconds
        self._stall_seconds = stall_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # None outside a head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; its first request is due."""
        super().connection_made(transport)
        self._expect(self._head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is due."""
        self._expect(None)
        self._end_stall()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some of a request came."""
        inside = self._head_bytes is not None
        super().data_received(data)
        if inside and self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head_bytes = 0
        self._expect(self._head_seconds)

    def on_headers_complete(self) -> None:
        """The head is there; the body is due."""
        self._head_bytes = None
        self._expect(self._body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._expect(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client takes nothing: the buffers to it are full."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """It takes something again."""
        self._end_stall()
        super().resume_writing()

    def _watch(self, left: int) -> None:
        """After a while see whether the client took any of the bytes that are left for it."""
        self._end_stall()
        self._stall = self.loop.call_later(self._stall_seconds, self._look, left)

    def _look(self, left: int) -> None:
        now = self.transport.get_write_buffer_size()
        if now < left:
            self._watch(now)
        else:
            self.transport.abort()

    def _end_stall(self) -> None:
        if self._stall:
            self._stall.cancel()
        self._stall = None

    def _expect(self, seconds: float | None) -> None:
        """From now on allow so much time; None: any."""
        if self._deadline:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.close)
