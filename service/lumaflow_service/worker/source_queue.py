"""Order: jobs of one source pass in the order they came, whichever is decoded first."""

import threading
from collections import deque
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from lumaflow.frame import Frame
from lumaflow_service.ipc.messages import Job


@dataclass(slots=True, eq=False)
class QueuedJob:
    """A job on its way: `frame` once decoded, `prepared` once the lane thread may have it.

    kept : set once nothing but the answer is still to be read from the job's slot
    """

    job: Job
    frame: Frame | None = None
    prepared: bool = False
    refused: bool = False
    kept: threading.Event = field(default_factory=threading.Event)


class SourceQueue:
    """A queue for one reader; a task passes when it is prepared and first of its source."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, deque[QueuedJob]] = {}
        self._passed: SimpleQueue[QueuedJob] = SimpleQueue()

    def arrive(self, task: QueuedJob) -> None:
        """Join the line of the task's source."""
        with self._lock:
            self._lines.setdefault(task.job.source, deque()).append(task)

    def prepare(self, task: QueuedJob) -> None:
        """Mark a task that arrived as prepared; it passes at once if all before it have."""
        with self._lock:
            task.prepared = True
            line = self._lines[task.job.source]
            while line and line[0].prepared:
                self._passed.put(line.popleft())
            if not line:
                del self._lines[task.job.source]

    def next(self, timeout: float) -> QueuedJob | None:
        """Wait for the next task; None when there is none within `timeout` seconds."""
        try:
            return self._passed.get(timeout=timeout)
        except Empty:
            return None
