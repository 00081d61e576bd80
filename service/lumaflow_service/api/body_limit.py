"""A limit on JSON bodies, which FastAPI would read whole into memory."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 * 1024
METHODS = ("PUT", "PATCH")
"""Methods with a JSON body; a frame, which is posted, has a limit of its own."""


class JsonBodyLimit:
    """Refuses a JSON body as soon as it is too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, counting what comes in."""
        left = MOST_BYTES

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"more than {MOST_BYTES} bytes of JSON came; send less")
            return message

        limited = scope["type"] == "http" and scope["method"] in METHODS
        await self._app(scope, counted if limited else receive, send)
