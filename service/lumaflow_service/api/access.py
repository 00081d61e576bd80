"""Who may do what: once there is any token, every request needs one of the right scope.

It comes as `Authorization: Bearer TOKEN`. A browser cannot set that on a WebSocket and offers the subprotocol
`bearer.TOKEN` instead (percent-encoded). It never stands in a URL, which others would write into their logs.
"""

import hmac
import re
from collections.abc import Set
from enum import StrEnum
from urllib.parse import unquote

from starlette import types as asgi
from starlette.requests import HTTPConnection

from lumaflow.errors import LumaflowError
from lumaflow_service.api.origin import HostNames
from lumaflow_service.api.page import FILES
from lumaflow_service.api.problems import problem, status_of
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import ForbiddenError, UnauthorizedError

WEBSOCKET = "WEBSOCKET"
"""Stands where another connection has its method."""
READING = ("GET", "HEAD")
OPEN = frozenset({"/", "/livez", "/readyz", "/docs", "/openapi.json", *(f"/{name}" for name in FILES)})
"""The page, which asks for the token; the documentation, the same everywhere; health, for who restarts us."""
SENT = re.compile(r"/v1/(sources/[^/]+/frames|trials)")
WATCHED = re.compile(r"/v1/sources/[^/]+/whep(/[^/]+)?")
BEARER = "bearer."
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="lumaflow"'}


class Scope(StrEnum):
    """What a token is for: to send frames, to look, to do everything."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


def needed(method: str, path: str) -> Scope | None:
    """The scope that a request needs: admin, unless less is known to do; None for what is open."""
    if path in OPEN and method in READING:
        return None
    if SENT.fullmatch(path) and method in ("POST", WEBSOCKET):
        return Scope.INGEST
    looking = method in (*READING, WEBSOCKET) or (WATCHED.fullmatch(path) and method in ("POST", "DELETE"))
    return Scope.READ if looking else Scope.ADMIN


class Access:
    """Lets in who may come in; others are answered with a problem before any route sees them."""

    def __init__(self, app: asgi.ASGIApp, settings: Settings) -> None:
        self._app = app
        self._tokens = {Scope(name): token.encode() for name, token in settings.tokens.items()}
        self._names = HostNames(settings.host, settings.hosts, anyone=bool(self._tokens))

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Pass a connection on, or refuse it."""
        if scope["type"] != "lifespan":
            connection = HTTPConnection(scope)
            try:
                self._admit(connection)
            except LumaflowError as error:
                headers = CHALLENGE if isinstance(error, UnauthorizedError) else None
                refusal = problem(connection, status_of(scope["app"], error), str(error), headers)
                return await refusal(scope, receive, send)
        await self._app(scope, receive, send)

    def _admit(self, connection: HTTPConnection) -> None:
        """Raises OtherSiteError, UnauthorizedError, ForbiddenError."""
        method = connection.scope.get("method", WEBSOCKET)
        wanted = needed(method, connection.scope["path"])  # not of `url`, which the Host header can bend
        if wanted is None:
            return
        self._names.check_host(connection.headers)
        if method not in READING:
            self._names.check_origin(connection.headers)
        scopes = set(Scope)
        if self._tokens:
            given = token_in(connection)
            scopes = self._scopes(given)
            check(given, scopes, wanted)
        connection.state.scopes = set(Scope) if Scope.ADMIN in scopes else scopes

    def _scopes(self, given: str) -> set[Scope]:
        """What a token is for, found in a time that tells nothing about the right ones."""
        came = given.encode()
        return {scope for scope, token in self._tokens.items() if hmac.compare_digest(token, came)}


def token_in(connection: HTTPConnection) -> str:
    """The token that came; empty when there is none."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    offered: list[str] = connection.scope.get("subprotocols", [])
    return next((unquote(name.removeprefix(BEARER)) for name in offered if name.startswith(BEARER)), "")


def check(given: str, scopes: Set[Scope], wanted: Scope) -> None:
    """Raises UnauthorizedError, ForbiddenError."""
    if not given:
        raise UnauthorizedError("no token came; send Authorization: Bearer TOKEN")
    if not scopes:
        raise UnauthorizedError("the token that came is wrong; ask the operator of this service for one")
    enough = {wanted, Scope.ADMIN}
    if not scopes & enough:
        came, needs = (" or ".join(sorted(some)) for some in (scopes, enough))
        raise ForbiddenError(f"a token for {came} came; this needs one for {needs}")
