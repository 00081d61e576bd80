"""WebSockets: frames in order, live images with their age, errors with a reason."""

import asyncio
import json
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from conftest import RunningService

WIDTH, HEIGHT = 96, 64
RAW = f"format=gray8&width={WIDTH}&height={HEIGHT}"
HEAD = struct.Struct("<If")


def frame(level: int) -> NDArray[np.uint8]:
    """A gray ramp, as bright as `level` at its right end."""
    return np.repeat(np.linspace(0, level, WIDTH).astype(np.uint8)[None], HEIGHT, axis=0)


@asynccontextmanager
async def connected(client: httpx.Client, path: str, **how: Any) -> AsyncIterator[ClientConnection]:
    """A WebSocket of the service."""
    address = str(client.base_url).replace("http", "ws").rstrip("/")
    async with connect(f"{address}/v1/sources/{path}", max_size=None, proxy=None, **how) as socket:
        yield socket


def test_socket_responses_are_enhanced_and_in_order(client: httpx.Client) -> None:
    client.put("/v1/sources/socket", json={"options": {"mode": "identity"}})

    async def talk() -> list[bytes | str]:
        async with connected(client, f"socket/frames?{RAW}") as socket:
            sending = asyncio.create_task(send_all(socket, [frame(level).tobytes() for level in range(40)]))
            answers = [await socket.recv() for _ in range(40)]
            await sending
            return answers

    assert asyncio.run(talk()) == [frame(level).tobytes() for level in range(40)]


async def send_all(socket: ClientConnection, messages: list[bytes]) -> None:
    """Send without waiting for answers."""
    for message in messages:
        await socket.send(message)


def test_socket_and_post_responses_are_equal(client: httpx.Client) -> None:
    picture = cv2.imencode(".png", frame(70))[1].tobytes()
    headers = {"Content-Type": "image/png"}
    posted = client.post("/v1/sources/posted/frames", content=picture, headers=headers).content

    async def talk() -> bytes | str:
        async with connected(client, "sent/frames") as socket:
            await socket.send(picture)
            return await socket.recv()

    assert asyncio.run(talk()) == posted


def test_rejected_frame_gets_a_problem_in_its_place(client: httpx.Client) -> None:
    picture = cv2.imencode(".jpg", frame(70))[1].tobytes()

    async def talk() -> list[bytes | str]:
        async with connected(client, "mixed/frames?answer=image/png") as socket:
            for message in (picture, b"neither", "text", picture[:300], picture):
                await socket.send(message)
            return [await socket.recv() for _ in range(5)]

    first, *refused, last = asyncio.run(talk())
    assert isinstance(first, bytes)
    assert isinstance(last, bytes)
    assert first.startswith(b"\x89PNG")
    assert last.startswith(b"\x89PNG")
    problems = [json.loads(text) for text in refused]
    assert [problem["status"] for problem in problems] == [415, 415, 400]
    assert "expected a binary message with a JPEG or PNG" in problems[0]["detail"]


def test_error_of_a_wrong_raw_length_names_the_expected_length(client: httpx.Client) -> None:
    async def talk() -> bytes | str:
        async with connected(client, f"short/frames?{RAW}") as socket:
            await socket.send(b"\0" * 10)
            return await socket.recv()

    problem = json.loads(asyncio.run(talk()))
    assert (problem["status"], str(WIDTH * HEIGHT) in problem["detail"]) == (400, True)


def test_invalid_query_closes_the_socket_with_a_reason(client: httpx.Client) -> None:
    async def talk() -> ConnectionClosed:
        async with connected(client, "odd/frames?format=gray8") as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            return closed.value

    closed = asyncio.run(talk())
    assert closed.rcvd is not None
    assert closed.rcvd.code == 4400
    assert "expected the format, width and height" in closed.rcvd.reason


def test_message_over_the_limit_closes_the_socket(open_service: Callable[..., RunningService]) -> None:
    small = open_service(slot_bytes=1 << 20)
    small.wait_ready()

    async def talk() -> int:
        async with connected(small.client, "large/frames") as socket:
            await socket.send(b"\xff\xd8\xff" + b"\0" * (1 << 20))
            await socket.wait_closed()
            return socket.close_code or 0

    assert asyncio.run(talk()) == 1009
    assert small.client.get("/livez").status_code == 200


def test_socket_does_not_compress(client: httpx.Client) -> None:
    async def talk() -> list[str]:
        async with connected(client, f"plain/frames?{RAW}", compression="deflate") as socket:
            return [extension.name for extension in socket.protocol.extensions]

    assert asyncio.run(talk()) == []


@pytest.mark.parametrize("path", ["origin/frames", "origin/live"])
def test_socket_of_another_origin_is_rejected(client: httpx.Client, path: str) -> None:
    async def talk() -> int:
        with pytest.raises(InvalidStatus) as refused:
            async with connected(client, path, origin="http://elsewhere.example"):
                pass
        return refused.value.response.status_code

    assert asyncio.run(talk()) == 403


def test_disconnect_with_frames_in_flight_releases_slots(client: httpx.Client) -> None:
    async def talk() -> None:
        for _ in range(12):  # more than there are slots
            async with connected(client, f"leaver/frames?{RAW}") as socket:
                await socket.send(frame(60).tobytes())

    asyncio.run(talk())
    end = time.monotonic() + 10
    while client.get("/v1/sources/leaver").json().get("queue_depth"):
        assert time.monotonic() < end
    answer = client.post(
        f"/v1/sources/leaver/frames?{RAW}",
        content=frame(60).tobytes(),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 200


def post(client: httpx.Client, source: str, level: int) -> None:
    """Post one raw frame."""
    headers = {"Content-Type": "application/octet-stream"}
    content = frame(level).tobytes()
    assert client.post(f"/v1/sources/{source}/frames?{RAW}", content=content, headers=headers).is_success


def test_live_images_have_sequence_age_and_both_halves(client: httpx.Client) -> None:
    post(client, "watched", 60)

    async def talk() -> list[bytes | str]:
        async with connected(client, "watched/live?view=both") as socket:
            first = await socket.recv()
            await socket.send("")
            await asyncio.to_thread(post, client, "watched", 90)
            return [first, await socket.recv()]

    for number, message in enumerate(asyncio.run(talk())):
        assert isinstance(message, bytes)
        sequence, age_seconds = HEAD.unpack_from(message)
        assert (sequence, 0 <= age_seconds < 30) == (number, True)
        picture = cv2.imdecode(np.frombuffer(message, np.uint8)[HEAD.size :], cv2.IMREAD_GRAYSCALE)
        assert picture.shape == (2 * HEIGHT, WIDTH)
        raw = frame((60, 90)[number]).astype(int)
        assert np.abs(picture[:HEIGHT] - raw).mean() < 2
        assert picture[HEIGHT:].mean() > picture[:HEIGHT].mean() + 10


def test_viewer_without_acknowledgements_gets_two_images_then_the_newest(client: httpx.Client) -> None:
    post(client, "slow", 60)

    async def talk() -> list[int]:
        async with connected(client, "slow/live") as socket:
            numbers = [number_of(await socket.recv())]
            for _ in range(5):
                await asyncio.to_thread(post, client, "slow", 90)
            numbers.append(number_of(await socket.recv()))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(socket.recv(), 0.3)
            await socket.send("")
            return [*numbers, number_of(await socket.recv())]

    first, second, third = asyncio.run(talk())
    assert first == 0
    assert 1 <= second < 5
    assert third == 5


def number_of(message: bytes | str) -> int:
    """The number of the frame a picture shows."""
    assert isinstance(message, bytes)
    return int(HEAD.unpack_from(message)[0])


def closing(client: httpx.Client, path: str, meanwhile: Callable[[], object]) -> tuple[int, str]:
    """How a live socket closes."""

    async def talk() -> tuple[int, str]:
        async with connected(client, path) as socket:
            await asyncio.to_thread(meanwhile)
            await socket.wait_closed()
            return socket.close_code or 0, socket.close_reason or ""

    return asyncio.run(talk())


def test_live_of_an_unknown_source_closes_with_a_reason(client: httpx.Client) -> None:
    code, reason = closing(client, "nobody/live", lambda: None)
    assert (code, "unknown source 'nobody'" in reason) == (4404, True)


def test_live_ends_when_its_source_is_deleted(client: httpx.Client) -> None:
    post(client, "ending", 60)
    assert closing(client, "ending/live", lambda: client.delete("/v1/sources/ending"))[0] == 4410


def test_viewer_over_the_limit_is_closed_with_4429(open_service: Callable[..., RunningService]) -> None:
    few = open_service(max_viewers=1)
    few.wait_ready()
    post(few.client, "full", 60)

    async def talk() -> int:
        async with connected(few.client, "full/live") as first:
            await first.recv()
            async with connected(few.client, "full/live") as second:
                with pytest.raises(ConnectionClosed) as closed:
                    await second.recv()
        assert await eventually_shown(few.client, "full/live")  # the place of one who left is free
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code

    assert asyncio.run(talk()) == 4429


async def eventually_shown(client: httpx.Client, path: str) -> bool:
    """Whether a viewer gets a picture within 10 s of trying."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        async with connected(client, path) as socket:
            with suppress(ConnectionClosed):
                return bool(await socket.recv())
    return False
