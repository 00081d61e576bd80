"""Calls an ASGI application directly: no server, no socket."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Scope


@dataclass(slots=True)
class AsgiResponse:
    """The status, headers and body of a response; for a WebSocket the messages alone."""

    status: int = 0
    headers: Headers = field(default_factory=Headers)
    body: bytes = b""
    messages: list[Message] = field(default_factory=list)


def http_scope(
    method: str = "GET", path: str = "/", headers: Mapping[str, str] | None = None, **more: Any
) -> Scope:
    """The scope of an HTTP request."""
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        **more,
    }


def call_app(
    app: ASGIApp, scope: Scope, body: Iterable[bytes] = (b"",), response: AsgiResponse | None = None
) -> AsgiResponse:
    """Send a request whose body arrives in these chunks; return the response.

    response : filled also when the application raises
    """
    chunks = list(body)
    response = response or AsgiResponse()

    async def receive() -> Message:
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: Message) -> None:
        response.messages.append(message)
        if message["type"] == "http.response.start":
            response.status, response.headers = message["status"], Headers(raw=message["headers"])
        response.body += message.get("body", b"")

    asyncio.run(app(scope, receive, send))
    return response
