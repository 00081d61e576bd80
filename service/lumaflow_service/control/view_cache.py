"""A cache of the newest JPEG of each view of each source: one encoding for all viewers."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from lumaflow.errors import LumaflowError
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.sources import Source
from lumaflow_service.errors import BusyError, UnknownSourceError, no_recent_frame
from lumaflow_service.ipc.messages import Job, Op, View
from lumaflow_service.ipc.slots import SlotRing

REPEAT_SECONDS = 5.0
"""A viewer gets the last frame again after this time without a new one, which detects a closed connection."""
RETRY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class EncodedView:
    """One view of the frame `sequence` as JPEG; `arrived` is the frame's arrival on the monotonic clock."""

    sequence: int
    jpeg: bytes
    arrived: float


class ViewCache:
    """Encodes views in the worker, each view of a frame at most once. A source's views end with its lane."""

    def __init__(self, engine: Engine, ring: SlotRing, max_viewers: int, idle_seconds: float) -> None:
        self._engine = engine
        self._ring = ring
        self._max_viewers = max_viewers
        self._idle_seconds = idle_seconds
        self.viewers = 0
        self._encodings: WeakKeyDictionary[Source, dict[View, asyncio.Task[EncodedView]]] = (
            WeakKeyDictionary()
        )

    def has_frame(self, source: Source) -> bool:
        """True when the source has a recent frame. The worker may have closed its lane earlier."""
        return source.age_seconds is not None and source.age_seconds <= self._idle_seconds

    async def newest(self, source: Source, view: View) -> EncodedView:
        """The view of the last frame, or of a newer one that arrives meanwhile.

        Raises UnknownSourceError when there is no frame yet or no recent one, and what `Engine.call` and
        `SlotRing.acquire` raise.
        """
        if source.last_reply is None:
            raise UnknownSourceError(f"the source {source.id!r} has no frame yet; send one first")
        if not self.has_frame(source):
            raise no_recent_frame(source.id, self._idle_seconds)
        encodings = self._encodings.setdefault(source, {})
        while True:
            task = encodings.get(view)
            if task is None or (task.done() and is_outdated(task, source.last_reply.sequence)):
                task = encodings[view] = asyncio.create_task(self._encode(source, view))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            sequence = source.last_reply.sequence
            encoded = await asyncio.shield(task)
            if encoded.sequence >= sequence:
                return encoded

    def watch(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        """Yield the views of new frames until the source is closed; a slow viewer skips frames.

        Raises BusyError when there are too many viewers.
        """
        if self.viewers >= self._max_viewers:
            raise BusyError(f"{self.viewers} viewers are connected, the maximum; try again later")
        return self._watch(source, view)

    async def _watch(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        self.viewers += 1
        try:
            async for encoded in self._new_frames(source, view):
                yield encoded
        finally:
            self.viewers -= 1

    async def _new_frames(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        sent = -1
        while not source.closed:
            try:
                async with asyncio.timeout(REPEAT_SECONDS):
                    await source.wait_for_frame_after(sent)
            except TimeoutError:
                pass
            if source.closed or source.last_reply is None:
                continue
            try:
                encoded = await self.newest(source, view)
            except LumaflowError:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            sent = encoded.sequence
            yield encoded

    async def _encode(self, source: Source, view: View) -> EncodedView:
        with self._ring.acquire() as slot:
            try:
                reply = await self._engine.call(Job(0, Op.SNAPSHOT, source.id, view=view), slot)
            except UnknownSourceError:
                self._encodings.pop(source, None)
                raise
            jpeg = bytes(slot.buffer(reply.buffer, reply.length))
        return EncodedView(reply.sequence, jpeg, source.arrival_time(reply.sequence) or time.monotonic())


def is_outdated(task: asyncio.Task[EncodedView], sequence: int) -> bool:
    """True when a finished encoding failed, or shows a frame before `sequence`."""
    return task.cancelled() or task.exception() is not None or task.result().sequence < sequence
