"""Receiving a body straight into a slot."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import Request
from starlette.requests import ClientDisconnect

from lumaflow_service.api.frame_format import FrameFormat
from lumaflow_service.errors import BadFrameError, SlowBodyError, TooLargeError
from lumaflow_service.ipc.slots import RESERVED_SLOTS, SlotLease, SlotRing

DRAIN_BYTES, DRAIN_SECONDS = 4 << 20, 0.5
"""How much of a refused body is still read, so that the client sees the answer and not a reset."""


@asynccontextmanager
async def received(
    request: Request, ring: SlotRing, raw: FrameFormat | None, seconds: float
) -> AsyncIterator[tuple[SlotLease, int]]:
    """A slot with the request's body in it, and its length; the slot is given back afterwards.

    A `raw` frame lies in the frame buffer, an image in the body buffer. Raises BadFrameError (a raw frame of
    another length), TooLargeError, SlowBodyError (not there after `seconds`), BusyError (no slot is free).
    """
    exact = raw.frame_bytes if raw else None
    check_length(request, ring.memory.slot_bytes, exact)
    with ExitStack() as leases:
        slot, length = await receive(request, ring, leases, "frame" if raw else "body", seconds)
        if exact is not None and length != exact:
            raise wrong_length(length, exact)
        yield slot, length


async def receive(
    request: Request, ring: SlotRing, leases: ExitStack, buffer: str, seconds: float
) -> tuple[SlotLease, int]:
    """Acquire a slot, owned by `leases`, with the first chunk, and write the body into it."""
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
            f"{end} bytes of a body came within {seconds:g} s; send it faster, or a smaller frame"
        ) from error


def check_length(request: Request, most: int, exact: int | None) -> None:
    """Refuse by the length the client announces, before a byte of the body is read."""
    announced = request.headers.get("content-length", "")
    if not announced.isdecimal():
        return
    if int(announced) > most:
        raise too_large(int(announced), most)
    if exact is not None and int(announced) != exact:
        raise wrong_length(int(announced), exact)


def too_large(length: int, most: int) -> TooLargeError:
    """The error for a body of `length` bytes or more."""
    return TooLargeError(
        f"a body of {length} bytes or more came; at most {most} are taken: send a smaller frame"
    )


def wrong_length(length: int, exact: int) -> BadFrameError:
    """The error for a raw body of another length than its geometry says."""
    return BadFrameError(
        f"a raw body of {length} bytes came; its format, width and height make {exact}: send exactly that"
    )


async def drain(request: Request) -> None:
    """Read and forget the rest of a body that was refused, up to a limit."""
    if "expect" in request.headers:
        return
    left = DRAIN_BYTES
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for chunk in request.stream():
                left -= len(chunk)
                if left < 0:
                    return
    except (TimeoutError, RuntimeError, ClientDisconnect):
        return  # enough; or nothing is left; or nobody is there
