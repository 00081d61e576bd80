"""ASGI middleware: security headers, a size limit on JSON bodies, and checks of Host and Origin headers."""

import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lumaflow_service.errors import OtherSiteError

CONTENT_SECURITY_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
MAX_JSON_BYTES = 64 * 1024
JSON_METHODS = ("PUT", "PATCH")
"""Methods with a JSON body. A frame is sent with POST and has its own limit."""


class SecurityHeaders:
    """Adds headers to every response that restrict what a browser may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class JsonBodyLimit:
    """Rejects a JSON body over MAX_JSON_BYTES while it arrives; FastAPI alone would read all of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection. Raises HTTPException (413)."""
        remaining = MAX_JSON_BYTES

        async def receive_limited() -> Message:
            nonlocal remaining
            message = await receive()
            remaining -= len(message.get("body", b""))
            if remaining < 0:
                raise HTTPException(
                    413, f"expected at most {MAX_JSON_BYTES} bytes of JSON, got more; send a shorter body"
                )
            return message

        limited = scope["type"] == "http" and scope["method"] in JSON_METHODS
        await self._app(scope, receive_limited if limited else receive, send)


class TrustedHosts:
    """Host names under which clients may request this service.

    These are the loopback names, the listen `address`, and the names in `more`. With `allow_any` (a token
    identifies the client) every name is accepted, unless `more` lists names.
    """

    def __init__(self, address: str, more: Collection[str], allow_any: bool) -> None:
        self._address = address
        self._more = frozenset(more)
        self._allow_any = allow_any and not more

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Reject a Host header with an unknown name (DNS rebinding). Raises OtherSiteError.

        A request without a Host header passes: browsers always send one.
        """
        host = headers.get("host", "")
        if host and not (self._allow_any or self._is_trusted(host)):
            raise OtherSiteError(
                f"expected a host name of this service, got Host: {host}; add the name to LUMAFLOW_HOSTS"
            )

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Reject a request that a page of another site sends. Raises OtherSiteError.

        A page from another port of this machine counts as another site. Behind a proxy the page may come
        from one of the names in `more`.
        """
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is None:
            return
        sender = origin.partition("://")[2]
        if not sender or (sender != host and host_name(sender) not in self._more):
            raise OtherSiteError(
                f"expected a request from a page of {host}, got Origin: {origin}; open the page at {host}"
            )

    def _is_trusted(self, host: str) -> bool:
        name = host_name(host)
        return name == self._address or name in self._more or is_loopback(name)


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if the header is malformed."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """True for `localhost` and for loopback addresses."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
