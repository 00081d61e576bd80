"""The worker: codec threads decode, one lane thread enhances, codec threads encode.

The receive loop only queues jobs, so it answers pings at once. While the lane thread enhances a frame, codec
threads decode the next one and encode the last one. Each source keeps its frame order. All lanes run on one
thread, because Numba's parallel loops must be started from one thread.
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
    """The limits of a worker, which the API process passes as JSON."""

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
    """Runs the jobs of a connection until it is closed; the process then exits."""

    def __init__(
        self, connection: socket.socket, memory: SlotMemory, limits: WorkerLimits, device: str
    ) -> None:
        self._connection = connection
        self._memory = memory
        self._max_pixels = limits.max_pixels
        self._lanes = Lanes(device, limits.max_lanes, limits.lane_idle_seconds)
        self._ops = Operations(memory, self._lanes, limits.jpeg_quality, limits.view_quality)
        self._queue = SourceQueue()
        self._codec = ThreadPoolExecutor(os.cpu_count() or 1, "codec")

    def run(self) -> NoReturn:
        """Serve until the other end closes the connection, then exit at once; running jobs are abandoned."""
        threading.Thread(target=self._run_lanes, name="lanes", daemon=True).start()
        for message in receive(self._connection):
            if isinstance(message, Job):
                self._accept(message)
        os._exit(0)

    def _accept(self, job: Job) -> None:
        """Reply to a ping, and queue any other job. Runs on the receive loop."""
        if job.op == Op.PING:
            memory = memory_usage(self._lanes.device)
            self._reply(Reply(job.id, **asdict(memory)))
            return
        queued = QueuedJob(job)
        self._queue.put(queued)
        if job.op == Op.FRAME:
            self._codec.submit(self._decode, queued)
        else:
            self._queue.mark_ready(queued)

    def _decode(self, queued: QueuedJob) -> None:
        """Decode the frame of a job into the slot's frame buffer. Runs on a codec thread."""
        with self._replying_with_errors(queued):
            job = queued.job
            self._memory.check(job.slot, job.generation)
            queued.frame = self._raw_frame(job) if job.media == MediaType.RAW else self._decoded_frame(job)
        self._queue.mark_ready(queued)

    def _raw_frame(self, job: Job) -> Frame:
        """The raw frame in the slot's frame buffer."""
        if job.geometry is None:
            raise ValueError("expected the geometry of a raw frame, got none")
        frame = frame_in(self._memory, job, "frame", job.geometry.geometry)
        return replace(frame, color=job.geometry.color, corrupt=job.corrupt)

    def _decoded_frame(self, job: Job) -> Frame:
        """The encoded frame, decoded after its header has been checked."""
        body = self._memory.buffer(job.slot, "body", job.length)
        header = self._header(job, body)
        geometry = header.geometry
        if job.geometry and job.geometry[:3] != (geometry.width, geometry.height, geometry.pixel_format):
            expected = job.geometry
            raise GeometryConflictError(
                f"expected a frame of {expected.width}x{expected.height} {expected.format} for the source"
                f" {job.source!r}, got {geometry}; scale the frame, or change the source with PUT"
            )
        frame = frame_in(self._memory, job, "frame", geometry)
        decode(body, header, frame.pixels)
        return frame

    def _header(self, job: Job, body: memoryview) -> ImageHeader:
        """The header of an encoded frame. An orientation in the source's options overrides the EXIF tag."""
        header = read_header(body, self._max_pixels)
        actual = header.format.value
        if actual != job.media:
            raise UnsupportedMediaError(
                f"expected {job.media}, got {actual}; send it with Content-Type: {actual}"
            )
        orientation = job.options.get("orientation", Orientation.NONE)
        return header if orientation == Orientation.NONE else replace(header, orientation=1)

    def _run_lanes(self) -> None:
        """Run the ready jobs one after the other. Runs on the lane thread."""
        while True:
            queued = self._queue.get(IDLE_CHECK_SECONDS)
            if queued is None:
                self._lanes.close_idle()
            elif not queued.failed:
                with self._replying_with_errors(queued):
                    self._respond(queued, self._ops.run(queued))

    def _respond(self, queued: QueuedJob, result: JobResult) -> None:
        """Copy the frames for later views while a codec thread encodes the response."""
        if result.encode is not None:
            self._codec.submit(self._encode, queued, result)
        try:
            result.copy_frames()
        finally:
            queued.copied.set()
        if result.encode is None:
            self._reply_with(queued, result)

    def _encode(self, queued: QueuedJob, result: JobResult) -> None:
        """Encode the response into the slot. Runs on a codec thread."""
        with self._replying_with_errors(queued):
            assert result.encode is not None
            data = result.encode()
            self._memory.check(queued.job.slot, queued.job.generation)
            self._memory.buffer(queued.job.slot, result.buffer, len(data))[:] = data
            queued.copied.wait()
            self._reply_with(queued, replace(result, length=len(data)))

    def _reply_with(self, queued: QueuedJob, result: JobResult) -> None:
        self._reply(Reply(queued.job.id, buffer=result.buffer, length=result.length, **result.fields))

    @contextmanager
    def _replying_with_errors(self, queued: QueuedJob) -> Iterator[None]:
        """Reply with the error that the block raises; the process exits when the device is lost."""
        try:
            yield
        except Exception as raised:
            queued.failed = True
            error = public_error(raised)
            known = isinstance(error, LumaflowError)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            self._reply(Reply(queued.job.id, type(error).__name__ if known else "LumaflowError", text))
            if isinstance(error, DeviceLostError):
                os._exit(DEVICE_LOST_STATUS)

    def _reply(self, reply: Reply) -> None:
        send(self._connection, reply)


def public_error(error: Exception) -> Exception:
    """The error for the client: a MemoryError of the host says which limit to raise, others are unchanged."""
    if not isinstance(error, MemoryError) or isinstance(error, LumaflowError):
        return error
    return WorkerUnavailableError(
        f"the worker has reached its memory limit ({error}); delete idle sources,"
        " or raise LUMAFLOW_WORKER_BYTES"
    )
