"""Tokens: which ones a request may carry, where it carries them, and what each scope allows."""

import json

import pytest
from fastapi import FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from asgi import AsgiResponse, call_app, http_scope
from lumaflow_service.api import problems
from lumaflow_service.api.access import Access, check_scopes, required_scope, token_of
from lumaflow_service.api.access import Scope as TokenScope
from lumaflow_service.api.app import ROUTES_HINT, STATUS
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import ForbiddenError, UnauthorizedError

ADMIN, READ, INGEST = "admin-0123456789abcdef", "read-0123456789abcdef", "ingest-0123456789abcdef"
ALL = {TokenScope.ADMIN, TokenScope.READ, TokenScope.INGEST}
LOCAL = {"Host": "127.0.0.1:8000"}


async def show_scopes(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that answers with the scopes of the token."""
    scopes = sorted(scope["state"].get("scopes", ["public"]))
    await JSONResponse(scopes)(scope, receive, send)


def request(method: str, path: str, headers: dict[str, str], **settings: object) -> AsgiResponse:
    """The response to a request through the middleware."""
    app = FastAPI()
    problems.install(app, STATUS, ROUTES_HINT)
    access = Access(show_scopes, Settings(**settings))  # type: ignore[arg-type]
    return call_app(access, http_scope(method, path, headers, app=app, state={}))


def authorized(token: str, method: str = "GET", path: str = "/metrics") -> AsgiResponse:
    """The response to a request with this Bearer token, where each scope has one."""
    headers = {**LOCAL, "Authorization": f"Bearer {token}"}
    return request(method, path, headers, admin_token=ADMIN, read_token=READ, ingest_token=INGEST)


@pytest.mark.parametrize("token", [ADMIN, READ])
def test_a_whole_token_is_accepted(token: str) -> None:
    assert authorized(token).status == 200


@pytest.mark.parametrize(
    "token",
    [
        ADMIN[:-1],
        ADMIN[:16],
        ADMIN[:1],
        ADMIN + "0",
        ADMIN[1:],
        ADMIN.upper(),
        ADMIN + READ,
        "x" * len(ADMIN),
        "",
    ],
)
def test_a_prefix_or_another_part_of_a_token_is_refused(token: str) -> None:
    response = authorized(token)
    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="lumaflow"'


@pytest.mark.parametrize(("token", "scopes"), [(READ, ["read"]), (ADMIN, ["admin", "ingest", "read"])])
def test_the_route_knows_the_scopes_of_the_token(token: str, scopes: list[str]) -> None:
    assert json.loads(authorized(token).body) == scopes


def test_without_tokens_every_client_has_all_scopes() -> None:
    response = request("GET", "/metrics", LOCAL)
    assert json.loads(response.body) == ["admin", "ingest", "read"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/metrics", {READ, ADMIN}),
        ("HEAD", "/v1/sources", {READ, ADMIN}),
        ("POST", "/v1/sources/gate/frames", {INGEST, ADMIN}),
        ("POST", "/v1/trials", {INGEST, ADMIN}),
        ("POST", "/v1/sources/gate/whep", {READ, ADMIN}),
        ("DELETE", "/v1/sources/gate/whep/7", {READ, ADMIN}),
        ("PUT", "/v1/sources/gate", {ADMIN}),
        ("POST", "/v1/config/reload", {ADMIN}),
        ("GET", "/livez", {READ, INGEST, ADMIN}),
    ],
)
def test_each_scope_allows_its_requests_only(method: str, path: str, allowed: set[str]) -> None:
    found = {token for token in (ADMIN, READ, INGEST) if authorized(token, method, path).status == 200}
    assert found == allowed


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/sources/gate/frames/"),
        ("POST", "/v1/sources/a/b/frames"),
        ("POST", "/v1/sources//frames"),
        ("POST", "/v2/v1/trials"),
        ("POST", "/v1/trials/x"),
        ("PUT", "/v1/sources/gate/frames"),
        ("POST", "/v1/sources/gate/whep/7/8"),
        ("POST", "/livez"),
    ],
)
def test_a_path_that_only_resembles_a_route_needs_the_admin_scope(method: str, path: str) -> None:
    assert required_scope(method, path) is TokenScope.ADMIN


def connection(headers: dict[str, str], subprotocols: list[str] | None = None) -> HTTPConnection:
    """A connection with these headers; a WebSocket if it offers subprotocols."""
    scope = http_scope(headers=headers)
    return HTTPConnection(scope if subprotocols is None else {**scope, "subprotocols": subprotocols})


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("BEARER  abc ", "abc"),
        ("Bearer", ""),
        ("Basic abc", ""),
        ("Bearerabc", ""),
        ("abc", ""),
    ],
)
def test_the_token_is_in_the_authorization_header(header: str, token: str) -> None:
    assert token_of(connection({"Authorization": header})) == token


@pytest.mark.parametrize(
    ("offered", "token"),
    [
        (["lumaflow", "bearer.a%2Bb%2F%3D"], "a+b/="),
        (["bearer.first", "bearer.second"], "first"),
        (["lumaflow"], ""),
        (["Bearer.abc"], ""),
        ([], ""),
    ],
)
def test_a_websocket_offers_the_token_as_a_percent_encoded_subprotocol(
    offered: list[str], token: str
) -> None:
    assert token_of(connection({}, offered)) == token


def test_the_authorization_header_wins_over_a_subprotocol() -> None:
    assert token_of(connection({"Authorization": "Bearer header"}, ["bearer.offered"])) == "header"


@pytest.mark.parametrize(
    ("token", "scopes", "error"),
    [
        ("", set(), UnauthorizedError),
        ("wrong", set(), UnauthorizedError),
        ("read", {TokenScope.READ}, ForbiddenError),
        ("both", {TokenScope.READ, TokenScope.INGEST}, ForbiddenError),
    ],
)
def test_missing_wrong_and_insufficient_tokens_differ(
    token: str, scopes: set[TokenScope], error: type[Exception]
) -> None:
    with pytest.raises(error):
        check_scopes(token, scopes, TokenScope.ADMIN)


@pytest.mark.parametrize("scopes", [{TokenScope.READ}, {TokenScope.ADMIN}, ALL])
def test_the_required_scope_or_admin_is_enough(scopes: set[TokenScope]) -> None:
    check_scopes("token", scopes, TokenScope.READ)


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("PUT", {**LOCAL, "Origin": "http://127.0.0.1:8000"}, 200),
        ("PUT", {**LOCAL, "Origin": "http://127.0.0.1:8001"}, 403),
        ("PUT", {**LOCAL, "Origin": "null"}, 403),
        ("GET", {**LOCAL, "Origin": "http://evil.example"}, 200),
        ("GET", {"Host": "evil.example"}, 403),
        ("GET", {"Host": "cam.example"}, 200),
    ],
)
def test_other_sites_can_neither_change_nor_rebind(method: str, headers: dict[str, str], status: int) -> None:
    response = request(method, "/v1/sources/gate", headers, hosts="cam.example")
    assert response.status == status


def test_a_token_makes_any_host_name_acceptable() -> None:
    headers = {"Host": "anything.example", "Authorization": f"Bearer {READ}"}
    assert request("GET", "/metrics", headers, read_token=READ).status == 200
    assert request("GET", "/metrics", {**headers, "Host": "x"}, read_token=READ, hosts="y").status == 403
