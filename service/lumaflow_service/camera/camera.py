"""Reads one camera on one thread: opens it, decodes its frames, and reconnects after every error."""

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
from lumaflow_service.camera.freeze import FROZEN_SECONDS, FreezeDetector
from lumaflow_service.camera.open_container import OpenRequest, open_container
from lumaflow_service.camera.timeline import Timeline
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.ipc.backoff import Backoff
from lumaflow_service.media.slot_format import slot_geometry
from lumaflow_service.media.video.reader import AnyPacket

MAX_DRIFT_SECONDS = -1.0, 5.0
"""A file whose next frame is due outside this range from now is paced from now on."""


class CameraPhase(StrEnum):
    """The state of a camera."""

    CONNECTING = "connecting"
    LIVE = "live"
    WAITING = "waiting"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a camera. With `lossless`, a file is read as fast as its frames are taken."""

    request: OpenRequest
    lossless: bool = False
    loop: bool = False
    deinterlace: bool = False
    max_pixels: int = 1 << 24
    max_bytes: int = 1 << 26


@dataclass(slots=True)
class ReadStatus:
    """The state of a camera, the cause of its last error, and counts since its process started.

    corrupt : frames and packets that are damaged
    restamped : frames whose time was replaced
    skipped : packets before the first key frame
    reconnects : failed connections by cause
    """

    state: CameraPhase = CameraPhase.CONNECTING
    cause: str = ""
    text: str = ""
    codec: str = ""
    epoch: int = 0
    corrupt: int = 0
    restamped: int = 0
    skipped: int = 0
    reconnects: Counter[str] = field(default_factory=Counter)


class Camera:
    """Reads a camera on the thread that calls `run`.

    on_frame : called with each frame
    on_connected : called with the reader of each new connection
    on_audio : called with each audio packet, and the seconds to add to its time
    on_status : called when the state or its cause changes
    """

    def __init__(
        self,
        options: ReadOptions,
        on_frame: Callable[[CapturedFrame], None],
        on_connected: Callable[[FrameReader], None],
        on_audio: Callable[[AnyPacket, Fraction], None],
        on_status: Callable[[], None],
    ) -> None:
        self.status = ReadStatus()
        self.watchdog = Watchdog()
        self._options = options
        self._on_frame, self._on_connected = on_frame, on_connected
        self._on_audio, self._on_status = on_audio, on_status
        self._is_file = options.request.target.scheme == "file"
        self._backoff = Backoff()
        self._timeline = Timeline(live=not self._is_file)
        self._freeze_detector = FreezeDetector()
        self._stopped = threading.Event()
        self._number = 0
        self._geometry: Geometry | None = None
        self._last_pts: tuple[int, Fraction] = (-1, DEFAULT_TIME_BASE)
        self._clock_offset: float | None = None

    def stop(self) -> None:
        """Make `run` return soon."""
        self._stopped.set()

    def run(self) -> None:
        """Read until `stop`, or until the end of a file without `loop`."""
        for attempt in range(1 << 62):
            before = self._number
            cause, text = self._connect_and_read(attempt)
            if self._stopped.is_set():
                return
            if cause is CameraErrorCode.EOF and self._is_file and self._number > before:
                if not self._options.loop:
                    return self._set_status(CameraPhase.ENDED, CameraErrorCode.EOF, "the end of the file")
                continue
            self.status.reconnects[cause] += 1
            self._set_status(CameraPhase.WAITING, cause, text)
            self._stopped.wait(self._backoff.wait_seconds())
            self._set_status(CameraPhase.CONNECTING, cause, text)

    def _connect_and_read(self, attempt: int) -> tuple[CameraErrorCode, str]:
        """Read one connection, or all files of a folder; return why it ended."""
        failure: tuple[CameraErrorCode, str] | None = None
        paths = list(self._paths())
        for path in paths:
            try:
                self._read(path, attempt)
            except CameraError as error:
                failure = error.cause, str(error)
            if self._stopped.is_set():
                break
        if failure and len(paths) == 1:
            return failure
        if not paths:
            return CameraErrorCode.NOT_FOUND, "the folder has no files"
        return CameraErrorCode.EOF, "the camera closed the connection"

    def _paths(self) -> Iterator[Path | None]:
        """The files to read, in order; for a camera, one None."""
        path = self._options.request.target.path
        if not self._is_file or path is None:
            yield None
        elif path.is_dir():
            yield from sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
        else:
            yield path

    def _read(self, path: Path | None, attempt: int) -> None:
        """Read one connection or one file to its end. Raises CameraError."""
        with open_container(self._options.request, path, attempt, self.watchdog) as container:
            self.watchdog.connected()
            self._timeline.restart()
            self._clock_offset = None
            reader = FrameReader(container, self.watchdog, self._options.deinterlace, live=not self._is_file)
            self._on_connected(reader)
            before = self._number
            try:
                for decoded in reader.frames(lambda packet: self._on_audio(packet, self._timeline.offset)):
                    self._handle(decoded, reader)
                    if self._stopped.is_set():
                        return
            finally:
                self._add_counts(reader)
            if self._number == before:
                raise CameraError(CameraErrorCode.CORRUPT, "no frame in it can be decoded")

    def _handle(self, decoded: DecodedFrame, reader: FrameReader) -> None:
        arrived = decoded.arrived
        captured = self._capture(decoded, reader)
        self.watchdog.frame(arrived)
        self.status.codec = reader.video.codec_context.name
        self._add_counts(reader)
        if decoded.corrupt:
            self.status.corrupt += 1
        else:
            self._backoff.good()
        self._update_status(decoded)
        self._on_frame(captured)

    def _add_counts(self, reader: FrameReader) -> None:
        self.status.corrupt += reader.decoder.damaged
        self.status.skipped += reader.skipped
        reader.decoder.damaged = reader.skipped = 0

    def _capture(self, decoded: DecodedFrame, reader: FrameReader) -> CapturedFrame:
        """Add number, time and epoch to a frame. Raises CameraError (codec) when the frame is too large."""
        frame, arrived = decoded.frame, decoded.arrived
        base = reader.video.time_base or frame.time_base or DEFAULT_TIME_BASE
        seconds = self._timeline.stamp(frame.pts * base if frame.pts is not None else None, arrived)
        self.status.restamped = self._timeline.restamped
        pts, (last_pts, last_base) = round(seconds / base), self._last_pts
        if base == last_base:
            pts = max(pts, last_pts + 1)
        self._last_pts = pts, base
        if (geometry := self._checked_geometry(frame)) != self._geometry:
            self._geometry, self.status.epoch = geometry, self.status.epoch + 1
        self._number += 1
        if self._is_file:
            arrived = self._wait_until_due(float(seconds))
        return CapturedFrame(
            self._number, frame, pts, base, time.time(), arrived, self.status.epoch, decoded.corrupt
        )

    def _checked_geometry(self, frame: VideoFrame) -> Geometry:
        limits, pixels = self._options, frame.width * frame.height
        if pixels <= limits.max_pixels:
            geometry = slot_geometry(frame)
            if geometry.frame_bytes <= limits.max_bytes:
                return geometry
        raise CameraError(
            CameraErrorCode.CODEC,
            f"expected frames of at most {limits.max_pixels} pixels and {limits.max_bytes} bytes,"
            f" got {frame.width}x{frame.height}",
        )

    def _wait_until_due(self, seconds: float) -> float:
        """Pace a file at its own frame rate, unless `lossless`; return the monotonic time after the wait."""
        now, (earliest, latest) = time.monotonic(), MAX_DRIFT_SECONDS
        if self._options.lossless:
            return now
        if self._clock_offset is None or not earliest < seconds + self._clock_offset - now < latest:
            self._clock_offset = now - seconds
        self._stopped.wait(max(0.0, seconds + self._clock_offset - now))
        return time.monotonic()

    def _update_status(self, decoded: DecodedFrame) -> None:
        """Set the state to live, with the cause when the frames are frozen or corrupt."""
        if not self._is_file and self._freeze_detector.is_frozen(decoded.frame, decoded.arrived):
            text = f"the image has not changed for {FROZEN_SECONDS:g} s"
            self._set_status(CameraPhase.LIVE, CameraErrorCode.FROZEN, text)
        elif decoded.corrupt:
            text = "its frames are damaged; check the network"
            self._set_status(CameraPhase.LIVE, CameraErrorCode.CORRUPT, text)
        else:
            self._set_status(CameraPhase.LIVE, None, "")

    def _set_status(self, state: CameraPhase, cause: CameraErrorCode | None, text: str) -> None:
        status = self.status
        changed = (state, cause or "") != (status.state, status.cause)
        status.state, status.cause, status.text = state, cause or "", text
        if changed:
            self._on_status()
