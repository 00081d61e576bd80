"""Middleware: security headers, the limit of a JSON body, and checks of the Host and Origin headers."""

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from asgi import call_app, http_scope
from lumaflow_service.api.middleware import (
    JSON_METHODS,
    MAX_JSON_BYTES,
    JsonBodyLimit,
    SecurityHeaders,
    TrustedHosts,
    host_name,
    is_loopback,
)
from lumaflow_service.errors import OtherSiteError


async def echo_length(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that answers with the length of the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)}", headers={"X-Own": "kept"})(scope, receive, send)


# security headers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (
            "Content-Security-Policy",
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'",
        ),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Own", "kept"),
    ],
)
def test_every_response_has_the_security_headers(name: str, value: str) -> None:
    response = call_app(SecurityHeaders(echo_length), http_scope())
    assert response.headers.getlist(name) == [value]


def test_a_websocket_message_gets_no_headers() -> None:
    async def accept(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept", "subprotocol": None})

    response = call_app(SecurityHeaders(accept), {"type": "websocket", "path": "/"})
    assert response.messages == [{"type": "websocket.accept", "subprotocol": None}]


# JSON body limit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", JSON_METHODS)
def test_a_json_body_at_the_limit_is_read(method: str) -> None:
    chunks = [b"x" * (MAX_JSON_BYTES - 1), b"x"]
    response = call_app(JsonBodyLimit(echo_length), http_scope(method), chunks)
    assert response.body == b"65536"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    "chunks", [[b"x" * (MAX_JSON_BYTES + 1)], [b"x" * MAX_JSON_BYTES, b"x"], [b"x" * 1000] * 70]
)
def test_a_json_body_over_the_limit_is_rejected_while_it_arrives(method: str, chunks: list[bytes]) -> None:
    with pytest.raises(HTTPException, match="expected at most 65536 bytes of JSON, got more") as caught:
        call_app(JsonBodyLimit(echo_length), http_scope(method), chunks)
    assert caught.value.status_code == 413


def test_a_frame_is_not_limited_as_json() -> None:
    response = call_app(JsonBodyLimit(echo_length), http_scope("POST"), [b"x" * (MAX_JSON_BYTES + 1)])
    assert response.body == b"65537"


def test_the_limit_counts_each_request_separately() -> None:
    app = JsonBodyLimit(echo_length)
    for _ in range(2):
        assert call_app(app, http_scope("PUT"), [b"x" * MAX_JSON_BYTES]).body == b"65536"


# Host and Origin ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("cam.example", "cam.example"),
        ("CAM.example:8443", "cam.example"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("user@evil.example", "evil.example"),
        ("[::1", ""),
        ("", ""),
    ],
)
def test_the_host_name_has_no_port(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    ("name", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.255.0.9", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("192.168.1.2", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_loopback_names_are_localhost_and_loopback_addresses(name: str, loopback: bool) -> None:
    assert is_loopback(name) is loopback


HOSTS = TrustedHosts("192.168.1.2", ("cam.example",), allow_any=False)


@pytest.mark.parametrize(
    "host", ["192.168.1.2:8000", "cam.example", "CAM.example:80", "localhost:1", "[::1]"]
)
def test_the_own_names_are_accepted(host: str) -> None:
    HOSTS.check_host({"host": host})


@pytest.mark.parametrize("host", ["192.168.1.3", "evil.example", "cam.example.evil.example", "[::1", ":80"])
def test_another_host_name_is_rejected(host: str) -> None:
    with pytest.raises(OtherSiteError, match="LUMAFLOW_HOSTS"):
        HOSTS.check_host({"host": host})


def test_a_request_without_a_host_header_passes() -> None:
    HOSTS.check_host({})


@pytest.mark.parametrize(
    "origin", ["http://192.168.1.2:8000", "https://cam.example", "https://cam.example:8443", None]
)
def test_requests_of_the_own_page_and_of_programs_are_accepted(origin: str | None) -> None:
    headers = {"host": "192.168.1.2:8000"}
    HOSTS.check_origin(headers if origin is None else {**headers, "origin": origin})


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://192.168.1.2:8001",
        "http://192.168.1.2",
        "https://cam.example.evil.example",
        "null",
        "",
        "http://",
    ],
)
def test_requests_of_pages_of_other_sites_are_rejected(origin: str) -> None:
    with pytest.raises(OtherSiteError, match="open the page at 192"):
        HOSTS.check_origin({"host": "192.168.1.2:8000", "origin": origin})


def test_an_origin_needs_a_host_header_to_compare_with() -> None:
    with pytest.raises(OtherSiteError):
        HOSTS.check_origin({"origin": "http://192.168.1.2:8000"})
