"""The worker: codec threads decode, one lane thread enhances, codec threads encode.

The receive loop stays free to answer pings. Decoding of the next frame, the lane of this one and encoding
of the last run side by side; frames of one source enter their lane in the order they came. All lanes run on
one thread, because Numba's parallel loops must be started from one thread.
"""

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import NoReturn

from lumaflow.backend import memory_usage
from lumaflow.errors import DeviceLostError, LumaflowError
from lumaflow.frame import Frame
from lumaflow.options import Orientation
from lumaflow_service.errors import GeometryConflictError, UnsupportedMediaError, WorkerUnavailableError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import receive, send
from lumaflow_service.media.codec import decode
from lumaflow_service.media.header import ImageHeader, read_header
from lumaflow_service.worker.lanes import Lanes
from lumaflow_service.worker.operations import JobResult, Operations, frame_in
from lumaflow_service.worker.source_queue import QueuedJob, SourceQueue

IDLE_CHECK_SECONDS = 5.0
DEVICE_LOST_STATUS = 70


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """What the API process tells a worker when it starts it."""

    device: str
    slots: int
    slot_bytes: int
    max_pixels: int
    jpeg_quality: int
    view_quality: int
    max_lanes: int
    lane_idle_seconds: float
    worker_bytes: int


class Worker:
    """Takes jobs from the connection until it closes, which ends the process."""

    def __init__(
        self, connection: socket.socket, memory: SlotMemory, limits: WorkerLimits, device: str
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._max_pixels = limits.max_pixels
        self._lanes = Lanes(device, limits.max_lanes, limits.lane_idle_seconds)
        self._ops = Operations(memory, self._lanes, limits.jpeg_quality, limits.view_quality)
        self._order = SourceQueue()
        self._codec = ThreadPoolExecutor(os.cpu_count() or 1, "codec")

    def run(self) -> NoReturn:
        """Serve until the other end hangs up, then leave at once, whatever is running."""
        threading.Thread(target=self._run_lanes, name="lanes", daemon=True).start()
        for message in receive(self._connection):
            if isinstance(message, Job):
                self._take(message)
        os._exit(0)

    def _take(self, job: Job) -> None:
        """On the receive loop: answer a ping, line everything else up."""
        if job.op == Op.PING:
            memory = memory_usage(self._lanes.device)
            self._reply(Reply(job.id, **asdict(memory)))
            return
        task = QueuedJob(job)
        self._order.arrive(task)
        if job.op == Op.FRAME:
            self._codec.submit(self._prepare, task)
        else:
            self._order.prepare(task)

    def _prepare(self, task: QueuedJob) -> None:
        """On a codec thread: bring the task's frame into the slot's frame buffer."""
        with self._refusing(task):
            job = task.job
            self._memory.check(job.slot, job.generation)
            task.frame = self._received(job) if job.media == MediaType.RAW else self._decoded(job)
        self._order.prepare(task)

    def _received(self, job: Job) -> Frame:
        """A raw frame, which was received where it is needed."""
        if job.geometry is None:
            raise ValueError("a raw frame came without its geometry")
        frame = frame_in(self._memory, job, "frame", job.geometry.geometry)
        return replace(frame, color=job.geometry.color, corrupt=job.corrupt)

    def _decoded(self, job: Job) -> Frame:
        """An encoded frame, its header checked before any decoder sees it."""
        body = self._memory.buffer(job.slot, "body", job.length)
        header = self._header(job, body)
        geometry = header.geometry
        if job.geometry and job.geometry[:3] != (geometry.width, geometry.height, geometry.pixel_format):
            width, height, wanted = job.geometry[:3]
            raise GeometryConflictError(
                f"a frame of {geometry} came; the source {job.source!r} is fixed to {width}x{height}"
                f" {wanted}: scale the frame, or change the source with PUT"
            )
        frame = frame_in(self._memory, job, "frame", geometry)
        decode(body, header, frame.pixels)
        return frame

    def _header(self, job: Job, body: memoryview) -> ImageHeader:
        """The header of an encoded frame; where its source says how frames are turned, EXIF does not."""
        header = read_header(body, self._max_pixels)
        if header.kind.value != job.media:
            raise UnsupportedMediaError(
                f"the bytes of an {header.kind} came as {job.media}; send it with Content-Type: {header.kind}"
            )
        asked = job.options.get("orientation", Orientation.NONE)
        return header if asked == Orientation.NONE else replace(header, orientation=1)

    def _run_lanes(self) -> None:
        """On the lane thread: one task after the other, as they are prepared."""
        while True:
            task = self._order.next(IDLE_CHECK_SECONDS)
            if task is None:
                self._lanes.close_idle()
            elif not task.refused:
                with self._refusing(task):
                    self._answer(task, self._ops.run(task))

    def _answer(self, task: QueuedJob, outcome: JobResult) -> None:
        """On the lane thread: keep what views will ask for, while a codec thread encodes the answer."""
        if outcome.encode is not None:
            self._codec.submit(self._encode, task, outcome)
        try:
            outcome.keep()
        finally:
            task.kept.set()
        if outcome.encode is None:
            self._finish(task, outcome)

    def _finish(self, task: QueuedJob, outcome: JobResult) -> None:
        self._reply(Reply(task.job.id, buffer=outcome.buffer, length=outcome.length, **outcome.figures))

    def _encode(self, task: QueuedJob, outcome: JobResult) -> None:
        """On a codec thread: make the answer and lay it into the slot."""
        with self._refusing(task):
            assert outcome.encode is not None
            data = outcome.encode()
            self._memory.check(task.job.slot, task.job.generation)
            self._memory.buffer(task.job.slot, outcome.buffer, len(data))[:] = data
            task.kept.wait()
            self._finish(task, replace(outcome, length=len(data)))

    @contextmanager
    def _refusing(self, task: QueuedJob) -> Iterator[None]:
        """Answer a task with the error it raises; a lost device ends the process."""
        try:
            yield
        except Exception as came:
            task.refused = True
            error = told(came)
            known = isinstance(error, LumaflowError)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            self._reply(Reply(task.job.id, type(error).__name__ if known else "LumaflowError", text))
            if isinstance(error, DeviceLostError):
                os._exit(DEVICE_LOST_STATUS)

    def _reply(self, reply: Reply) -> None:
        send(self._connection, reply)


def told(error: Exception) -> Exception:
    """What is said of an error: itself, but for a MemoryError that is not a GPU's, with words of its own."""
    if not isinstance(error, MemoryError) or isinstance(error, LumaflowError):
        return error
    return WorkerUnavailableError(
        f"the worker may take no more memory ({error}): let idle sources be forgotten, or give it more by"
        " LUMAFLOW_WORKER_BYTES"
    )
