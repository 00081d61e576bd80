"""Taking and refusing WebSocket connections."""

from fastapi import WebSocket

from lumaflow_service.api.problems import status_of

SUBPROTOCOL = "lumaflow"
"""To be offered beside a token's: a browser wants one of those it offers back, never the token."""
REFUSED = 4000
"""A close code is this plus the status that HTTP would have: browsers cannot see a refused handshake's."""
MOST_REASON_BYTES = 123


async def accept_websocket(socket: WebSocket) -> None:
    """Take a connection, by the one subprotocol of ours if it is offered."""
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope["subprotocols"] else None)


async def reject_websocket(socket: WebSocket, error: Exception) -> None:
    """Close a connection that was taken, with the reason as far as it fits."""
    reason = str(error).encode()[:MOST_REASON_BYTES].decode(errors="ignore")
    await socket.close(REFUSED + status_of(socket.app, error), reason)
