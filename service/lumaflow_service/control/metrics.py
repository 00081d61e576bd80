"""All metrics of the service: one registry, in the API process; workers send numbers only."""

import shutil
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from lumaflow_service.errors import (
    BadFrameError,
    BusyError,
    GeometryConflictError,
    SlowBodyError,
    TooLargeError,
    UnsupportedMediaError,
    WorkerStuckError,
    WorkerUnavailableError,
)
from lumaflow_service.ipc.messages import CameraReport, Reply

STAGE_BUCKETS = (*(float(f"{step}e{power}") for power in range(-5, 0) for step in (1, 2, 5)), 1.0)
"""10 us to 1 s, three steps a decade: a stage is a thousand times quicker than a web request."""
AGE_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Each one is a line a source: with a further one, a scrape of 64 cameras could pass 200 KB."""
LOSSES: dict[type[Exception], tuple[str, str]] = {
    BadFrameError: ("corrupt", "bad_frame"),
    TooLargeError: ("corrupt", "too_large"),
    UnsupportedMediaError: ("corrupt", "media_type"),
    GeometryConflictError: ("dropped", "geometry"),
    BusyError: ("dropped", "busy"),
    SlowBodyError: ("dropped", "slow_body"),
    WorkerUnavailableError: ("error", "worker"),
    WorkerStuckError: ("error", "stuck"),
}
"""Outcome and reason, as labels, of a frame that met one of these errors."""
RESTARTS = ("start", "stuck", "signal", "exit")
"""Why a worker is started anew: never became ready, was killed as stuck, died by a signal, or exited."""
MAX_SOURCE_LABELS = 256
OTHER = "other"
LATE = "late"
"""Why a live camera drops a frame for a newer one: that is its delivery and no loss."""


class Metrics:
    """Every metric, registered once in the registry that is passed in."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry
        self._sources: set[str] = set()
        self._free: dict[tuple[str, str], int | None] = {}

        def histogram(name: str, text: str, labels: list[str], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"lumaflow_{name}", text, labels, registry=registry, buckets=buckets)

        def counter(name: str, text: str, labels: list[str]) -> Counter:
            return Counter(f"lumaflow_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, labels: list[str]) -> Gauge:
            return Gauge(f"lumaflow_{name}", text, labels, registry=registry)

        self.stage_seconds = histogram(
            "stage_seconds", "Time of one stage of a frame.", ["stage", "device"], STAGE_BUCKETS
        )
        self.frame_seconds = histogram(
            "frame_seconds", "Time of a frame in its lane.", ["device"], STAGE_BUCKETS
        )
        self.frame_age = histogram(
            "frame_age_seconds", "Age of a frame when its answer is ready.", ["source"], AGE_BUCKETS
        )
        self.frames = counter(
            "frames_total", "Frames by what became of them, but for late ones.", ["source", "outcome"]
        )
        self.dropped = counter(
            "dropped_total", "Frames that were not enhanced, by reason.", ["source", "reason"]
        )
        self.luts = counter("lut_total", "Enhanced frames by the kind of mapping.", ["source", "kind"])
        self.source_up = gauge("source_up", "1 while a source sends frames.", ["source"])
        self.queue_depth = gauge("queue_depth", "Frames of a source inside the service.", ["source"])
        self.slots_in_use = gauge("slots_in_use", "Slots handed out.", ["device"])
        self.slots = gauge("slots", "Slots there are; frames leave two of them to views.", ["device"])
        self.disk_free = gauge("disk_free_bytes", "Free space of the fullest disk in use.", [])
        self.device_memory = gauge(
            "device_memory_bytes", "What lanes hold on a GPU; on the CPU what the worker holds.", ["device"]
        )
        self.pinned_memory = gauge("pinned_memory_bytes", "Host memory page-locked for a GPU.", ["device"])
        self.worker_restarts = counter("worker_restarts_total", "Restarts of a worker.", ["device", "reason"])
        self.reconnects = counter(
            "reconnects_total",
            "Connections to a camera that failed or were lost, by cause.",
            ["source", "code"],
        )
        self.output_up = gauge("output_up", "1 while an output of a camera works.", ["source", "output"])
        self.output_dropped = counter(
            "output_dropped_total", "Enhanced frames that an output of a camera left out.", ["source"]
        )
        self.config_reloads = counter(
            "config_reloads_total", "Readings of a changed configuration, by outcome.", ["outcome"]
        )
        gauge("build_info", "Always 1; the version is a label.", ["version"]).labels(version("lumaflow")).set(
            1
        )

    def source(self, name: str) -> str:
        """The label for a source: its name for the first 256 that ask, `other` for all further ones."""
        if name not in self._sources:
            if len(self._sources) >= MAX_SOURCE_LABELS:
                return OTHER
            self._sources.add(name)
        return name

    def enhanced(self, source: str, reply: Reply, age_seconds: float, corrupt: bool = False) -> None:
        """Count one frame that was enhanced; a corrupt one is counted as such by its camera."""
        label = self.source(source)
        if not corrupt:
            self.frames.labels(label, "ok").inc()
        self.luts.labels(label, reply.lut).inc()
        self.frame_age.labels(label).observe(age_seconds)
        self.frame_seconds.labels(reply.device).observe(reply.frame_seconds)
        for stage, seconds in reply.stage_seconds.items():
            self.stage_seconds.labels(stage, reply.device).observe(seconds)

    def worker_started(self, device: str) -> None:
        """Begin the restart counts of a device at 0, so that the first restart is seen as an increase."""
        for reason in RESTARTS:
            self.worker_restarts.labels(device, reason)

    def holds(self, device: str, reply: Reply) -> None:
        """Take in the memory that the worker of a device holds."""
        self.device_memory.labels(device).set(reply.device_bytes)
        self.pinned_memory.labels(device).set(reply.pinned_bytes)

    def observe(self, device: str, slots_in_use: int, slots: int) -> None:
        """Bring the states of the ring and of the disk up to date; no device yet means no worker yet."""
        recorded = [free for free in self._free.values() if free is not None]
        self.disk_free.set(min([shutil.disk_usage(".").free, *recorded]))
        if device:
            self.slots_in_use.labels(device).set(slots_in_use)
            self.slots.labels(device).set(slots)

    def camera(self, source: str, before: CameraReport, now: CameraReport) -> None:
        """Count what grew between two reports of a camera's process."""
        label = self.source(source)
        self.frames.labels(label, "corrupt").inc(now.corrupt - before.corrupt)
        for reason, count in now.dropped.items():
            more = count - before.dropped.get(reason, 0)
            self.dropped.labels(label, reason).inc(more)
            if reason != LATE:
                self.frames.labels(label, "dropped").inc(more)
        self.output_dropped.labels(label).inc(_dropped(now) - _dropped(before))
        for cause, count in now.reconnects.items():
            self.reconnects.labels(label, cause).inc(count - before.reconnects.get(cause, 0))
        for output in now.outputs:
            self.output_up.labels(label, output["name"]).set(output["state"] == "working")
            self._free[label, output["name"]] = output.get("free_bytes")

    def forget_outputs(self, source: str) -> None:
        """Take the outputs of a camera that is no more, or stands still, out of the exposition."""
        for label, output in [key for key in self._free if key[0] == source]:
            self.output_up.remove(label, output)
            del self._free[label, output]

    def forget(self, source: str) -> None:
        """Take the states of a source that is no more out of the exposition; its counts stay."""
        self.forget_outputs(source)
        if source in self._sources:
            for gauge in (self.source_up, self.queue_depth):
                gauge.remove(source)

    def lost(self, source: str, error: Exception) -> None:
        """Count one frame that was not enhanced; an id without a good frame gets no label."""
        label = source if source in self._sources else OTHER
        outcome, reason = LOSSES.get(type(error), ("error", "internal"))
        self.frames.labels(label, outcome).inc()
        self.dropped.labels(label, reason).inc()

    def exposition(self) -> bytes:
        """All of it in the text format that Prometheus reads."""
        return generate_latest(self.registry)


def _dropped(report: CameraReport) -> int:
    return sum(int(output["dropped"]) for output in report.outputs)
