"""The API side of one camera: keeps its process running, lends it slots, has its frames enhanced."""

import asyncio
import json
from dataclasses import dataclass

import structlog

from lumaflow.errors import LumaflowError
from lumaflow.options import Orientation
from lumaflow_service.control.camera_status import CameraStatus
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.sources import FrameRequest, Sources
from lumaflow_service.errors import BusyError, WorkerUnavailableError
from lumaflow_service.ipc.backoff import backoff_seconds
from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import (
    CameraAssignment,
    CameraReport,
    EnhancedReady,
    FrameReady,
    Job,
    Message,
    Op,
    Reply,
    SlotGranted,
    SlotReleased,
    SlotRequested,
)
from lumaflow_service.ipc.slots import RESERVED_SLOTS, SlotLease, SlotRing

LAY_SECONDS = 5.0
TAKE_SECONDS = 10.0
SILENT_SECONDS = 10.0
"""A camera's process reports every second, whatever its camera does; one that does not is stuck."""
RETRY_SECONDS = 0.02
IN_FLIGHT = {"live": 1, "lossless": 2}
"""Frames of one camera in the worker. A second one there would only grow old."""

log = structlog.get_logger()


@dataclass(slots=True)
class ServiceParts:
    """What a supervisor needs of the service."""

    ring: SlotRing
    engine: Engine
    sources: Sources
    metrics: Metrics


class CameraSupervisor:
    """One camera. Its frames wait for nobody and nobody waits for them."""

    def __init__(
        self, assignment: CameraAssignment, delivery: str, described: list[str], parts: ServiceParts
    ) -> None:
        self.assignment = assignment
        self.standing = CameraStatus()
        self._name = assignment.name
        self._described = described
        self._has_outputs = bool(assignment.camera.get("outputs"))
        self._parts = parts
        self._room = asyncio.Semaphore(IN_FLIGHT[delivery])
        self._events: asyncio.Queue[Message | None] = asyncio.Queue()
        self._taken: dict[int, asyncio.Future[None]] = {}
        self._frames: set[asyncio.Task[None]] = set()
        self._lent: SlotLease | None = None
        self._heard = False
        self._report = CameraReport("connecting")
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether it is started."""
        return self._task is not None

    def start(self) -> None:
        """Start the process and keep one running from now on."""
        if self._task is None:
            self.standing.state = "connecting"
            self._task = asyncio.create_task(self._supervise(), name=f"camera {self._name}")

    async def stop(self, state: str = "paused") -> None:
        """End the process, its outputs finished."""
        task, self._task = self._task, None
        if task:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.standing.state, self.standing.cause, self.standing.text = state, "", ""
        self.standing.outputs = []
        self._parts.metrics.remove_outputs(self._name)

    async def _supervise(self) -> None:
        failures = 0
        while True:
            try:
                frames = await self._live()
            except Exception as error:  # whatever it is, the camera must come back
                log.error("camera's process cannot be led", source=self._name, exc_info=error)
                frames = 0
            failures = 0 if frames else failures + 1
            pause = backoff_seconds(failures)
            self.standing.state, self.standing.cause = "waiting", "stalled"
            self.standing.text = "its process ended and is started anew"
            log.warning("camera's process ended; starting a new one", source=self._name, pause_seconds=pause)
            await asyncio.sleep(pause)

    async def _live(self) -> int:
        """Start a process and take its frames to its end; returns how many it gave."""
        self._events, self._report = asyncio.Queue(), CameraReport("connecting")
        memory = self._parts.ring.memory
        arguments = [json.dumps({"slots": memory.slots, "slot_bytes": memory.slot_bytes})]
        child = await Child.start(
            "lumaflow_service.camera", arguments, memory.fd, self._on_message, self._on_gone
        )
        watch = asyncio.create_task(self._watch(child), name=f"watch over {self._name}")
        frames = 0
        try:
            child.send(self.assignment)
            while await self._next(child):
                frames += 1
        finally:
            watch.cancel()
            await child.close()
            self._take_back()
            await asyncio.gather(*self._frames, return_exceptions=True)
        return frames

    async def _watch(self, child: Child) -> None:
        """Kill the process when it falls silent."""
        self._heard = True
        while self._heard:
            self._heard = False
            await asyncio.sleep(SILENT_SECONDS)
        log.error("camera's process is stuck; killing it", source=self._name, pid=child.process.pid)
        child.kill()

    async def _next(self, child: Child) -> bool:
        """Lend a slot for one frame and have it enhanced; False when the process ended or talks nonsense."""
        if not isinstance(await self._events.get(), SlotRequested):
            return False
        await self._room.acquire()
        try:
            slot = self._lent = await self._free_slot()
            slot.hand_over()
            child.send(SlotGranted(slot.index, slot.generation, self._turned))
            async with asyncio.timeout(LAY_SECONDS):
                captured = await self._events.get()
        except BaseException as error:
            self._room.release()
            if isinstance(error, TimeoutError | WorkerUnavailableError):
                return False
            raise
        if not isinstance(captured, FrameReady) or (captured.slot, captured.generation) != (
            slot.index,
            slot.generation,
        ):
            self._room.release()
            return False
        self._lent = None
        slot.settle()
        task = asyncio.create_task(self._carry(child, slot, captured))
        self._frames.add(task)
        task.add_done_callback(self._frames.discard)
        return True

    @property
    def _turned(self) -> bool:
        """Whether this source's frames are turned in their lane."""
        return self._parts.sources.get(self._name).options.orientation is not Orientation.NONE

    async def _free_slot(self) -> SlotLease:
        """Wait until the worker is ready and a slot is free."""
        while True:
            if self._parts.engine.ready:
                try:
                    return self._parts.ring.acquire(RESERVED_SLOTS)
                except BusyError:
                    pass
            await asyncio.sleep(RETRY_SECONDS)

    async def _carry(self, child: Child, slot: SlotLease, captured: FrameReady) -> None:
        """Take a frame through the worker and on to the outputs."""
        with slot:
            try:
                try:
                    reply, described = await self._enhance(slot, captured)
                finally:
                    self._room.release()
                self.standing.last = captured
                if self._has_outputs:
                    await self._show(child, slot, captured, reply, described)
            except LumaflowError as error:
                log.debug("frame dropped", source=self._name, why=str(error))

    async def _enhance(self, slot: SlotLease, captured: FrameReady) -> tuple[Reply, int]:
        """The worker's reply, and how many bytes of descriptors lie in the slot's answer buffer."""
        length = captured.geometry.geometry.frame_bytes
        with self._parts.sources.enqueue(self._name) as source:
            upload = FrameRequest(
                MediaType.RAW,
                length,
                captured.arrived,
                captured.geometry,
                corrupt=captured.corrupt,
            )
            jobs = [self._parts.sources.enhance(source, slot, upload)]
            if self._described:
                jobs.append(self._describe(slot))
            # Both have ended when this returns, also when one failed: the slot is theirs until then.
            replies = await asyncio.gather(*jobs, return_exceptions=True)
            for reply in replies:
                if isinstance(reply, BaseException):
                    raise reply
            good = [reply for reply in replies if isinstance(reply, Reply)]
            return good[0], good[1].length if self._described else 0

    async def _describe(self, slot: SlotLease) -> Reply:
        """The frame's descriptors, asked for right behind the frame itself: no other frame comes between."""
        job = Job(0, Op.FEATURES, self._name, features=self._described)
        return await self._parts.engine.call(job, slot)

    async def _show(
        self, child: Child, slot: SlotLease, captured: FrameReady, reply: Reply, described: int
    ) -> None:
        """Let the camera's process copy the enhanced picture; a process that does not is killed."""
        taken = self._taken[slot.index] = asyncio.get_running_loop().create_future()
        slot.hand_over()
        try:
            child.send(shown(slot, captured, reply, described))
            async with asyncio.timeout(TAKE_SECONDS):
                await taken
        except (TimeoutError, WorkerUnavailableError):
            child.kill()
        finally:
            self._taken.pop(slot.index, None)
            slot.settle()

    def _take_back(self) -> None:
        """Give back the slot of a process that is no more."""
        if self._lent is not None:
            self._lent.settle()  # as the process
            self._lent.settle()  # as the owner
            self._lent = None

    def _on_message(self, message: Message) -> None:
        self._heard = True
        if isinstance(message, CameraReport):
            self._note(message)
        elif isinstance(message, SlotReleased):
            taken = self._taken.get(message.slot)
            if taken and not taken.done():
                taken.set_result(None)
        else:
            self._events.put_nowait(message)

    def _on_gone(self) -> None:
        for taken in self._taken.values():
            if not taken.done():
                taken.set_result(None)
        self._events.put_nowait(None)

    def _note(self, report: CameraReport) -> None:
        """Take over a report, and what grew since the last one into the metrics."""
        before, self._report = self._report, report
        if self.standing.take_over(before, report):
            log.info("camera", source=self._name, state=report.state, cause=report.cause, why=report.text)
        self._parts.metrics.camera_reported(self._name, before, report)


def shown(slot: SlotLease, captured: FrameReady, reply: Reply, described: int) -> EnhancedReady:
    """The message about an enhanced frame in its slot."""
    return EnhancedReady(
        slot.index,
        slot.generation,
        reply.output or captured.geometry,
        captured.number,
        reply.sequence,
        reply.lut,
        described,
    )
