"""Slow clients: each is disconnected in time, and other clients are not affected."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection

import numpy as np
import pytest
from websockets.sync.client import connect

from conftest import RunningService
from lumaflow_service.api.server import BODY_GRACE_SECONDS
from lumaflow_service.media.codec import encode_jpeg

HEAD_SECONDS, BODY_SECONDS, STALL_SECONDS = 1.5, 1.0, 3.0
TRICKLERS = 60
DRIP_SECONDS = 0.2
PATIENCE_SECONDS = 15.0
"""Far more than the deadlines, for a busy machine."""
POST = "POST /v1/sources/gate/frames HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/jpeg\r\n"
PUT = "PUT /v1/sources/gate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
BODY = "Content-Length: 100000\r\n\r\n"
STARTS = {
    "nothing": "",
    "head": "GET /livez HTTP/1.1\r\nX-Long: ",
    "frame": POST + BODY,
    "json": PUT + BODY,
    "refused": POST.replace("image/jpeg", "text/plain") + BODY,
    "second": "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /livez HTTP/1.1\r\nX-Long: ",
}
"""Bytes that a client sends at once, before it sends single bytes (the first sends none)."""


@pytest.fixture(scope="module")
def hasty(open_service: Callable[..., RunningService]) -> RunningService:
    """A service with short deadlines."""
    running = open_service(
        head_seconds=HEAD_SECONDS, body_seconds=BODY_SECONDS, stall_seconds=STALL_SECONDS, max_viewers=1
    )
    running.wait_ready()
    return running


@contextmanager
def connected(service: RunningService, start: str) -> Iterator[socket.socket]:
    """A client that has sent the start of something."""
    url = service.client.base_url
    with socket.create_connection((url.host, url.port), timeout=PATIENCE_SECONDS) as peer:
        peer.sendall(start.encode())
        yield peer


def seconds_until_closed(peer: socket.socket, drip: bool) -> float:
    """How long the service keeps a client that goes on sending a byte now and then."""
    began = time.monotonic()
    peer.settimeout(DRIP_SECONDS)
    while time.monotonic() - began < PATIENCE_SECONDS:
        try:
            if drip:
                peer.sendall(b"x")
            if not peer.recv(65536):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


@pytest.mark.parametrize("start", STARTS)
def test_slow_client_is_disconnected(hasty: RunningService, start: str) -> None:
    with connected(hasty, STARTS[start]) as peer:
        took = seconds_until_closed(peer, drip=start != "nothing")
    assert BODY_SECONDS / 2 < took < PATIENCE_SECONDS


def test_endless_request_head_is_disconnected(hasty: RunningService) -> None:
    with connected(hasty, STARTS["head"]) as peer, pytest.raises(ConnectionError):
        pour(peer, 100)


def pour(peer: socket.socket, times: int) -> None:
    """Send 64 KiB so many times."""
    for _ in range(times):
        peer.sendall(b"x" * 65536)
        time.sleep(0.001)


def test_keep_alive_connection_serves_many_requests(hasty: RunningService) -> None:
    url = hasty.client.base_url
    began = time.monotonic()
    client = HTTPConnection(url.host, url.port, timeout=PATIENCE_SECONDS)
    while time.monotonic() - began < 2 * HEAD_SECONDS + BODY_SECONDS:  # on one connection
        client.putrequest("GET", "/livez")
        client.putheader("X-Slow", "x" * 5000)
        client.endheaders()
        assert client.getresponse().read()
        first = client.sock
        time.sleep(DRIP_SECONDS)
        assert client.sock is first
    client.close()


def test_websocket_has_no_request_deadline(hasty: RunningService) -> None:
    address = str(hasty.client.base_url).replace("http", "ws").rstrip("/")
    query = "format=gray8&width=16&height=16"
    with connect(f"{address}/v1/sources/lasting/frames?{query}", proxy=None) as frames:
        for pause_seconds in (0.0, HEAD_SECONDS + BODY_SECONDS + BODY_GRACE_SECONDS + 1):
            time.sleep(pause_seconds)
            frames.send(bytes(256))
            assert len(frames.recv(PATIENCE_SECONDS)) == 256


def test_viewer_that_reads_nothing_is_disconnected(hasty: RunningService) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (1200, 1600), np.uint8)
    frame, headers = encode_jpeg(noise), {"Content-Type": "image/jpeg", "Accept": "application/json"}
    live = "/v1/sources/stalled/live.mjpg"
    assert hasty.client.post("/v1/sources/stalled/frames", content=frame, headers=headers).is_success
    with connected(hasty, f"GET {live} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as viewer:
        assert viewer.recv(100)
        end = time.monotonic() + 2 * PATIENCE_SECONDS
        while True:  # more and more pictures, until all buffers on the way are full
            hasty.client.post("/v1/sources/stalled/frames", content=frame, headers=headers)
            with hasty.client.stream("GET", live) as other:
                if other.status_code == 200:
                    break
            assert time.monotonic() < end, "the place of a viewer that takes nothing is still taken"


def test_large_response_completes_over_a_slow_connection(hasty: RunningService) -> None:
    noise = np.random.default_rng(2).integers(0, 255, (2400, 3200), np.uint8)
    query = "format=gray8&width=3200&height=2400"
    start = POST.replace("image/jpeg", "application/octet-stream").replace("/frames", f"/frames?{query}")
    with connected(hasty, f"{start}Content-Length: {noise.size}\r\n\r\n") as peer:
        peer.sendall(noise.tobytes())
        began, received = time.monotonic(), len(peer.recv(4096))
        while received < noise.size:  # slower than the service writes, quicker than it waits for a byte
            time.sleep(STALL_SECONDS / 50)
            chunk = peer.recv(65536)
            assert chunk, f"connection closed after {received} bytes"
            received += len(chunk)
        assert time.monotonic() - began > 2 * STALL_SECONDS


def test_health_checks_pass_with_sixty_slow_clients(hasty: RunningService) -> None:
    kept: list[float] = []

    def send_slowly(start: str) -> None:
        with connected(hasty, start) as peer:
            kept.append(seconds_until_closed(peer, drip=True))

    starts = [STARTS[name] for name in ("head", "frame", "json")] * (TRICKLERS // 3)
    with ExitStack() as stack:
        threads = [threading.Thread(target=send_slowly, args=(start,)) for start in starts]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        while any(thread.is_alive() for thread in threads):
            began = time.monotonic()
            assert hasty.client.get("/livez").status_code == 200
            assert hasty.client.get("/readyz").status_code == 200
            assert time.monotonic() - began < PATIENCE_SECONDS / 2
            time.sleep(0.05)
    assert len(kept) == TRICKLERS
    assert max(kept) < PATIENCE_SECONDS
