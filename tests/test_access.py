"""Who may do what: every route against every token, other sites' pages, and where tokens must not turn up."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from conftest import SERVE, RunningService
from lumaflow_service.api.access import WEBSOCKET, Scope, required_scope
from lumaflow_service.api.app import ROUTES, create_app
from lumaflow_service.api.middleware import TrustedHosts
from lumaflow_service.api.server import check_bind_address, listen, url_of
from lumaflow_service.cli import run
from lumaflow_service.config.settings import Settings
from lumaflow_service.errors import AddressError, OtherSiteError

TOKENS = {scope: f"{scope}-{'0123456789abcdef'}" for scope in Scope}
WRONG = "wrong-0123456789abcdef"
INGEST, READ, ADMIN, OPEN = Scope.INGEST, Scope.READ, Scope.ADMIN, None
TABLE: dict[tuple[str, str], Scope | None] = {
    ("GET", "/"): OPEN,
    ("GET", "/{name}"): OPEN,
    ("GET", "/docs"): OPEN,
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/livez"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): READ,
    ("GET", "/v1/about"): READ,
    ("GET", "/v1/sources"): READ,
    ("GET", "/v1/sources/{source}"): READ,
    ("PUT", "/v1/sources/{source}"): ADMIN,
    ("PATCH", "/v1/sources/{source}"): ADMIN,
    ("DELETE", "/v1/sources/{source}"): ADMIN,
    ("POST", "/v1/sources/{source}/frames"): INGEST,
    (WEBSOCKET, "/v1/sources/{source}/frames"): INGEST,
    ("GET", "/v1/sources/{source}/snapshot.jpg"): READ,
    ("GET", "/v1/sources/{source}/live.mjpg"): READ,
    (WEBSOCKET, "/v1/sources/{source}/live"): READ,
    ("POST", "/v1/sources/{source}/whep"): READ,
    ("DELETE", "/v1/sources/{source}/whep/{peer}"): READ,
    ("GET", "/v1/sources/{source}/features.npz"): READ,
    ("GET", "/v1/sources/{source}/histogram"): READ,
    ("GET", "/v1/sources/{source}/heatmap.png"): READ,
    ("GET", "/v1/sources/{source}/hog.png"): READ,
    ("GET", "/v1/sources/{source}/lbp.png"): READ,
    ("POST", "/v1/sources/{source}/pause"): ADMIN,
    ("POST", "/v1/sources/{source}/resume"): ADMIN,
    ("POST", "/v1/sources/{source}/restart"): ADMIN,
    ("POST", "/v1/config/reload"): ADMIN,
    ("POST", "/v1/trials"): INGEST,
    ("GET", "/v1/trials/{trial}"): READ,
    ("GET", "/v1/trials/{trial}/before"): READ,
    ("GET", "/v1/trials/{trial}/after"): READ,
}
"""What each route needs. A route that is not here fails the first test."""
FILLED = {"{source}": "nobody", "{trial}": "none", "{peer}": "none", "{name}": "app.js"}
WALLED = [route for route, scope in TABLE.items() if scope]
PAGE_HEADERS = {"Origin": "http://elsewhere.example"}


def routes_of_the_application() -> set[tuple[str, str]]:
    """(method, path) of every route there is."""
    own = [route for route in create_app(Settings()).routes if isinstance(route, Route)]
    every = own + [route for module in ROUTES for route in module.router.routes]
    return {
        (method, route.path)
        for route in every
        for method in (getattr(route, "methods", None) or {WEBSOCKET}) - {"HEAD"}
    }


def test_every_route_is_in_the_table() -> None:
    assert routes_of_the_application() == set(TABLE)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/new"), ("PUT", "/livez"), ("DELETE", "/"), ("X", "/")]
)
def test_unknown_paths_need_the_admin_scope(method: str, path: str) -> None:
    assert required_scope(method, path) is ADMIN
    assert required_scope("GET", "/new") is READ


@pytest.fixture(scope="module")
def guarded(open_service: Callable[..., RunningService]) -> RunningService:
    """A service with a token of each scope."""
    running = open_service(**{f"{scope}_token": token for scope, token in TOKENS.items()})
    running.wait_ready()
    return running


def send_request(
    service: RunningService, method: str, path: str, token: str = "", **headers: str
) -> httpx.Response:
    """The answer to a request, or to the handshake of a WebSocket."""
    for placeholder, value in FILLED.items():
        path = path.replace(placeholder, value)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if method != WEBSOCKET:
        return service.client.request(method, path, headers=headers)
    return asyncio.run(websocket_handshake(service, path, headers))


async def websocket_handshake(
    service: RunningService, path: str, headers: dict[str, str], offered: list[str] | None = None
) -> httpx.Response:
    """What a WebSocket's handshake is answered with."""
    address = str(service.client.base_url).replace("http", "ws").rstrip("/")
    how = {"additional_headers": headers, "subprotocols": offered, "proxy": None}
    try:
        async with connect(f"{address}{path}", **how) as socket:
            return httpx.Response(101, headers={"chosen": socket.subprotocol or ""})
    except InvalidStatus as refused:
        answer = refused.response
        return httpx.Response(
            answer.status_code, headers=dict(answer.headers), content=bytes(answer.body or b"")
        )


@pytest.mark.parametrize(("method", "path"), TABLE, ids=str)
def test_route_accepts_only_tokens_of_its_scope(guarded: RunningService, method: str, path: str) -> None:
    wanted = TABLE[method, path]
    for token in ("", WRONG):
        answer = send_request(guarded, method, path, token)
        assert (answer.status_code == 401) is (wanted is not OPEN), token
    for scope, token in TOKENS.items():
        status = send_request(guarded, method, path, token).status_code
        assert (status == 403) is (wanted is not OPEN and scope not in (wanted, ADMIN)), scope
        assert status != 401


@pytest.mark.parametrize(("method", "path"), WALLED, ids=str)
def test_unauthorized_response_is_a_problem_with_a_challenge(
    guarded: RunningService, method: str, path: str
) -> None:
    missing, wrong = (send_request(guarded, method, path, token) for token in ("", WRONG))
    for answer in (missing, wrong):
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="lumaflow"'
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert "expected a token, got none" in missing.json()["detail"]
    assert "got a wrong one" in wrong.json()["detail"]


def test_forbidden_response_names_the_required_scope(guarded: RunningService) -> None:
    answer = send_request(guarded, "DELETE", "/v1/sources/gate", TOKENS[READ])
    assert answer.json()["detail"] == (
        "expected a token of scope admin, got one of scope read; use another token"
    )
    answer = send_request(guarded, "GET", "/metrics", TOKENS[INGEST])
    assert answer.json()["detail"] == (
        "expected a token of scope admin or read, got one of scope ingest; use another token"
    )


def test_about_lists_the_scopes_of_the_token(guarded: RunningService, client: httpx.Client) -> None:
    for token, scopes in ((READ, ["read"]), (ADMIN, ["admin", "ingest", "read"])):
        assert send_request(guarded, "GET", "/v1/about", TOKENS[token]).json()["scopes"] == scopes
    assert client.get("/v1/about").json()["scopes"] == ["admin", "ingest", "read"]  # there are no tokens


@pytest.mark.parametrize("header", ["{}", "Basic {}", "Bearer", "Bearer {}x", "bearer é"])
def test_other_authorization_headers_are_rejected(guarded: RunningService, header: str) -> None:
    value = header.format(TOKENS[ADMIN]).encode("latin-1")
    assert guarded.client.get("/metrics", headers={"Authorization": value}).status_code == 401


def test_token_in_a_url_is_ignored(guarded: RunningService) -> None:
    for name in ("token", "access_token", "authorization"):
        assert guarded.client.get("/metrics", params={name: TOKENS[ADMIN]}).status_code == 401


@pytest.mark.parametrize(
    "path",
    ["//metrics", "/%6detrics", "/livez/../metrics", "/livez/", "/app.js/../v1/sources", "/v1/./about"],
)
def test_no_path_spelling_bypasses_authorization(guarded: RunningService, path: str) -> None:
    answer = guarded.client.get(httpx.URL(str(guarded.client.base_url)).copy_with(raw_path=path.encode()))
    assert answer.status_code in (401, 404)


def test_host_header_does_not_change_the_checked_path(guarded: RunningService) -> None:
    for host in ("127.0.0.1/livez?", "x/docs#", "[::1/livez"):
        assert guarded.client.get("/metrics", headers={"Host": host}).status_code == 401


def test_socket_accepts_a_token_as_subprotocol(guarded: RunningService) -> None:
    path = "/v1/sources/nobody/live"
    for token, status in ((TOKENS[READ], 101), (WRONG, 401), (TOKENS[INGEST], 403)):
        answer = asyncio.run(websocket_handshake(guarded, path, {}, ["lumaflow", f"bearer.{token}"]))
        assert answer.status_code == status
        assert answer.headers.get("chosen", "lumaflow") == "lumaflow"


def test_large_unauthorized_frame_gets_401(guarded: RunningService) -> None:
    answer = guarded.client.post("/v1/sources/gate/frames", content=b"\xff\xd8\xff" + bytes(8 << 20))
    assert answer.status_code == 401


def test_openapi_names_the_scope_of_each_route(guarded: RunningService) -> None:
    description = guarded.client.get("/openapi.json").json()
    for (method, path), scope in TABLE.items():
        route = description["paths"].get(path, {}).get(method.lower())
        if route:
            assert [demand["token"] for demand in route.get("security", [])[:1]] == (
                [[scope]] if scope else []
            )
            assert ({"401", "403"} <= set(route["responses"])) is (scope is not OPEN)


# without tokens: loopback alone, and no other site's page -----------------------------------------


@pytest.mark.parametrize(("method", "path"), TABLE, ids=str)
def test_pages_of_other_origins_cannot_change_anything(
    service: RunningService, method: str, path: str
) -> None:
    answer = send_request(service, method, path, **PAGE_HEADERS)
    assert (answer.status_code == 403) is (method != "GET")


def test_own_page_and_clients_without_origin_are_accepted(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    for headers in ({"Origin": own}, {}):
        assert client.delete("/v1/sources/nobody", headers=headers).status_code == 404
    for origin in ("null", "", "http://127.0.0.1:1", own.replace("http://", "http://user@")):
        assert client.delete("/v1/sources/nobody", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.0.2.1:8000", "[::ffff:1.2.3.4]", "x:y:z"]
)
def test_unknown_host_names_are_rejected(client: httpx.Client, host: str) -> None:
    headers = {"Host": host, "Origin": f"http://{host}"}
    assert client.get("/v1/sources", headers=headers).status_code == 403
    assert client.get("/livez", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.2", "[::1]:80"])
def test_loopback_host_names_are_accepted(client: httpx.Client, host: str) -> None:
    assert client.get("/v1/sources", headers={"Host": host}).status_code == 200


def test_host_names_can_be_added_for_a_proxy() -> None:
    names = TrustedHosts("127.0.0.1", Settings(hosts="cam.example, other.example").hosts, allow_any=False)
    names.check_host({"host": "other.example:8443"})
    names.check_origin({"host": "127.0.0.1:8000", "origin": "https://cam.example"})
    with pytest.raises(OtherSiteError, match=r"got Host: third\.example"):
        names.check_host({"host": "third.example"})


def test_with_a_token_any_host_is_accepted_unless_hosts_are_listed() -> None:
    TrustedHosts("0.0.0.0", (), allow_any=True).check_host({"host": "cam.example"})
    with pytest.raises(OtherSiteError):
        TrustedHosts("0.0.0.0", ("other.example",), allow_any=True).check_host({"host": "cam.example"})


# starting, and where a token must not turn up ------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "cam.example"])
def test_without_a_token_only_loopback_is_allowed(host: str) -> None:
    with pytest.raises(AddressError, match=f"--host {host} without a token; .*LUMAFLOW_ADMIN_TOKEN.*openssl"):
        check_bind_address(Settings(host=host))
    check_bind_address(Settings(host=host, read_token=TOKENS[READ]))


@pytest.mark.parametrize("command", [["serve"], ["ingest", "--config", "absent.yaml"]])
def test_command_without_token_exits_with_a_hint(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--host", "0.0.0.0"]) == 2
    assert "set LUMAFLOW_ADMIN_TOKEN" in capsys.readouterr().err


def test_missing_device_is_one_error_line_without_an_address() -> None:
    command = [sys.executable, "-m", "lumaflow_service", "serve", "--device", "cuda:77", "--port", "0"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("lumaflow: cannot use cuda:77: ")
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]"), ("::1", "[::1]")])
def test_printed_url_can_be_opened(host: str, here: str) -> None:
    with listen(host, 0) as listener:
        assert url_of(listener) == f"http://{here}:{listener.getsockname()[1]}/"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    check_bind_address(Settings(host=host))


@pytest.mark.parametrize("token", ["short", "with space 0123456789", "0123456789abcdefé", "x" * 513])
def test_weak_token_is_rejected_and_not_printed(token: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "lumaflow_service", "serve"],
        env={**os.environ, "LUMAFLOW_ADMIN_TOKEN": token},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 2
    assert "LUMAFLOW_ADMIN_TOKEN: expected 16 to 512" in answer.stderr
    assert token not in answer.stdout + answer.stderr


def test_token_is_in_no_log_response_metric_or_child(tmp_path: Path) -> None:
    secret = "canary+0123456789/abc=def"
    variables = {f"LUMAFLOW_{scope}_TOKEN".upper(): secret for scope in Scope}
    log = tmp_path / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE],
            env={**os.environ, **variables, "LUMAFLOW_PORT": "0", "LUMAFLOW_DEVICE": "cpu"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout
    try:
        address = process.stdout.readline().split()[-1]
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            running = RunningService(process, client)
            running.wait_ready()
            said = [
                client.get(path).text for path in ("/metrics", "/v1/about", "/v1/sources", "/openapi.json")
            ]
            said.append(client.put("/v1/sources/x", json={"url": f"rtsp://a:{secret}@x y/{secret}"}).text)
            said.append(client.get(f"/v1/sources/{secret}").headers.get("Location", ""))
            inherited = Path(f"/proc/{running.worker}/environ").read_text()
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
    assert secret not in "".join([*said, inherited, log.read_text()])
