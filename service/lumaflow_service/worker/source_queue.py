"""A queue that keeps the order of each source while frames are decoded in parallel."""

import threading
from collections import deque
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from lumaflow.frame import Frame
from lumaflow_service.ipc.messages import Job


@dataclass(slots=True, eq=False)
class QueuedJob:
    """A job in the worker.

    frame : the decoded frame
    ready : True when the lane thread may run the job
    failed : True when an error was sent as the reply
    copied : set when the job's slot is needed only for the response
    """

    job: Job
    frame: Frame | None = None
    ready: bool = False
    failed: bool = False
    copied: threading.Event = field(default_factory=threading.Event)


class SourceQueue:
    """A queue with one reader, which gets a job when it is ready and the first one of its source."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_source: dict[str, deque[QueuedJob]] = {}
        self._ready: SimpleQueue[QueuedJob] = SimpleQueue()

    def put(self, queued: QueuedJob) -> None:
        """Append a job to the queue of its source."""
        with self._lock:
            self._by_source.setdefault(queued.job.source, deque()).append(queued)

    def mark_ready(self, queued: QueuedJob) -> None:
        """Mark a job as ready; the reader gets it when all earlier jobs of its source are ready."""
        with self._lock:
            queued.ready = True
            jobs = self._by_source[queued.job.source]
            while jobs and jobs[0].ready:
                self._ready.put(jobs.popleft())
            if not jobs:
                del self._by_source[queued.job.source]

    def get(self, timeout: float) -> QueuedJob | None:
        """Wait for the next job; None after `timeout` seconds."""
        try:
            return self._ready.get(timeout=timeout)
        except Empty:
            return None
