"""Taking and refusing WebSocket connections."""

from urllib.parse import urlsplit

from fastapi import WebSocket

from service.api.problems import status_of

SUBPROTOCOL = "lumaflow"
REFUSED = 4000
"""A close code is this plus the status that HTTP would have: browsers cannot see a refused handshake's."""
MOST_REASON_BYTES = 123


async def welcome(socket: WebSocket) -> bool:
    """Take a connection, unless a page of another origin asks: browsers let any page connect anywhere."""
    origin = socket.headers.get("origin")
    if origin and urlsplit(origin).netloc != socket.headers.get("host"):
        await socket.close(1008)
        return False
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope["subprotocols"] else None)
    return True


async def refuse(socket: WebSocket, error: Exception) -> None:
    """Close a connection that was taken, with the reason as far as it fits."""
    reason = str(error).encode()[:MOST_REASON_BYTES].decode(errors="ignore")
    await socket.close(REFUSED + status_of(socket.app, error), reason)
