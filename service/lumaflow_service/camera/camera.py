"""One camera: opened, read, and opened again for ever, whatever happens to it."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from av.video.frame import VideoFrame

from lumaflow.geometry import Geometry
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.frame_reader import DEFAULT_TIME_BASE, DecodedFrame, FrameReader
from lumaflow_service.camera.freeze import FreezeDetector
from lumaflow_service.camera.open_container import OpenRequest, open_container
from lumaflow_service.camera.timeline import Timeline
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.ipc.backoff import Backoff
from lumaflow_service.media.slot_format import slot_geometry
from lumaflow_service.media.video.reader import AnyPacket


class CameraPhase(StrEnum):
    """Where a camera stands."""

    CONNECTING = "connecting"
    LIVE = "live"
    WAITING = "waiting"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """How to read a camera; `lossless` also means that files are read as quickly as frames are taken."""

    opening: OpenRequest
    lossless: bool = False
    loop: bool = False
    deinterlace: bool = False
    max_pixels: int = 1 << 24
    max_bytes: int = 1 << 26


@dataclass(slots=True)
class ReadStatus:
    """What a camera tells about itself. Counts grow for as long as its process lives."""

    state: CameraPhase = CameraPhase.CONNECTING
    cause: str = ""
    text: str = ""
    codec: str = ""
    epoch: int = 0
    corrupt: int = 0
    restamped: int = 0
    no_key: int = 0
    reconnects: Counter[str] = field(default_factory=Counter)


class Camera:
    """Reads a camera on the thread that calls `run`.

    `on_shot` gets every picture, `on_feed` every connection when it is made, `on_audio` every sound packet
    with what is added to its time, in seconds; `on_status` is called when the state or its cause changes.
    """

    def __init__(
        self,
        plan: CameraPlan,
        on_shot: Callable[[CapturedFrame], None],
        on_feed: Callable[[FrameReader], None],
        on_audio: Callable[[AnyPacket, Fraction], None],
        on_status: Callable[[], None],
    ) -> None:
        self.status = ReadStatus()
        self.watchdog = Watchdog()
        self._plan = plan
        self._on_shot, self._on_feed = on_shot, on_feed
        self._on_audio, self._on_status = on_audio, on_status
        self._backoff = Backoff()
        self._timeline = Timeline(live=plan.opening.target.scheme != "file")
        self._still = FreezeDetector()
        self._stopped = threading.Event()
        self._number = 0
        self._geometry: Geometry | None = None
        self._last: tuple[int, Fraction] = (-1, DEFAULT_TIME_BASE)
        self._due: float | None = None

    def stop(self) -> None:
        """Let `run` end when it next looks."""
        self._stopped.set()

    def run(self) -> None:
        """Read until stopped, or until a file that is not looped has ended."""
        for attempt in range(1 << 62):
            before = self._number
            cause, text = self._session(attempt)
            if self._stopped.is_set():
                return
            if cause is CameraErrorCode.EOF and self._is_file and self._number > before:
                if not self._plan.loop:
                    return self._tell(CameraPhase.ENDED, CameraErrorCode.EOF, "the end of the file")
                continue
            self.status.reconnects[cause] += 1
            self._tell(CameraPhase.WAITING, cause, text)
            self._stopped.wait(self._backoff.wait_seconds())
            self._tell(CameraPhase.CONNECTING, cause, text)

    @property
    def _is_file(self) -> bool:
        return self._plan.opening.target.scheme == "file"

    def _session(self, attempt: int) -> tuple[CameraErrorCode, str]:
        """From opening to the end of what comes; why it ended."""
        failed: tuple[CameraErrorCode, str] | None = None
        paths = list(self._paths())
        for path in paths:
            try:
                self._read(path, attempt)
            except CameraError as error:
                failed = error.cause, str(error)
            if self._stopped.is_set():
                break
        if failed and len(paths) == 1:
            return failed
        return (
            (CameraErrorCode.EOF, "the camera ended the connection")
            if paths
            else (CameraErrorCode.NOT_FOUND, "no file is there")
        )

    def _paths(self) -> Iterator[Path | None]:
        """The files to play one after the other; for a camera, None."""
        path = self._plan.opening.target.path
        if not self._is_file or path is None:
            yield None
        elif path.is_dir():
            yield from sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
        else:
            yield path

    def _read(self, path: Path | None, attempt: int) -> None:
        """One connection, or one file. Raises CameraError."""
        with open_container(self._plan.opening, path, attempt, self.watchdog) as container:
            self.watchdog.begin()
            self._timeline.restart()
            self._due = None
            feed = FrameReader(container, self.watchdog, self._plan.deinterlace, live=not self._is_file)
            self._on_feed(feed)
            before = self._number
            try:
                for picture in feed.frames(lambda packet: self._on_audio(packet, self._timeline.offset)):
                    self._take(picture, feed)
                    if self._stopped.is_set():
                        return
            finally:
                self._count(feed)
            if self._number == before:
                raise CameraError(CameraErrorCode.CORRUPT, "no picture in it can be decoded")

    def _take(self, picture: DecodedFrame, feed: FrameReader) -> None:
        now = picture.arrived
        shot = self._shot(picture, feed, now)
        self.watchdog.frame(now)
        self.status.codec = feed.video.codec_context.name
        self._count(feed)
        if picture.corrupt:
            self.status.corrupt += 1
        else:
            self._backoff.good()
        self._look(picture, now)
        self._on_shot(shot)

    def _count(self, feed: FrameReader) -> None:
        self.status.corrupt += feed.decoder.damaged
        self.status.no_key += feed.skipped
        feed.decoder.damaged = feed.skipped = 0

    def _shot(self, picture: DecodedFrame, feed: FrameReader, now: float) -> CapturedFrame:
        """The picture with its number, time and epoch. Raises CameraError (codec) when it is too large."""
        frame = picture.frame
        base = feed.video.time_base or frame.time_base or DEFAULT_TIME_BASE
        seconds = self._timeline.stamp(frame.pts * base if frame.pts is not None else None, now)
        self.status.restamped = self._timeline.restamped
        pts, (last, last_base) = round(seconds / base), self._last
        if base == last_base:
            pts = max(pts, last + 1)
        self._last = pts, base
        if (geometry := self._checked_geometry(frame)) != self._geometry:
            self._geometry, self.status.epoch = geometry, self.status.epoch + 1
        self._number += 1
        if self._is_file:
            now = self._paced(float(seconds))
        return CapturedFrame(
            self._number, frame, pts, base, time.time(), now, self.status.epoch, picture.corrupt
        )

    def _checked_geometry(self, frame: VideoFrame) -> Geometry:
        plan, pixels = self._plan, frame.width * frame.height
        if pixels <= plan.max_pixels:
            geometry = slot_geometry(frame)
            if geometry.frame_bytes <= plan.max_bytes:
                return geometry
        raise CameraError(
            CameraErrorCode.CODEC,
            f"pictures of {frame.width}x{frame.height} came; at most {plan.max_pixels} pixels go",
        )

    def _paced(self, seconds: float) -> float:
        """Play a file as quickly as it was filmed, unless nothing may be lost; returns the time then."""
        now = time.monotonic()
        if self._plan.lossless:
            return now
        if self._due is None or not -1.0 < seconds + self._due - now < 5.0:
            self._due = now - seconds
        self._stopped.wait(max(0.0, seconds + self._due - now))
        return time.monotonic()

    def _look(self, picture: DecodedFrame, now: float) -> None:
        """Say that the camera is live, and what is wrong with its pictures if something is."""
        if not self._is_file and self._still.frozen(picture.frame, now):
            self._tell(CameraPhase.LIVE, CameraErrorCode.FROZEN, "the picture has not changed for 10 s")
        elif picture.corrupt:
            self._tell(CameraPhase.LIVE, CameraErrorCode.CORRUPT, "its pictures are damaged; see the network")
        else:
            self._tell(CameraPhase.LIVE, None, "")

    def _tell(self, state: CameraPhase, cause: CameraErrorCode | None, text: str) -> None:
        status = self.status
        changed = (state, cause or "") != (status.state, status.cause)
        status.state, status.cause, status.text = state, cause or "", text
        if changed:
            self._on_status()
