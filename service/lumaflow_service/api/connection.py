"""The HTTP/1.1 protocol with client timeouts; uvicorn has none for slow clients."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024


class TimeoutProtocol(HttpToolsProtocol):
    """Closes a connection whose request arrives too slowly, or whose client reads no response byte.

    Deadlines are absolute: a single byte does not extend them. Uvicorn's keep-alive timeout applies between
    two requests, and its ping timeout to WebSockets.

    head_seconds, body_seconds : time for the request head and for the request body
    stall_seconds : maximum time without the client reading any response byte
    """

    def __init__(
        self, *args: Any, head_seconds: float, body_seconds: float, stall_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._head_seconds = head_seconds
        self._body_seconds = body_seconds
        self._stall_seconds = stall_seconds
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = None  # None outside a request head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._set_deadline(self._head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timeouts."""
        self._set_deadline(None)
        self._cancel_stall_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; close the connection if the request head is too long."""
        in_head = self._head_bytes is not None
        super().data_received(data)
        if in_head and self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start the timeout of the request head."""
        super().on_message_begin()
        self._head_bytes = 0
        self._set_deadline(self._head_seconds)

    def on_headers_complete(self) -> None:
        """Start the timeout of the request body."""
        self._head_bytes = None
        self._set_deadline(self._body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the timeout: the request is complete."""
        self._set_deadline(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Start the stall timeout: the write buffer is full."""
        super().pause_writing()
        self._start_stall_timer(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Cancel the stall timeout: the client reads again."""
        self._cancel_stall_timer()
        super().resume_writing()

    def _start_stall_timer(self, buffered: int) -> None:
        self._cancel_stall_timer()
        self._stall_timer = self.loop.call_later(self._stall_seconds, self._check_stall, buffered)

    def _check_stall(self, buffered: int) -> None:
        """Abort unless the client has read some of the `buffered` bytes."""
        now = self.transport.get_write_buffer_size()
        if now < buffered:
            self._start_stall_timer(now)
        else:
            self.transport.abort()

    def _cancel_stall_timer(self) -> None:
        if self._stall_timer:
            self._stall_timer.cancel()
        self._stall_timer = None

    def _set_deadline(self, seconds: float | None) -> None:
        """Close the connection after `seconds`; None cancels the deadline."""
        if self._request_timer:
            self._request_timer.cancel()
        self._request_timer = None if seconds is None else self.loop.call_later(seconds, self.transport.close)
