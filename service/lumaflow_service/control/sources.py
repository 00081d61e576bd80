"""The sources: what each is set to, what it last gave, and the way a frame takes through the service."""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from lumaflow_service.config.options import Feature, SourceOptions
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
"""A source whose last frame is older is idle."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Source:
    """One camera or client. `kept` ones were made by PUT and never give way to others.

    extracted : features of the last frame, which may have been on its way when the options changed
    """

    id: str
    options: SourceOptions
    geometry: GeometryJson | None = None
    fixed: bool = False
    kept: bool = False
    closed: bool = False
    waiting: int = 0
    submitted: int = 0
    frames: int = 0
    last: Reply | None = None
    extracted: list[Feature] = field(default_factory=list)
    latency: Latency = field(default_factory=Latency)
    _arrivals: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=64))
    _finished: deque[float] = field(default_factory=lambda: deque(maxlen=64))
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def age_seconds(self) -> float | None:
        """Time since the last frame was enhanced."""
        return time.monotonic() - self._finished[-1] if self._finished else None

    @property
    def live(self) -> bool:
        """Whether frames are coming."""
        return bool(self._finished) and time.monotonic() - self._finished[-1] < LIVE_SECONDS

    @property
    def frames_per_second(self) -> float:
        """Rate of the last frames (at most 64); 0 for an idle source."""
        if not self.live or len(self._finished) < 2:
            return 0.0
        return (len(self._finished) - 1) / max(self._finished[-1] - self._finished[0], 1e-9)

    def arrived(self, sequence: int) -> float | None:
        """When one of the last frames arrived, on the monotonic clock; None for one long gone."""
        return next((time_ for number, time_ in self._arrivals if number == sequence), None)

    def expect(self, arrived: float) -> None:
        """Count a frame handed over, which arrived at this time on the monotonic clock."""
        self._arrivals.append((self.submitted, arrived))
        self.submitted += 1

    def announce(self, reply: Reply, features: Sequence[Feature] = ()) -> None:
        """Take in the figures and features of a frame that was enhanced, and wake whoever waits for one."""
        self.frames += 1
        self.latency.add(reply.stage_seconds)
        if not self.live:
            self._finished.clear()
        self._finished.append(time.monotonic())
        self.geometry = reply.geometry
        if self.last is None or reply.sequence > self.last.sequence:
            self.last, self.extracted = reply, [*features]
        self._wake()

    def fix(self, geometry: GeometryJson | None) -> None:
        """From now on accept only frames of this geometry; None accepts all."""
        self.fixed = geometry is not None
        self.geometry = geometry or self.geometry

    def check(self, geometry: GeometryJson) -> None:
        """Raise GeometryConflictError when the source is fixed to another geometry; the matrix may differ."""
        if not self.fixed or self.geometry is None:
            return
        expected, got = self.geometry.geometry, geometry.geometry
        if got != expected:
            raise GeometryConflictError(
                f"expected a frame of {expected}, got {got}; send the expected one, or change it with PUT"
            )

    def close(self) -> None:
        """Let go of whoever waits for a frame: there will be none."""
        self.closed = True
        self._wake()

    async def newer_than(self, sequence: int) -> None:
        """Wait until a frame after `sequence` was enhanced, or the source is closed."""
        while not self.closed and (self.last is None or self.last.sequence <= sequence):
            await self._news.wait()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


@dataclass(frozen=True, slots=True)
class Upload:
    """A frame as it lies in a slot, and the answer that is wanted; `arrived` on the monotonic clock.

    `traceparent` is the client's own span (W3C Trace Context), if it has one.
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
    """All sources by id, the one used longest ago first."""

    def __init__(
        self, engine: Engine, metrics: Metrics, most: int, queue_depth: int, tracing: Tracing | None = None
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._tracing = tracing
        self._most = most
        self._queue_depth = queue_depth
        self._sources: OrderedDict[str, Source] = OrderedDict()

    def __iter__(self) -> Iterator[Source]:
        return iter(sorted(self._sources.values(), key=lambda source: source.id))

    def get(self, name: str) -> Source:
        """The source of this id. Raises UnknownSourceError."""
        source = self._sources.get(name)
        if source is None:
            raise UnknownSourceError(f"there is no source {name!r}; send it a frame, or make it with PUT")
        return source

    def put(self, name: str, options: SourceOptions, geometry: GeometryJson | None) -> bool:
        """Make a source or set one anew, with its shape fixed when given; says whether it is new."""
        new = name not in self._sources
        source = self._sources[name] if not new else self._make(name)
        source.options, source.kept = options, True
        source.fix(geometry)
        return new

    def drop(self, name: str) -> None:
        """End a source: viewers are let go and its lane is closed. Raises UnknownSourceError."""
        self.get(name).close()
        del self._sources[name]
        self._metrics.forget(name)
        self._engine.tell(Job(0, Op.FORGET, name))

    def close(self) -> None:
        """Let go of all viewers."""
        for source in self._sources.values():
            source.close()

    @contextmanager
    def enter(self, name: str) -> Iterator[Source]:
        """Take a place in a source's queue for one frame, making the source if it does not exist.

        Raises BusyError when the queue is full. A new source that gets no good frame goes again. Frames that
        fail inside are counted.
        """
        source = self._sources.get(name) or self._make(name)
        try:
            if source.waiting >= self._queue_depth:
                raise BusyError(
                    f"{source.waiting} frames of {name!r} are waiting; wait for their answers first"
                )
            source.waiting += 1
            try:
                yield source
            finally:
                source.waiting -= 1
        except Exception as error:
            self._metrics.lost(name, error)
            if self._tracing:
                self._tracing.lost(name, error)
            raise
        finally:
            if not (source.kept or source.frames or source.waiting or source.closed):
                self.drop(name)

    async def enhance(self, source: Source, slot: SlotLease, upload: Upload) -> Reply:
        """Have the frame in `slot` enhanced. Raises what `Engine.call` does, and GeometryConflictError."""
        if upload.geometry:
            source.check(upload.geometry)
        options = source.options = source.options.with_features(upload.features or [])
        job = Job(
            0,
            Op.FRAME,
            source.id,
            length=upload.length,
            media=upload.media,
            geometry=upload.geometry or (source.geometry if source.fixed else None),
            options=options.model_dump(mode="json"),
            sequence=source.submitted,
            answer=upload.answer,
            features=None if upload.features is None else [str(name) for name in upload.features],
            corrupt=upload.corrupt,
        )
        answer = self._engine.submit(job, slot)
        source.expect(upload.arrived)
        reply = await answer
        source.announce(reply, options.features)
        age_seconds = time.monotonic() - upload.arrived
        self._metrics.enhanced(source.id, reply, age_seconds, upload.corrupt)
        if self._tracing:
            self._tracing.enhanced(source.id, reply, age_seconds, upload.traceparent)
        if not source.closed:
            self._sources.move_to_end(source.id)
        return reply

    def observe(self) -> None:
        """Bring the metrics that are states up to date."""
        for source in self._sources.values():
            label = self._metrics.source(source.id)
            self._metrics.source_up.labels(label).set(source.live)
            self._metrics.queue_depth.labels(label).set(source.waiting)

    def _make(self, name: str) -> Source:
        """A new source; the idle one used longest ago gives way when there are too many."""
        if len(self._sources) >= self._most:
            idle = (source for source in self._sources.values() if not (source.kept or source.waiting))
            oldest = next(idle, None)
            if oldest is None:
                raise BusyError(f"{self._most} sources are in use; delete one first")
            self.drop(oldest.id)
        source = self._sources[name] = Source(name, SourceOptions())
        return source
