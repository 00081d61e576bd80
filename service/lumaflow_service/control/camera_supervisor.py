"""Runs the process of one camera, leases slots to it, and has its frames enhanced. API process."""

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

MODULE = "lumaflow_service.camera"
WRITE_SECONDS = 5.0
COPY_SECONDS = 10.0
START_SECONDS = 30.0
"""Until the first message of a camera process; on a busy machine its start takes longer than usual."""
SILENT_SECONDS = 10.0
"""A camera process reports every second even while its camera is lost; one that does not is stuck."""
RETRY_SECONDS = 0.02
MAX_IN_FLIGHT = {"live": 1, "lossless": 2}
"""Frames of one camera in the worker. A second live frame would only become old there."""

log = structlog.get_logger()


@dataclass(slots=True)
class ServiceParts:
    """The parts of the service that a supervisor uses."""

    ring: SlotRing
    engine: Engine
    sources: Sources
    metrics: Metrics


class CameraSupervisor:
    """Supervises one camera. Frames are dropped rather than queued, so no consumer blocks the camera."""

    def __init__(
        self, assignment: CameraAssignment, delivery: str, descriptors: list[str], parts: ServiceParts
    ) -> None:
        self.assignment = assignment
        self.status = CameraStatus()
        self._name = assignment.name
        self._descriptors = descriptors
        self._has_outputs = bool(assignment.camera.get("outputs"))
        self._parts = parts
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT[delivery])
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._released: dict[int, asyncio.Future[None]] = {}
        self._frame_tasks: set[asyncio.Task[None]] = set()
        self._granted: SlotLease | None = None
        self._message_received = False
        self._report = CameraReport("connecting")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the camera process; restart it whenever it ends."""
        if self._task is None:
            self.status.state = "connecting"
            self._task = asyncio.create_task(self._supervise(), name=f"camera {self._name}")

    async def stop(self, state: str = "paused") -> None:
        """End the process; its outputs are finished first."""
        task, self._task = self._task, None
        if task:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.status.state, self.status.cause, self.status.text = state, "", ""
        self.status.outputs = []
        self._parts.metrics.remove_outputs(self._name)

    async def _supervise(self) -> None:
        failures = 0
        while True:
            try:
                frames = await self._run_process()
            except Exception as error:  # after any error the camera must be restarted
                log.error("camera supervisor failed", source=self._name, exc_info=error)
                frames = 0
            failures = 0 if frames else failures + 1
            seconds = backoff_seconds(failures)
            self.status.state, self.status.cause = "waiting", "stalled"
            self.status.text = "the camera process ended and is restarted"
            log.warning("camera process ended", source=self._name, restart_seconds=seconds)
            await asyncio.sleep(seconds)

    async def _run_process(self) -> int:
        """Start a process and handle its frames until it ends; return the number of frames."""
        self._messages, self._report = asyncio.Queue(), CameraReport("connecting")
        memory = self._parts.ring.memory
        arguments = [json.dumps({"slots": memory.slots, "slot_bytes": memory.slot_bytes})]
        child = await Child.start(MODULE, arguments, memory.fd, self._on_message, self._on_exit)
        watchdog = asyncio.create_task(self._kill_when_silent(child), name=f"watchdog of {self._name}")
        frames = 0
        try:
            child.send(self.assignment)
            while await self._next_frame(child):
                frames += 1
        finally:
            watchdog.cancel()
            await child.close()
            self._revoke_grant()
            await asyncio.gather(*self._frame_tasks, return_exceptions=True)
        return frames

    async def _kill_when_silent(self, child: Child) -> None:
        started, silent_seconds = False, 0.0
        while silent_seconds < (SILENT_SECONDS if started else START_SECONDS):
            self._message_received = False
            await asyncio.sleep(SILENT_SECONDS)
            started = started or self._message_received
            silent_seconds = 0.0 if self._message_received else silent_seconds + SILENT_SECONDS
        log.error("camera process stuck; killing it", source=self._name, pid=child.process.pid)
        child.kill()

    async def _next_frame(self, child: Child) -> bool:
        """Grant a slot for one frame and have it enhanced in a task.

        Returns False when the process ended or sent an unexpected message.
        """
        if not isinstance(await self._messages.get(), SlotRequested):
            return False
        await self._in_flight.acquire()
        ready = None
        try:
            slot = self._granted = await self._free_slot()
            ready = await self._grant(child, slot)
        finally:
            if ready is None:
                self._in_flight.release()
        if ready is None:
            return False
        self._granted = None
        slot.release()
        task = asyncio.create_task(self._handle_frame(child, slot, ready))
        self._frame_tasks.add(task)
        task.add_done_callback(self._frame_tasks.discard)
        return True

    async def _grant(self, child: Child, slot: SlotLease) -> FrameReady | None:
        """Let the process write a frame to a slot; None when it does not."""
        slot.add_user()
        try:
            child.send(SlotGranted(slot.index, slot.generation, self._is_reoriented))
            async with asyncio.timeout(WRITE_SECONDS):
                ready = await self._messages.get()
        except (TimeoutError, WorkerUnavailableError):
            return None
        if isinstance(ready, FrameReady) and (ready.slot, ready.generation) == (slot.index, slot.generation):
            return ready
        return None

    @property
    def _is_reoriented(self) -> bool:
        """Whether the frames of this source are rotated or mirrored in their lane."""
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

    async def _handle_frame(self, child: Child, slot: SlotLease, ready: FrameReady) -> None:
        """Have a frame enhanced, then let the process copy the result for its outputs."""
        with slot:
            try:
                try:
                    reply, descriptor_bytes = await self._enhance(slot, ready)
                finally:
                    self._in_flight.release()
                self.status.last = ready
                if self._has_outputs:
                    await self._write_outputs(
                        child, slot, enhanced_ready(slot, ready, reply, descriptor_bytes)
                    )
            except LumaflowError as error:
                log.debug("frame dropped", source=self._name, why=str(error))

    async def _enhance(self, slot: SlotLease, ready: FrameReady) -> tuple[Reply, int]:
        """Return the worker's reply, and the length of the descriptors in the slot's answer buffer."""
        length = ready.geometry.geometry.frame_bytes
        with self._parts.sources.enqueue(self._name) as source:
            request = FrameRequest(
                MediaType.RAW, length, ready.arrived, ready.geometry, corrupt=ready.corrupt
            )
            jobs = [self._parts.sources.enhance(source, slot, request)]
            if self._descriptors:
                jobs.append(self._extract_descriptors(slot))
            # Wait for both even when one fails: the worker uses the slot until then.
            replies = await asyncio.gather(*jobs, return_exceptions=True)
            for reply in replies:
                if isinstance(reply, BaseException):
                    raise reply
            answers = [reply for reply in replies if isinstance(reply, Reply)]
            return answers[0], answers[1].length if self._descriptors else 0

    async def _extract_descriptors(self, slot: SlotLease) -> Reply:
        """Request the descriptors directly after the frame, so that no other frame comes between."""
        job = Job(0, Op.FEATURES, self._name, features=self._descriptors)
        return await self._parts.engine.call(job, slot)

    async def _write_outputs(self, child: Child, slot: SlotLease, message: EnhancedReady) -> None:
        """Let the process copy the enhanced frame; kill the process when it does not."""
        released = self._released[slot.index] = asyncio.get_running_loop().create_future()
        slot.add_user()
        try:
            child.send(message)
            async with asyncio.timeout(COPY_SECONDS):
                await released
        except (TimeoutError, WorkerUnavailableError):
            child.kill()
        finally:
            self._released.pop(slot.index, None)
            slot.release()

    def _revoke_grant(self) -> None:
        """Free the slot that was granted to a process that has ended."""
        if self._granted is not None:
            self._granted.release()  # for the process
            self._granted.release()  # for this supervisor
            self._granted = None

    def _on_message(self, message: Message) -> None:
        self._message_received = True
        if isinstance(message, CameraReport):
            self._on_report(message)
        elif isinstance(message, SlotReleased):
            released = self._released.get(message.slot)
            if released and not released.done():
                released.set_result(None)
        else:
            self._messages.put_nowait(message)

    def _on_exit(self) -> None:
        for released in self._released.values():
            if not released.done():
                released.set_result(None)
        self._messages.put_nowait(None)

    def _on_report(self, report: CameraReport) -> None:
        """Update the status, and add the growth of the counts to the metrics."""
        before, self._report = self._report, report
        if self.status.update(before, report):
            event = "camera lost" if report.state == "waiting" else f"camera {report.state}"
            log.info(event, source=self._name, state=report.state, cause=report.cause, why=report.text)
        self._parts.metrics.camera_reported(self._name, before, report)


def enhanced_ready(slot: SlotLease, ready: FrameReady, reply: Reply, descriptor_bytes: int) -> EnhancedReady:
    """Return the message about an enhanced frame in its slot."""
    return EnhancedReady(
        slot.index,
        slot.generation,
        reply.output or ready.geometry,
        ready.number,
        reply.sequence,
        reply.lut,
        descriptor_bytes,
    )
