"""One output in a thread of its own: what it writes waits for nobody, and when it fails it tries again."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import structlog

from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.ipc.backoff import Backoff

MOST_WAITING = 8
"""Pictures that may wait for a slow output before the oldest is dropped."""
FRESH_WAITING = 2
"""The same where they are watched live: with the one on its way, none gets older than three intervals."""
MOST_SOUNDS = 200
PATIENT_SECONDS = 1.0
"""How long a picture that must not be lost waits for room."""

Item = OutputFrame | AudioPacket | AudioFormat | None

log = structlog.get_logger()


class OutputSink(Protocol):
    """What an outlet writes to.

    `begin` gives the kind of sound, `write` says whether it wrote anything; after an error comes `close`.
    `note` says what it leaves out, `free_bytes` how much room its disk has.
    """

    @property
    def note(self) -> str: ...
    @property
    def free_bytes(self) -> int | None: ...
    def begin(self, kind: AudioFormat | None) -> None: ...
    def write(self, show: OutputFrame) -> bool: ...
    def hear(self, sound: AudioPacket) -> None: ...
    def close(self) -> None: ...


class OutputThread:
    """A sink, the pictures and sounds that wait for it, and how it stands."""

    def __init__(
        self,
        name: str,
        sink: OutputSink,
        no_signal: bool,
        lossless: bool,
        clean: Callable[[str], str],
        room: int = MOST_WAITING,
    ) -> None:
        self.name = name
        self.no_signal = no_signal
        self.dropped = self.written = 0
        self.state, self.text = "starting", ""
        self._sink = sink
        self._lossless = lossless
        self._clean = clean
        self._room = room
        self._waiting: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._backoff = Backoff()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, item: Item) -> None:
        """Line something up; what is too much is dropped, the oldest first, and counted."""
        with self._changed:
            if self._lossless and isinstance(item, OutputFrame) and self.state != "waiting":
                self._changed.wait_for(lambda: self._count(OutputFrame) < self._room, PATIENT_SECONDS)
            self._waiting.append(item)
            most = MOST_SOUNDS if isinstance(item, AudioPacket) else self._room
            if self._count(type(item)) > most:
                self._waiting.remove(next(one for one in self._waiting if type(one) is type(item)))
                self.dropped += isinstance(item, OutputFrame)
            self._changed.notify_all()

    def finish(self) -> None:
        """Write what waits and close; `join` waits for that."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait until all is written, not longer than this."""
        self._thread.join(seconds)

    def standing(self) -> dict[str, Any]:
        """How it stands, for a report."""
        return {
            "name": self.name,
            "state": self.state,
            "why": self.text,
            "written": self.written,
            "dropped": self.dropped,
            "free_bytes": self._sink.free_bytes,
        }

    def _count(self, kind: type) -> int:
        return sum(type(one) is kind for one in self._waiting)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    break
                item = self._waiting.popleft()
                self._changed.notify_all()
            self._attempt(item)
        self._close()

    def _attempt(self, item: Item) -> None:
        """Write one item; after a failure wait a while, and drop what came meanwhile."""
        try:
            if isinstance(item, OutputFrame):
                if self._sink.write(item):
                    self.written += 1
                    self._backoff.good()
                    self._tell("working", self._sink.note)
            elif isinstance(item, AudioPacket):
                self._sink.hear(item)
            else:
                self._sink.begin(item)
        except Exception as error:  # whatever it is, it concerns this output alone
            self._tell("waiting", self._clean(_sentence(error)))
            self._close()
            self._rest()

    def _rest(self) -> None:
        end = time.monotonic() + self._backoff.wait_seconds()
        with self._changed:
            self._changed.wait_for(lambda: self._closing, end - time.monotonic())
            self.dropped += self._count(OutputFrame)
            kinds = [one for one in self._waiting if not isinstance(one, OutputFrame | AudioPacket)]
            self._waiting = deque(kinds)

    def _close(self) -> None:
        try:
            self._sink.close()
        except Exception as error:
            log.debug("output closed badly", output=self.name, why=self._clean(_sentence(error)))

    def _tell(self, state: str, text: str) -> None:
        if state != self.state:
            log.info("output", output=self.name, state=state, why=text)
        self.state, self.text = state, text


def _sentence(error: Exception) -> str:
    """What went wrong, without the path or URL that PyAV adds."""
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be written: {error.strerror}"
    return str(error)
