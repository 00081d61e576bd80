"""The API side of an ingest process: lends it slots, submits what it lays into them, restarts it."""

import asyncio
import time

import structlog

from lumaflow.errors import LumaflowError
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.sources import Sources, Upload
from lumaflow_service.errors import BusyError, WorkerUnavailableError
from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import FrameReady, Message, SlotGranted
from lumaflow_service.ipc.slots import RESERVED_SLOTS, SlotLease, SlotRing

PAUSE_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Waits before a restart, by the number of processes in a row that gave no frame."""
STALL_SECONDS = 10.0
RETRY_SECONDS = 0.05
MOST_IN_FLIGHT = 2

log = structlog.get_logger()


class Feeder:
    """Keeps one ingest process running and one slot lent to it, which it fills while the last is enhanced.

    Its frames are live: while the service is busy none is asked for, and nobody else waits for it.
    """

    def __init__(
        self, source: str, module: str, arguments: list[str], ring: SlotRing, engine: Engine, sources: Sources
    ) -> None:
        self._source = source
        self._module = module
        self._arguments = arguments
        self._ring = ring
        self._engine = engine
        self._sources = sources
        self._captured: asyncio.Queue[FrameReady | None] = asyncio.Queue()
        self._lent: SlotLease | None = None
        self._frames: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the process and keep one running from now on."""
        self._task = asyncio.create_task(self._supervise(), name=f"feeder of {self._source}")

    async def stop(self) -> None:
        """End the process."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, *self._frames, return_exceptions=True)

    async def _supervise(self) -> None:
        failures = 0
        while True:
            try:
                frames = await self._live()
            except OSError as error:
                log.error("no process can be started", source=self._source, error=str(error))
                frames = 0
            failures = 0 if frames else failures + 1
            pause = PAUSE_SECONDS[min(failures, len(PAUSE_SECONDS) - 1)]
            log.warning("ingest process ended; starting a new one", source=self._source, pause_seconds=pause)
            await asyncio.sleep(pause)

    async def _live(self) -> int:
        """Start the process and feed on it to its end; returns how many frames it gave."""
        self._captured = asyncio.Queue()
        child = await Child.start(
            self._module, self._arguments, self._ring.memory.fd, self._on_message, self._on_gone
        )
        frames = 0
        try:
            while (captured := await self._capture(child)) is not None:
                self._submit(captured)
                frames += 1
        finally:
            await child.close()
            self._take_back()
        return frames

    async def _capture(self, child: Child) -> FrameReady | None:
        """Lend a slot and wait for a frame in it; None when the process ends, stalls or talks nonsense."""
        slot = self._lent = await self._free_slot()
        slot.hand_over()
        try:
            child.send(SlotGranted(slot.index, slot.generation))
            async with asyncio.timeout(STALL_SECONDS):
                captured = await self._captured.get()
        except (TimeoutError, WorkerUnavailableError):
            return None
        if captured is None or (captured.slot, captured.generation) != (slot.index, slot.generation):
            return None
        return captured

    async def _free_slot(self) -> SlotLease:
        """Wait until the worker is ready and keeps up, and a slot is free."""
        while True:
            if self._engine.ready and len(self._frames) < MOST_IN_FLIGHT:
                try:
                    return self._ring.acquire(RESERVED_SLOTS)
                except BusyError:
                    pass
            await asyncio.sleep(RETRY_SECONDS)

    def _submit(self, captured: FrameReady) -> None:
        """Have the frame enhanced while the next one is captured."""
        slot, self._lent = self._lent, None
        assert slot is not None
        slot.settle()
        task = asyncio.create_task(self._enhance(slot, captured))
        self._frames.add(task)
        task.add_done_callback(self._frames.discard)

    async def _enhance(self, slot: SlotLease, captured: FrameReady) -> None:
        length = captured.geometry.geometry.frame_bytes
        try:
            with self._sources.enter(self._source) as source:
                upload = Upload(MediaType.RAW, length, time.monotonic(), captured.geometry)
                await self._sources.enhance(source, slot, upload)
        except LumaflowError as error:
            log.debug("frame dropped", source=self._source, why=str(error))
        finally:
            slot.settle()

    def _take_back(self) -> None:
        """Give back the slot of a process that is no more."""
        if self._lent is not None:
            self._lent.settle()  # as the process
            self._lent.settle()  # as the owner
            self._lent = None

    def _on_message(self, message: Message) -> None:
        if isinstance(message, FrameReady):
            self._captured.put_nowait(message)

    def _on_gone(self) -> None:
        self._captured.put_nowait(None)
