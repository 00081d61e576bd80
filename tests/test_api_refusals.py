"""Client errors: each gets a problem with a sentence, quickly, and the worker survives."""

import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from conftest import RunningService

RAW = {"Content-Type": "application/octet-stream"}
GRAY = {"format": "gray8", "width": "16", "height": "8"}


@pytest.fixture(scope="module")
def small(open_service: Callable[..., RunningService]) -> RunningService:
    """A service with narrow limits."""
    running = open_service(
        slots=4, slot_bytes=1 << 20, max_pixels=1_000_000, body_seconds=1, queue_depth=2, max_viewers=1
    )
    running.wait_ready()
    return running


def check_problem(answer: httpx.Response, status: int, words: str) -> None:
    """Assert that this is a problem of RFC 9457 with these words in it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "instance"}
    assert body["status"] == status
    assert body["instance"] == answer.request.url.path
    assert words in body["detail"]


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and has no picture."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk))


def jpeg() -> bytes:
    """A small whole JPEG."""
    return cv2.imencode(".jpg", np.full((40, 40, 3), 50, np.uint8))[1].tobytes()


@pytest.mark.parametrize(
    ("media", "body", "status", "words"),
    [
        ("image/jpeg", b"", 400, "empty"),
        ("image/png", b"", 400, "empty"),
        ("image/jpeg", b"garbage" * 99, 400, "expected a JPEG or PNG image"),
        ("image/jpeg", jpeg()[:-200], 400, "truncated"),
        ("image/png", jpeg(), 415, "send it with Content-Type: image/jpeg"),
        ("image/png", png_header(20_000, 20_000), 413, "20000x20000"),
        ("image/png", png_header(0, 5), 400, "0x5"),
        ("image/jpeg", b"GIF89a" + bytes(50), 415, "GIF"),
        ("image/gif", b"GIF89a", 415, "expected Content-Type: image/jpeg, image/png"),
        ("text/plain", b"hello", 415, "got text/plain"),
    ],
)
def test_invalid_image_is_rejected(
    service: RunningService, media: str, body: bytes, status: int, words: str
) -> None:
    worker = service.worker
    started = time.monotonic()
    headers = {"Content-Type": media}
    answer = service.client.post("/v1/sources/bad/frames", content=body, headers=headers)
    assert time.monotonic() - started < 5
    check_problem(answer, status, words)
    assert service.worker == worker


def test_frame_without_content_type_is_rejected(client: httpx.Client) -> None:
    check_problem(client.post("/v1/sources/bad/frames", content=jpeg()), 415, "got (none)")


@pytest.mark.parametrize(
    ("query", "length", "status", "words"),
    [
        ({}, 128, 400, "got a query without them; add ?format=gray8|gray10"),
        ({"format": "gray8", "width": "16"}, 128, 400, "expected the format, width and height"),
        (GRAY, 127, 400, "expected 128 bytes by format, width and height, got a raw body of 127 bytes"),
        (GRAY, 129, 400, "129 bytes"),
        (GRAY, 0, 400, "0 bytes"),
        ({**GRAY, "format": "cmyk"}, 128, 422, "format"),
        ({**GRAY, "width": "0"}, 0, 422, "width"),
        ({**GRAY, "width": "-4"}, 0, 422, "width"),
        ({**GRAY, "width": "wide"}, 0, 422, "width"),
        (
            {**GRAY, "width": "32768", "height": "32768"},
            5,
            413,
            "expected at most 16777216 pixels, got 32768x32768",
        ),
        ({**GRAY, "features": "smell"}, 128, 422, "hog,lbp,histogram,heatmap"),
    ],
)
def test_invalid_raw_frame_is_rejected(
    client: httpx.Client, query: dict[str, str], length: int, status: int, words: str
) -> None:
    answer = client.post("/v1/sources/bad/frames", content=bytes(length), params=query, headers=RAW)
    check_problem(answer, status, words)


def test_chunked_raw_frame_of_wrong_length_is_rejected(client: httpx.Client) -> None:
    for length in (100, 200):
        answer = client.post(
            "/v1/sources/bad/frames", content=iter([bytes(length)]), params=GRAY, headers=RAW
        )
        check_problem(answer, 400, f"raw body of {length} bytes")


def test_reload_without_a_configuration_is_rejected(client: httpx.Client) -> None:
    check_problem(client.post("/v1/config/reload"), 409, "start the service with --config FILE")


def test_rejected_frame_creates_no_source(client: httpx.Client) -> None:
    client.post("/v1/sources/phantom/frames", content=b"garbage", headers={"Content-Type": "image/jpeg"})
    assert client.get("/v1/sources/phantom").status_code == 404


def test_unsupported_accept_header_gets_406(client: httpx.Client) -> None:
    headers = {"Content-Type": "image/jpeg", "Accept": "image/webp"}
    answer = client.post("/v1/sources/bad/frames", content=jpeg(), headers=headers)
    check_problem(answer, 406, "expected an Accept header that allows image/jpeg")


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/nothing", 404, "no route /nothing; "),
        ("GET", "/v1/nothing", 404, "/docs lists all routes"),
        ("DELETE", "/livez", 405, "got DELETE"),
        ("GET", "/v1/sources/a/frames", 405, "expected POST"),
    ],
)
def test_unknown_routes_and_methods_get_a_problem(
    client: httpx.Client, method: str, path: str, status: int, words: str
) -> None:
    check_problem(client.request(method, path), status, words)


def test_malformed_json_gets_422(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    check_problem(client.put("/v1/sources/json", content=b"{", headers=headers), 422, "JSON")


def test_long_json_body_gets_413(client: httpx.Client) -> None:
    body = b'{"options": {"mode": "' + bytes(100_000) + b'"}}'
    for content in (body, iter([body])):
        answer = client.put("/v1/sources/json", content=content, headers={"Content-Type": "application/json"})
        check_problem(answer, 413, "65536 bytes of JSON")


def test_every_corrupt_file_is_rejected_or_decoded_and_the_worker_survives(
    service: RunningService, shared_data: Path
) -> None:
    worker = service.worker
    statuses = {}
    for path in sorted((shared_data / "images" / "corrupt").iterdir()):
        media = "image/png" if path.suffix == ".png" else "image/jpeg"
        started = time.monotonic()
        answer = service.client.post(
            "/v1/sources/corrupt/frames", content=path.read_bytes(), headers={"Content-Type": media}
        )
        assert time.monotonic() - started < 5, path.name
        statuses[path.name] = answer.status_code
        if answer.status_code != 200:
            assert 400 <= answer.status_code < 500, (path.name, answer.text)
            assert len(answer.json()["detail"].split()) > 4
    assert service.worker == worker
    taken = {name for name, status in statuses.items() if status == 200}
    assert taken <= WHOLE, f"damaged, yet answered: {taken - WHOLE}"


WHOLE = {"exif_typeerror.jpg", "missing_huffman.jpg", "padded_idat.png"}
"""Files of the corrupt folder that every decoder decodes completely: the damage is outside the image data, or
the JPEG omits the standard Huffman tables, as MJPEG cameras do."""


def test_body_over_the_limit_is_rejected_before_it_is_read(small: RunningService) -> None:
    with connected(small, "big", 3 << 30, b"\xff\xd8") as peer:
        head, body = read_answer(peer)
    assert b" 413 " in head
    assert b"connection: close" in head.lower()
    assert b"at most 1048576" in body


def test_chunked_body_over_the_limit_is_rejected(small: RunningService) -> None:
    chunks = (bytes(100_000) for _ in range(20))
    answer = small.client.post(
        "/v1/sources/big/frames", content=chunks, headers={"Content-Type": "image/jpeg"}
    )
    check_problem(answer, 413, "at most 1048576")


def test_png_with_too_many_pixels_is_rejected(small: RunningService) -> None:
    body = cv2.imencode(".png", np.zeros((1001, 1000), np.uint8))[1].tobytes()
    answer = small.client.post("/v1/sources/big/frames", content=body, headers={"Content-Type": "image/png"})
    check_problem(answer, 413, "1000x1001")


def test_frame_larger_than_a_slot_is_rejected(small: RunningService) -> None:
    body = cv2.imencode(".png", np.zeros((900, 900, 3), np.uint8))[1].tobytes()
    answer = small.client.post("/v1/sources/big/frames", content=body, headers={"Content-Type": "image/png"})
    check_problem(answer, 413, "expected at most 1048576 bytes")


def test_slow_body_gets_408_and_its_slot_is_released(small: RunningService) -> None:
    with connected(small, "slow", 1000, b"\xff\xd8") as peer:
        head, body = read_answer(peer)
    assert b" 408 " in head
    assert b"within 1 s" in body
    assert slots_in_use(small) == 0


def test_full_queue_gets_429_with_retry_after(small: RunningService) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connected(small, "full", 1000, b"\xff\xd8"))
        wait_for_slots(small, 2)
        answer = small.client.post(
            "/v1/sources/full/frames", content=jpeg(), headers={"Content-Type": "image/jpeg"}
        )
        check_problem(answer, 429, "queue of 'full' is full (2 frames)")
        assert int(answer.headers["Retry-After"]) >= 1
        assert answer.headers["Connection"] == "close"
    wait_for_slots(small, 0)


def test_slow_clients_leave_slots_for_views(small: RunningService) -> None:
    headers = {"Content-Type": "image/jpeg"}
    assert small.client.post("/v1/sources/seen/frames", content=jpeg(), headers=headers).status_code == 200
    with ExitStack() as stack:
        for number in range(2):
            stack.enter_context(connected(small, f"slow{number}", 1000, b"\xff\xd8"))
        wait_for_slots(small, 2)
        answer = small.client.post("/v1/sources/seen/frames", content=jpeg(), headers=headers)
        check_problem(answer, 429, "slots are in use")
        assert small.client.get("/v1/sources/seen/snapshot.jpg").status_code == 200
        assert small.client.get("/readyz").status_code == 200
    wait_for_slots(small, 0)


def test_disconnect_during_upload_releases_the_slot(small: RunningService) -> None:
    for _ in range(10):
        with connected(small, "leaves", 1000, b"\xff\xd8"):
            wait_for_slots(small, 1)
        wait_for_slots(small, 0)
    answer = small.client.post(
        "/v1/sources/leaves/frames", content=jpeg(), headers={"Content-Type": "image/jpeg"}
    )
    assert answer.status_code == 200


def test_viewers_are_limited_and_a_disconnect_frees_a_place(small: RunningService) -> None:
    headers = {"Content-Type": "image/jpeg"}
    live = "/v1/sources/watched/live.mjpg"
    small.client.post("/v1/sources/watched/frames", content=jpeg(), headers=headers)
    with small.client.stream("GET", live) as viewer:
        pictures = viewer.iter_raw()
        next(pictures)
        with small.client.stream("GET", live) as second:
            assert second.status_code == 429
            assert b"1 viewers are connected" in second.read()
        pictures.close()
    end = time.monotonic() + 20
    while True:
        small.client.post("/v1/sources/watched/frames", content=jpeg(), headers=headers)
        with small.client.stream("GET", live) as viewer:
            if viewer.status_code == 200:
                break
        assert time.monotonic() < end, "the place of a viewer that left is still taken"
        time.sleep(0.05)


def test_idle_sources_are_evicted_and_pinned_ones_stay(open_service: Callable[..., RunningService]) -> None:
    running = open_service(max_sources=3)
    running.wait_ready()
    running.client.put("/v1/sources/kept", json={})
    for number in range(5):
        answer = running.client.post(
            f"/v1/sources/s{number}/frames", content=jpeg(), headers={"Content-Type": "image/jpeg"}
        )
        assert answer.status_code == 200
    ids = [source["id"] for source in running.client.get("/v1/sources").json()["sources"]]
    assert ids == ["kept", "s3", "s4"]


@contextmanager
def connected(service: RunningService, source: str, length: int, start: bytes) -> Iterator[socket.socket]:
    """A client that has sent the head of a request and only the start of its body."""
    url = service.client.base_url
    with socket.create_connection((url.host, url.port), timeout=10) as peer:
        peer.sendall(
            f"POST /v1/sources/{source}/frames HTTP/1.1\r\nHost: {url.host}\r\n"
            f"Content-Type: image/jpeg\r\nContent-Length: {length}\r\n\r\n".encode()
            + start
        )
        yield peer


def read_answer(peer: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of an answer, up to the end of the connection."""
    received = b""
    while chunk := peer.recv(65536):
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


def slots_in_use(service: RunningService) -> int:
    """Slots handed out, as the metrics say."""
    for line in service.client.get("/metrics").text.splitlines():
        if line.startswith("lumaflow_slots_in_use{"):
            return int(float(line.split()[-1]))
    raise AssertionError("no such metric")


def wait_for_slots(service: RunningService, number: int) -> None:
    """Wait until so many slots are in use."""
    end = time.monotonic() + 5
    while (used := slots_in_use(service)) != number:
        assert time.monotonic() < end, f"expected {number} slots in use, got {used}"
        time.sleep(0.01)
