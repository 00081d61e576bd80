"""WebSockets: the subprotocol of the handshake, and the close code and reason of a rejection."""

import asyncio

import pytest
from fastapi import FastAPI, WebSocket
from starlette.types import Message

from lumaflow_service.api import problems
from lumaflow_service.api.app import ROUTES_HINT, STATUS
from lumaflow_service.api.websocket_handshake import (
    MAX_REASON_BYTES,
    SUBPROTOCOL,
    accept_websocket,
    reject_websocket,
)
from lumaflow_service.errors import BusyError, UnknownSourceError


def handshake(offered: list[str], error: Exception | None = None) -> list[Message]:
    """The messages that the server sends: it accepts, and rejects with `error` if there is one."""
    app = FastAPI()
    problems.install(app, STATUS, ROUTES_HINT)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {"type": "websocket", "path": "/", "headers": [], "subprotocols": offered, "app": app}
        socket = WebSocket(scope, receive, send)
        await accept_websocket(socket)
        if error is not None:
            await reject_websocket(socket, error)

    asyncio.run(run())
    return sent


@pytest.mark.parametrize(
    ("offered", "selected"),
    [
        ([SUBPROTOCOL], SUBPROTOCOL),
        (["bearer.s3cret", SUBPROTOCOL], SUBPROTOCOL),
        ([SUBPROTOCOL, "bearer.s3cret"], SUBPROTOCOL),
        (["bearer.s3cret"], None),
        (["chat"], None),
        ([], None),
    ],
)
def test_the_token_is_never_the_selected_subprotocol(offered: list[str], selected: str | None) -> None:
    (accepted,) = handshake(offered)
    assert (accepted["type"], accepted["subprotocol"]) == ("websocket.accept", selected)


@pytest.mark.parametrize(
    ("error", "code"),
    [(UnknownSourceError("no"), 4404), (BusyError("no"), 4429), (ZeroDivisionError("no"), 4500)],
)
def test_the_close_code_contains_the_status_of_the_error(error: Exception, code: int) -> None:
    closed = handshake([], error)[-1]
    assert (closed["type"], closed["code"], closed["reason"]) == ("websocket.close", code, "no")


@pytest.mark.parametrize("text", ["x" * 500, "é" * 100, "x" + "é" * 100, "€" * 60, "🎥" * 40])
def test_a_long_reason_is_cut_between_two_characters(text: str) -> None:
    reason = handshake([], BusyError(text))[-1]["reason"]
    assert text.startswith(reason)
    assert MAX_REASON_BYTES - 4 < len(reason.encode()) <= MAX_REASON_BYTES
