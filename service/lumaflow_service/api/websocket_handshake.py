"""Accepting and rejecting WebSocket connections."""

from fastapi import WebSocket

from lumaflow_service.api.problems import status_of

SUBPROTOCOL = "lumaflow"
"""Clients offer this next to `bearer.TOKEN`. The server must select an offered subprotocol and selects this
one, so the token is never echoed."""
CLOSE_CODE_BASE = 4000
"""A close code is this plus an HTTP status: a browser cannot see the status of a rejected handshake."""
MAX_REASON_BYTES = 123


async def accept_websocket(socket: WebSocket) -> None:
    """Accept a connection, with SUBPROTOCOL if the client offers it."""
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope["subprotocols"] else None)


async def reject_websocket(socket: WebSocket, error: Exception) -> None:
    """Close an accepted connection with the error text as its reason, cut to MAX_REASON_BYTES."""
    reason = str(error).encode()[:MAX_REASON_BYTES].decode(errors="ignore")
    await socket.close(CLOSE_CODE_BASE + status_of(socket.app, error), reason)
