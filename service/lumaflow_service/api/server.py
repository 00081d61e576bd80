"""The HTTP server: listening socket, timeouts, graceful shutdown."""

import socket
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from lumaflow_service.api.connection import TimeoutProtocol
from lumaflow_service.api.middleware import is_loopback
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import AddressError

LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The loopback address to open in a browser, for wildcard addresses."""
SHUTDOWN_SECONDS = 5
BODY_GRACE_SECONDS = 2.0
"""Routes respond to a slow body after `body_seconds`; this much later the connection is closed anyway."""


def check_bind_address(settings: Settings) -> None:
    """Raises AddressError if other machines can reach the service and no token is set."""
    if not (settings.tokens or is_loopback(settings.host)):
        raise AddressError(
            f"expected a loopback address or a token, got --host {settings.host} without a token; set"
            " LUMAFLOW_ADMIN_TOKEN (or LUMAFLOW_READ_TOKEN, LUMAFLOW_INGEST_TOKEN) to the output of"
            " `openssl rand -hex 24`, or listen on 127.0.0.1"
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


def url_of(listener: socket.socket) -> str:
    """The URL of the service for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = LOOPBACK_OF.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class HttpServer(uvicorn.Server):
    """Uvicorn with client timeouts; at shutdown it ends live streams first."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._app_state = app.state
        protocol: Any = partial(
            TimeoutProtocol,
            head_seconds=settings.head_seconds,
            body_seconds=settings.body_seconds + BODY_GRACE_SECONDS,
            stall_seconds=settings.stall_seconds,
        )
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=protocol,
                ws_max_size=settings.slot_bytes,
                ws_per_message_deflate=False,  # JPEG does not compress further, and deflate is slow
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin a graceful shutdown after a signal."""
        super().handle_exit(sig, frame)
        self._app_state.shared.sources.close()

    def stop(self) -> None:
        """Begin a graceful shutdown."""
        self.should_exit = True
