"""Receiving a request body into a slot of shared memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import Request
from starlette.requests import ClientDisconnect

from lumaflow_service.api.requests import FrameFormat
from lumaflow_service.errors import BadFrameError, SlowBodyError, TooLargeError
from lumaflow_service.ipc.slots import RESERVED_SLOTS, SlotLease, SlotRing

DRAIN_BYTES, DRAIN_SECONDS = 4 << 20, 0.5
"""How much of a rejected body is still read, so that the client gets the response and not a reset."""


@asynccontextmanager
async def receive_body(
    request: Request, ring: SlotRing, raw: FrameFormat | None, seconds: float
) -> AsyncIterator[tuple[SlotLease, int]]:
    """A slot that holds the request body, and the length in bytes; the slot is released afterwards.

    A `raw` frame is written to the frame buffer, an image to the body buffer. Raises BadFrameError (length
    of a raw frame), TooLargeError, SlowBodyError (incomplete after `seconds`), BusyError (no free slot).
    """
    expected = raw.frame_bytes if raw else None
    check_content_length(request, ring.memory.slot_bytes, expected)
    with ExitStack() as leases:
        slot, length = await read_into_slot(request, ring, leases, "frame" if raw else "body", seconds)
        if expected is not None and length != expected:
            raise wrong_length(length, expected)
        yield slot, length


async def read_into_slot(
    request: Request, ring: SlotRing, leases: ExitStack, buffer: str, seconds: float
) -> tuple[SlotLease, int]:
    """Acquire a slot, owned by `leases`, when the first chunk arrives, and write the body into it."""
    slot: SlotLease | None = None
    end = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                slot = slot or leases.enter_context(ring.acquire(RESERVED_SLOTS))
                start, end = end, end + len(chunk)
                if end > ring.memory.slot_bytes:
                    raise too_large(end, ring.memory.slot_bytes)
                slot.buffer(buffer, end)[start:] = chunk
        assert slot is not None  # the stream ends with an empty chunk
        return slot, end
    except TimeoutError as error:
        raise SlowBodyError(
            f"expected the whole body within {seconds:g} s, got {end} bytes; send it faster, or a smaller"
            " frame"
        ) from error


def check_content_length(request: Request, limit: int, expected: int | None) -> None:
    """Reject a wrong Content-Length before a byte of the body is read."""
    header = request.headers.get("content-length", "")
    if not header.isdecimal():
        return
    if int(header) > limit:
        raise too_large(int(header), limit)
    if expected is not None and int(header) != expected:
        raise wrong_length(int(header), expected)


def too_large(length: int, limit: int) -> TooLargeError:
    """The error for a body of at least `length` bytes."""
    return TooLargeError(
        f"expected a body of at most {limit} bytes, got {length} or more; send a smaller frame"
    )


def wrong_length(length: int, expected: int) -> BadFrameError:
    """The error for a raw frame whose length does not match its format."""
    return BadFrameError(
        f"expected {expected} bytes by format, width and height, got a raw body of {length} bytes; correct"
        " the query or the body"
    )


async def drain(request: Request) -> None:
    """Read and discard the rest of a rejected body, up to a limit."""
    if "expect" in request.headers:
        return
    remaining = DRAIN_BYTES
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for chunk in request.stream():
                remaining -= len(chunk)
                if remaining < 0:
                    return
    except (TimeoutError, RuntimeError, ClientDisconnect):
        return  # time is up, the body was read already, or the client is gone
