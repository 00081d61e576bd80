"""Token authentication: with at least one token set, every protected request needs one of the right scope.

A client sends `Authorization: Bearer TOKEN`. A browser cannot set that header on a WebSocket; it offers the
percent-encoded subprotocol `bearer.TOKEN` instead. Tokens in URLs are ignored, because URLs end up in logs.
"""

import hmac
import re
from collections.abc import Set
from enum import StrEnum
from urllib.parse import unquote

from starlette import types as asgi
from starlette.requests import HTTPConnection

from lumaflow.errors import LumaflowError
from lumaflow_service.api.middleware import TrustedHosts
from lumaflow_service.api.page import FILES
from lumaflow_service.api.problems import problem_response, status_of
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import ForbiddenError, UnauthorizedError

WEBSOCKET = "WEBSOCKET"
"""Used as the method of a WebSocket, which has none."""
SAFE_METHODS = ("GET", "HEAD")
PUBLIC_PATHS = frozenset(
    {"/", "/livez", "/readyz", "/docs", "/openapi.json", *(f"/{name}" for name in FILES)}
)
"""The page (it asks for the token), the documentation, and the health checks of an orchestrator."""
UPLOAD_PATH = re.compile(r"/v1/(sources/[^/]+/frames|trials)")
WHEP_PATH = re.compile(r"/v1/sources/[^/]+/whep(/[^/]+)?")
BEARER_SUBPROTOCOL = "bearer."
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="lumaflow"'}


class Scope(StrEnum):
    """The scope of a token: send frames, read, or everything."""

    INGEST = "ingest"
    READ = "read"
    ADMIN = "admin"


def required_scope(method: str, path: str) -> Scope | None:
    """The scope that a request needs: admin unless a rule allows less, None for public paths."""
    if path in PUBLIC_PATHS and method in SAFE_METHODS:
        return None
    if UPLOAD_PATH.fullmatch(path) and method in ("POST", WEBSOCKET):
        return Scope.INGEST
    reads = method in (*SAFE_METHODS, WEBSOCKET) or (
        WHEP_PATH.fullmatch(path) and method in ("POST", "DELETE")
    )
    return Scope.READ if reads else Scope.ADMIN


class Access:
    """Middleware that answers unauthorized requests with a problem before a route runs."""

    def __init__(self, app: asgi.ASGIApp, settings: Settings) -> None:
        self._app = app
        self._tokens = {Scope(name): token.encode() for name, token in settings.tokens.items()}
        self._hosts = TrustedHosts(settings.host, settings.hosts, allow_any=bool(self._tokens))

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Handle one connection."""
        if scope["type"] != "lifespan":
            connection = HTTPConnection(scope)
            try:
                self._authorize(connection)
            except LumaflowError as error:
                headers = CHALLENGE if isinstance(error, UnauthorizedError) else None
                response = problem_response(connection, status_of(scope["app"], error), str(error), headers)
                return await response(scope, receive, send)
        await self._app(scope, receive, send)

    def _authorize(self, connection: HTTPConnection) -> None:
        """Raises OtherSiteError, UnauthorizedError, ForbiddenError."""
        method = connection.scope.get("method", WEBSOCKET)
        required = required_scope(method, connection.scope["path"])  # `url.path` depends on the Host header
        if required is None:
            return
        self._hosts.check_host(connection.headers)
        if method not in SAFE_METHODS:
            self._hosts.check_origin(connection.headers)
        scopes = set(Scope)
        if self._tokens:
            token = token_of(connection)
            scopes = self._scopes_of(token)
            check_scopes(token, scopes, required)
        connection.state.scopes = set(Scope) if Scope.ADMIN in scopes else scopes

    def _scopes_of(self, token: str) -> set[Scope]:
        """The scopes of a token, compared in constant time."""
        encoded = token.encode()
        return {scope for scope, expected in self._tokens.items() if hmac.compare_digest(expected, encoded)}


def token_of(connection: HTTPConnection) -> str:
    """The token of a request; empty if there is none."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    offered: list[str] = connection.scope.get("subprotocols", [])
    bearers = (name for name in offered if name.startswith(BEARER_SUBPROTOCOL))
    return next((unquote(name.removeprefix(BEARER_SUBPROTOCOL)) for name in bearers), "")


def check_scopes(token: str, scopes: Set[Scope], required: Scope) -> None:
    """Raises UnauthorizedError, ForbiddenError."""
    if not token:
        raise UnauthorizedError("expected a token, got none; send Authorization: Bearer TOKEN")
    if not scopes:
        raise UnauthorizedError("expected a valid token, got a wrong one; ask the operator for a token")
    allowed = {required, Scope.ADMIN}
    if not scopes & allowed:
        got, expected = (" or ".join(sorted(names)) for names in (scopes, allowed))
        raise ForbiddenError(
            f"expected a token of scope {expected}, got one of scope {got}; use another token"
        )
