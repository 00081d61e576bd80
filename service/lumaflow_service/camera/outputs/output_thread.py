"""Runs one output in its own thread: a slow output drops frames, a failed output is retried after a delay."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import structlog

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.ipc.backoff import Backoff

MAX_QUEUED_FRAMES = 8
"""Frames that may wait for a slow output; beyond that the oldest is dropped."""
MAX_QUEUED_LIVE_FRAMES = 2
"""The same for live video: with the one being written, no frame is older than three intervals."""
MAX_QUEUED_AUDIO = 200
LOSSLESS_WAIT_SECONDS = 1.0
"""How long the camera waits for a slow output before a lossless frame is dropped."""

Item = OutputFrame | AudioPacket | AudioFormat | None

log = structlog.get_logger()


class OutputSink(Protocol):
    """A destination of frames, used by one thread.

    note : text about what is left out; empty for nothing
    free_bytes : free space of its disk; None when it uses no disk
    write : returns whether the frame was written or sent
    close : called after every error, and at the end; `write` opens it again
    """

    @property
    def note(self) -> str: ...
    @property
    def free_bytes(self) -> int | None: ...
    def set_audio_format(self, audio: AudioFormat | None) -> None: ...
    def write(self, frame: OutputFrame) -> bool: ...
    def write_audio(self, audio: AudioPacket) -> None: ...
    def close(self) -> None: ...


class OutputThread:
    """A sink with its thread, queue and state (starting, working or waiting).

    no_signal : this output shows a picture while the camera is lost
    lossless : `put` waits a little while the queue is full
    redact : removes credentials from error texts
    max_frames : length of the queue
    """

    def __init__(
        self,
        name: str,
        sink: OutputSink,
        no_signal: bool,
        lossless: bool,
        redact: Callable[[str], str],
        max_frames: int = MAX_QUEUED_FRAMES,
    ) -> None:
        self.name = name
        self.no_signal = no_signal
        self.dropped = self.written = 0
        self.state, self.text = "starting", ""
        self._sink = sink
        self._lossless = lossless
        self._redact = redact
        self._max_frames = max_frames
        self._queue: deque[Item] = deque()
        self._changed = threading.Condition()
        self._finishing = False
        self._backoff = Backoff()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Queue a frame, an audio packet or a new audio format; when the queue is full, drop the oldest."""
        with self._changed:
            if self._lossless and isinstance(item, OutputFrame) and self.state != "waiting":
                self._changed.wait_for(
                    lambda: self._count(OutputFrame) < self._max_frames, LOSSLESS_WAIT_SECONDS
                )
            self._queue.append(item)
            limit = MAX_QUEUED_AUDIO if isinstance(item, AudioPacket) else self._max_frames
            if self._count(type(item)) > limit:
                self._queue.remove(next(one for one in self._queue if type(one) is type(item)))
                self.dropped += isinstance(item, OutputFrame)
            self._changed.notify_all()

    def finish(self) -> None:
        """Make the thread write the queue, close the sink and end; `join` waits for it."""
        with self._changed:
            self._finishing = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, at most this long."""
        self._thread.join(seconds)

    def report(self) -> dict[str, Any]:
        """Return the state and counts of this output as JSON values."""
        return {
            "name": self.name,
            "state": self.state,
            "why": self.text,
            "written": self.written,
            "dropped": self.dropped,
            "free_bytes": self._sink.free_bytes,
        }

    def _count(self, kind: type) -> int:
        return sum(type(item) is kind for item in self._queue)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._finishing)
                if not self._queue:
                    break
                item = self._queue.popleft()
                self._changed.notify_all()
            self._handle(item)
        self._close()

    def _handle(self, item: Item) -> None:
        """Write one item; after an error close the sink and wait."""
        try:
            if isinstance(item, OutputFrame):
                if self._sink.write(item):
                    self.written += 1
                    self._backoff.good()
                    self._set_state("working", self._sink.note)
            elif isinstance(item, AudioPacket):
                self._sink.write_audio(item)
            else:
                self._sink.set_audio_format(item)
        except Exception as error:  # any error concerns this output only
            self._set_state("waiting", self._redact(error_text(error)))
            self._close()
            self._wait_to_retry()

    def _wait_to_retry(self) -> None:
        """Wait, then drop the frames and audio that were queued meanwhile."""
        seconds = self._backoff.wait_seconds()
        with self._changed:
            self._changed.wait_for(lambda: self._finishing, seconds)
            self.dropped += self._count(OutputFrame)
            self._queue = deque(
                item for item in self._queue if not isinstance(item, OutputFrame | AudioPacket)
            )

    def _close(self) -> None:
        try:
            self._sink.close()
        except Exception as error:
            log.debug("output close failed", output=self.name, why=self._redact(error_text(error)))

    def _set_state(self, state: str, text: str) -> None:
        if state != self.state:
            event = "output failed" if state == "waiting" else "output working"
            log.info(event, output=self.name, state=state, why=text)
        self.state, self.text = state, text


def error_text(error: Exception) -> str:
    """Return the reason of an error without the path or URL that PyAV adds to it."""
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be written: {error.strerror}"
    return str(error)
