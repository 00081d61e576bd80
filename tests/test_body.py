"""Receiving a request body into a slot: lengths, deadlines, and the slot afterwards."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from asgi import http_scope
from lumaflow_service.api.body import DRAIN_BYTES, check_content_length, drain, receive_body
from lumaflow_service.api.requests import FrameFormat
from lumaflow_service.errors import BadFrameError, BusyError, SlowBodyError, TooLargeError
from lumaflow_service.ipc.slots import RESERVED_SLOTS, SlotMemory, SlotRing

SLOT_BYTES = 1 << 12
GRAY = FrameFormat(width=4, height=2, format="gray8")
HANG = None
"""A chunk that never arrives."""


class Body:
    """A request body that arrives in chunks; `read` counts the bytes that were read."""

    def __init__(self, *chunks: bytes | None, **headers: str) -> None:
        self._chunks = list(chunks)
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.read = 0

    async def receive(self) -> Message:
        if not self._chunks:
            return {"type": "http.disconnect"}
        chunk = self._chunks.pop(0)
        if chunk is HANG:
            await asyncio.Event().wait()
        assert chunk is not None
        self.read += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": bool(self._chunks)}

    @property
    def request(self) -> Request:
        """The request with this body."""
        return Request(http_scope("POST", headers=self._headers), self.receive)


@contextmanager
def slots(count: int = 4) -> Iterator[SlotRing]:
    """A ring of small slots."""
    memory = SlotMemory.create(count, SLOT_BYTES)
    try:
        yield SlotRing(memory)
    finally:
        memory.close()


def received(body: Body, raw: FrameFormat | None = None, seconds: float = 10) -> tuple[bytes, int]:
    """The bytes in the slot, and how many slots are in use meanwhile. Afterwards no slot may be in use."""

    async def run(ring: SlotRing) -> tuple[bytes, int]:
        async with asyncio.timeout(20), receive_body(body.request, ring, raw, seconds) as (slot, length):
            return bytes(slot.buffer("frame" if raw else "body", length)), ring.in_use

    with slots() as ring:
        try:
            return asyncio.run(run(ring))
        finally:
            assert ring.in_use == 0


@pytest.mark.parametrize(
    "chunks", [(b"12345678",), (b"1234", b"", b"5678"), tuple(b"%d" % n for n in range(1, 9))]
)
@pytest.mark.parametrize("raw", [None, GRAY])
def test_all_chunks_are_written_one_after_the_other(
    chunks: tuple[bytes, ...], raw: FrameFormat | None
) -> None:
    assert received(Body(*chunks), raw) == (b"12345678", 1)


def test_an_empty_body_of_an_image_has_length_zero() -> None:
    assert received(Body(b"")) == (b"", 1)


@pytest.mark.parametrize("length", [7, 9])
@pytest.mark.parametrize("declared", [True, False])
def test_a_raw_frame_of_another_length_is_rejected(length: int, declared: bool) -> None:
    body = Body(bytes(length), **({"content_length": f"{length}"} if declared else {}))
    with pytest.raises(BadFrameError, match=f"expected 8 bytes .*, got a raw body of {length} bytes"):
        received(body, GRAY)
    assert body.read == (0 if declared else length)


def test_a_body_that_fills_the_slot_is_accepted() -> None:
    content, _ = received(Body(bytes(SLOT_BYTES)))
    assert len(content) == SLOT_BYTES


def test_a_body_over_the_slot_is_rejected_while_it_arrives() -> None:
    body = Body(bytes(SLOT_BYTES), b"x", b"y" * 100)
    with pytest.raises(TooLargeError, match=f"at most {SLOT_BYTES} bytes, got {SLOT_BYTES + 1} or more"):
        received(body)
    assert body.read == SLOT_BYTES + 1


def test_a_declared_length_over_the_slot_is_rejected_unread() -> None:
    body = Body(bytes(8), content_length=f"{SLOT_BYTES + 1}")
    with pytest.raises(TooLargeError):
        received(body)
    assert body.read == 0


@pytest.mark.parametrize("header", ["", "8x", "-8", "８"])
def test_a_malformed_content_length_is_left_to_the_parser(header: str) -> None:
    request = Request({**http_scope(), "headers": [(b"content-length", header.encode("utf-8"))]})
    check_content_length(request, 4, None)


def test_a_body_that_stops_arriving_is_a_slow_body() -> None:
    with pytest.raises(SlowBodyError, match=r"within 0\.01 s, got 3 bytes; send it faster"):
        received(Body(b"123", HANG), seconds=0.01)


def test_a_client_that_disconnects_frees_the_slot() -> None:
    class Disconnecting(Body):
        async def receive(self) -> Message:
            message = await super().receive()
            return {**message, "more_body": True}

    with pytest.raises(ClientDisconnect):
        received(Disconnecting(b"123"))


def test_frames_leave_the_reserved_slots_free() -> None:
    async def run(ring: SlotRing) -> None:
        for _ in range(4 - RESERVED_SLOTS):
            ring.acquire()
        async with receive_body(Body(b"1").request, ring, None, 10):
            pass

    with slots() as ring, pytest.raises(BusyError, match="all 2 slots are in use"):
        asyncio.run(run(ring))


# the rest of a rejected body ----------------------------------------------------------------------


def drained(body: Body) -> int:
    """Bytes that `drain` reads."""
    asyncio.run(drain(body.request))
    return body.read


def test_the_rest_of_a_rejected_body_is_read() -> None:
    assert drained(Body(b"x" * 100, b"y" * 100)) == 200


def test_a_client_that_waits_for_100_continue_sends_no_body() -> None:
    assert drained(Body(b"x" * 100, expect="100-continue")) == 0


def test_at_most_some_megabytes_are_drained() -> None:
    chunk = bytes(1 << 20)
    assert DRAIN_BYTES < drained(Body(*[chunk] * 20)) <= DRAIN_BYTES + len(chunk)


def test_a_body_that_hangs_is_drained_for_half_a_second_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lumaflow_service.api.body.DRAIN_SECONDS", 0.01)
    assert drained(Body(b"x" * 10, HANG)) == 10


def test_a_body_that_was_read_already_is_not_drained_again() -> None:
    async def run() -> None:
        request = Body(b"x" * 10).request

        async def read_all() -> AsyncIterator[bytes]:
            async for chunk in request.stream():
                yield chunk

        assert [chunk async for chunk in read_all()] == [b"x" * 10, b""]
        await drain(request)

    asyncio.run(run())
