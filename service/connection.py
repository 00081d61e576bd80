"""An HTTP connection that waits for a client only so long; uvicorn's own knows no such limit."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """Closed when a request's head or body takes too long to arrive, or its head has no end.

    The deadlines are absolute: a byte now and then does not move them. Between two requests uvicorn's own
    (keep-alive) holds, in a WebSocket its pings.
    """

    def __init__(self, *args: Any, head_seconds: float, body_seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._body_seconds = body_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # None outside a head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client is there; its first request is due."""
        super().connection_made(transport)
        self._expect(self._head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is due."""
        self._expect(None)
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

    def _expect(self, seconds: float | None) -> None:
        """From now on allow so much time; None: any."""
        if self._deadline:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.close)
