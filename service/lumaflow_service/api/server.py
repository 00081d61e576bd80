"""The server under the application: where it listens, how long it waits, how it ends."""

import socket
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from lumaflow_service.api.connection import Connection
from lumaflow_service.api.origin import is_loopback
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import AddressError

HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of this machine's, and one of those that a browser can be pointed at."""
GRACE_SECONDS = 5
BODY_GRACE_SECONDS = 2.0
"""Routes have the deadline itself, and answer; so much later the connection is closed."""


def check_reach(settings: Settings) -> None:
    """Raises AddressError unless only this machine can reach the service, or a token is needed to use it."""
    if not (settings.tokens or is_loopback(settings.host)):
        raise AddressError(
            f"{settings.host} can be reached from other machines and there is no token: set"
            " LUMAFLOW_ADMIN_TOKEN (LUMAFLOW_READ_TOKEN, LUMAFLOW_INGEST_TOKEN for less) to what"
            " `openssl rand -hex 24` prints, or listen on 127.0.0.1"
        )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises AddressError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise AddressError(
            f"{host}:{port} cannot be listened on ({error.strerror}); give another --host or --port"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds what listens."""
    host, port = listener.getsockname()[:2]
    here = HERE.get(host, host)
    return f"http://{f'[{here}]' if ':' in here else here}:{port}/"


class HttpServer(uvicorn.Server):
    """Uvicorn that waits for no client for ever, and lets go of live viewers when it is told to stop."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._state = app.state
        connection: Any = partial(
            Connection,
            head_seconds=settings.head_seconds,
            body_seconds=settings.body_seconds + BODY_GRACE_SECONDS,
            stall_seconds=settings.stall_seconds,
        )
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=connection,
                ws_max_size=settings.slot_bytes,
                ws_per_message_deflate=False,  # pictures are small already, and it takes long
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin a graceful shutdown."""
        super().handle_exit(sig, frame)
        self._state.house.sources.close()

    def give_up(self) -> None:
        """Stop because the service can never work."""
        self.should_exit = True
