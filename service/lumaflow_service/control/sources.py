"""The sources: their options, the state of their last frame, and the path of a frame through the service."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from lumaflow_service.config.options import Feature, OptionsPatch, SourceOptions
from lumaflow_service.config.presets import merge_options
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.latency import Latency
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.tracing import Tracing
from lumaflow_service.errors import BusyError, GeometryConflictError, UnknownSourceError
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, Reply
from lumaflow_service.ipc.slots import SlotLease

LIVE_SECONDS = 2.0
"""A source is idle when its last frame is older."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Source:
    """A camera or a client that sends frames.

    fixed : True when only frames of `geometry` are accepted; otherwise `geometry` is that of the last frame
    pinned : created by PUT, so never evicted
    queued : frames inside the service
    submitted, frames : number of frames sent to the worker, and of frames enhanced
    extracted : features of the last frame; the options may have changed since it was submitted
    """

    id: str
    options: SourceOptions
    geometry: GeometryJson | None = None
    fixed: bool = False
    pinned: bool = False
    closed: bool = False
    queued: int = 0
    submitted: int = 0
    frames: int = 0
    last_reply: Reply | None = None
    extracted: list[Feature] = field(default_factory=list)
    latency: Latency = field(default_factory=Latency)
    _arrival_times: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=64))
    _finish_times: deque[float] = field(default_factory=lambda: deque(maxlen=64))
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def age_seconds(self) -> float | None:
        """Seconds since the last frame was enhanced; None before the first."""
        return time.monotonic() - self._finish_times[-1] if self._finish_times else None

    @property
    def live(self) -> bool:
        """True when the last frame is younger than LIVE_SECONDS."""
        return bool(self._finish_times) and time.monotonic() - self._finish_times[-1] < LIVE_SECONDS

    @property
    def frames_per_second(self) -> float:
        """Rate over the last 64 frames; 0 for an idle source."""
        if not self.live or len(self._finish_times) < 2:
            return 0.0
        return (len(self._finish_times) - 1) / max(self._finish_times[-1] - self._finish_times[0], 1e-9)

    def arrival_time(self, sequence: int) -> float | None:
        """Arrival of one of the last 64 frames on the monotonic clock; None for an older frame."""
        return next((time_ for number, time_ in self._arrival_times if number == sequence), None)

    def frame_submitted(self, arrived: float) -> None:
        """Count a frame sent to the worker; `arrived` on the monotonic clock."""
        self._arrival_times.append((self.submitted, arrived))
        self.submitted += 1

    def frame_enhanced(self, reply: Reply, features: Sequence[Feature] = ()) -> None:
        """Record the reply to a frame and its features, and wake the tasks that wait for a frame."""
        self.frames += 1
        self.latency.add(reply.stage_seconds)
        if not self.live:
            self._finish_times.clear()
        self._finish_times.append(time.monotonic())
        self.geometry = reply.geometry
        if self.last_reply is None or reply.sequence > self.last_reply.sequence:
            self.last_reply, self.extracted = reply, [*features]
        self._wake_waiters()

    def fix_geometry(self, geometry: GeometryJson | None) -> None:
        """From now on accept only frames of this geometry; None accepts all."""
        self.fixed = geometry is not None
        self.geometry = geometry or self.geometry

    def check_geometry(self, geometry: GeometryJson) -> None:
        """Raise GeometryConflictError when the source is fixed to another geometry; the matrix may differ."""
        if not self.fixed or self.geometry is None:
            return
        expected, got = self.geometry.geometry, geometry.geometry
        if got != expected:
            raise GeometryConflictError(
                f"expected a frame of {expected}, got {got}; send the expected one, or change it with PUT"
            )

    def close(self) -> None:
        """Mark the source as removed and wake the tasks that wait for a frame."""
        self.closed = True
        self._wake_waiters()

    async def wait_for_frame_after(self, sequence: int) -> None:
        """Wait until a frame after `sequence` is enhanced, or the source is closed."""
        while not self.closed and (self.last_reply is None or self.last_reply.sequence <= sequence):
            await self._changed.wait()

    def _wake_waiters(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """A frame in a slot, and the response that the client asks for.

    length : bytes of the frame in the slot
    arrived : on the monotonic clock
    geometry : of a raw frame
    answer, features : media type of the response, and the arrays that an npz holds (None: all)
    traceparent : the client's span (W3C Trace Context), or empty
    """

    media: MediaType
    length: int
    arrived: float
    geometry: GeometryJson | None = None
    answer: MediaType = MediaType.JSON
    features: list[Feature] | None = None
    corrupt: bool = False
    traceparent: str = ""


class Sources:
    """All sources by id, the least recently used first."""

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        max_sources: int,
        queue_depth: int,
        tracing: Tracing | None = None,
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._tracing = tracing
        self._max_sources = max_sources
        self._queue_depth = queue_depth
        self._sources: OrderedDict[str, Source] = OrderedDict()
        self.defaults = OptionsPatch()
        """The options of the configuration for sources that set no other."""

    def __iter__(self) -> Iterator[Source]:
        return iter(sorted(self._sources.values(), key=lambda source: source.id))

    def get(self, name: str) -> Source:
        """The source with this id. Raises UnknownSourceError."""
        source = self._sources.get(name)
        if source is None:
            raise UnknownSourceError(f"unknown source {name!r}; send it a frame, or create it with PUT")
        return source

    def options_with(self, changes: dict[str, Any]) -> SourceOptions:
        """The options of a source that sets these; `defaults` and the built-in values fill the rest."""
        return SourceOptions.model_validate(merge_options(self.defaults.changes(), changes))

    def put(self, name: str, options: SourceOptions, geometry: GeometryJson | None) -> bool:
        """Create or replace a source, fixed to a geometry when one is given; returns True for a new one."""
        new = name not in self._sources
        source = self._sources[name] if not new else self._create(name)
        source.options, source.pinned = options, True
        source.fix_geometry(geometry)
        return new

    def remove(self, name: str) -> None:
        """Remove a source, disconnect its viewers and close its lane. Raises UnknownSourceError."""
        self.get(name).close()
        del self._sources[name]
        self._metrics.remove_source(name)
        self._engine.notify(Job(0, Op.FORGET, name))

    def close(self) -> None:
        """Disconnect all viewers."""
        for source in self._sources.values():
            source.close()

    @contextmanager
    def enqueue(self, name: str) -> Iterator[Source]:
        """Reserve a place in a source's queue for one frame; an unknown source is created.

        Raises BusyError when the queue is full. An exception inside the block counts as a failed frame. A new
        source is removed again when its first frame fails.
        """
        source = self._sources.get(name) or self._create(name)
        try:
            if source.queued >= self._queue_depth:
                raise BusyError(
                    f"the queue of {name!r} is full ({source.queued} frames); wait for a response"
                )
            source.queued += 1
            try:
                yield source
            finally:
                source.queued -= 1
        except Exception as error:
            self._metrics.frame_failed(name, error)
            if self._tracing:
                self._tracing.frame_failed(name, error)
            raise
        finally:
            if not (source.pinned or source.frames or source.queued or source.closed):
                self.remove(name)

    async def enhance(self, source: Source, slot: SlotLease, request: FrameRequest) -> Reply:
        """Enhance the frame in `slot`. Raises what `Engine.call` raises, and GeometryConflictError."""
        if request.geometry:
            source.check_geometry(request.geometry)
        options = source.options = source.options.with_features(request.features or [])
        job = Job(
            0,
            Op.FRAME,
            source.id,
            length=request.length,
            media=request.media,
            geometry=request.geometry or (source.geometry if source.fixed else None),
            options=options.model_dump(mode="json"),
            sequence=source.submitted,
            answer=request.answer,
            features=None if request.features is None else [str(name) for name in request.features],
            corrupt=request.corrupt,
        )
        future = self._engine.submit(job, slot)
        source.frame_submitted(request.arrived)
        reply = await future
        source.frame_enhanced(reply, options.features)
        age_seconds = time.monotonic() - request.arrived
        self._metrics.frame_enhanced(source.id, reply, age_seconds, request.corrupt)
        if self._tracing:
            self._tracing.frame_enhanced(source.id, reply, age_seconds, request.traceparent)
        if not source.closed:
            self._sources.move_to_end(source.id)
        return reply

    def update_gauges(self) -> None:
        """Set the gauges of all sources."""
        for source in self._sources.values():
            label = self._metrics.source_label(source.id)
            self._metrics.source_up.labels(label).set(source.live)
            self._metrics.queue_depth.labels(label).set(source.queued)

    def _create(self, name: str) -> Source:
        """Add a source; at the limit the least recently used idle one is evicted. Raises BusyError."""
        if len(self._sources) >= self._max_sources:
            idle = (source for source in self._sources.values() if not (source.pinned or source.queued))
            oldest = next(idle, None)
            if oldest is None:
                raise BusyError(f"{self._max_sources} sources are in use; delete one first")
            self.remove(oldest.id)
        source = self._sources[name] = Source(name, self.options_with({}))
        return source
