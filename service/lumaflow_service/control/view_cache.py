"""The newest JPEG of each view of each source, encoded once for all who look at it."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from lumaflow.errors import LumaflowError
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.sources import Source
from lumaflow_service.errors import BusyError, UnknownSourceError, not_kept
from lumaflow_service.ipc.messages import Job, Op, View
from lumaflow_service.ipc.slots import SlotRing

REPEAT_SECONDS = 5.0
"""After so long without a new frame a live viewer gets the last one again, which finds out who has left."""
RETRY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class EncodedView:
    """One encoded view of the frame with this sequence number; `arrived` on the monotonic clock."""

    sequence: int
    jpeg: bytes
    arrived: float


class ViewCache:
    """Encodes views through the worker, each frame at most once a view; all are gone with their lane."""

    def __init__(self, engine: Engine, ring: SlotRing, most_viewers: int, idle_seconds: float) -> None:
        self._engine = engine
        self._ring = ring
        self._most_viewers = most_viewers
        self._idle_seconds = idle_seconds
        self.viewers = 0
        self._encodings: WeakKeyDictionary[Source, dict[View, asyncio.Task[EncodedView]]] = (
            WeakKeyDictionary()
        )

    def keeps(self, source: Source) -> bool:
        """Whether the last frame can be looked at, as far as is known here."""
        return source.age_seconds is not None and source.age_seconds <= self._idle_seconds

    async def newest(self, source: Source, view: View) -> EncodedView:
        """The view of the last frame, or of a later one that comes meanwhile.

        Raises UnknownSourceError before the first frame and when the last one is not kept any more, and what
        `Engine.call` and `SlotRing.acquire` do.
        """
        if source.last is None:
            raise UnknownSourceError(f"the source {source.id!r} has no frame yet; send one first")
        if not self.keeps(source):
            raise not_kept(source.id, self._idle_seconds)
        encodings = self._encodings.setdefault(source, {})
        while True:
            task = encodings.get(view)
            if task is None or (task.done() and outdated(task, source.last.sequence)):
                task = encodings[view] = asyncio.create_task(self._encode(source, view))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            wanted = source.last.sequence
            picture = await asyncio.shield(task)
            if picture.sequence >= wanted:
                return picture

    def watch(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        """Picture after picture as frames come, until the source is closed; a slow viewer skips some.

        Raises BusyError when there are too many viewers.
        """
        if self.viewers >= self._most_viewers:
            raise BusyError(f"{self.viewers} viewers are watching, the most there may be; try again later")
        return self._watch(source, view)

    async def _watch(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        self.viewers += 1
        try:
            async for picture in self._pictures(source, view):
                yield picture
        finally:
            self.viewers -= 1

    async def _pictures(self, source: Source, view: View) -> AsyncGenerator[EncodedView, None]:
        seen = -1
        while not source.closed:
            try:
                async with asyncio.timeout(REPEAT_SECONDS):
                    await source.newer_than(seen)
            except TimeoutError:
                pass
            if source.closed or source.last is None:
                continue
            try:
                picture = await self.newest(source, view)
            except LumaflowError:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            seen = picture.sequence
            yield picture

    async def _encode(self, source: Source, view: View) -> EncodedView:
        with self._ring.acquire() as slot:
            try:
                reply = await self._engine.call(Job(0, Op.SNAPSHOT, source.id, view=view), slot)
            except UnknownSourceError:
                self._encodings.pop(source, None)
                raise
            jpeg = bytes(slot.buffer(reply.buffer, reply.length))
            return EncodedView(reply.sequence, jpeg, source.arrived(reply.sequence) or time.monotonic())


def outdated(task: asyncio.Task[EncodedView], sequence: int) -> bool:
    """Whether a finished encoding failed, or shows a frame before `sequence`."""
    return task.cancelled() or task.exception() is not None or task.result().sequence < sequence
