"""All metrics of the service, in the API process; workers send only numbers."""

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

from lumaflow.frame import ToneReport
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
"""10 us to 1 s, three buckets a decade: a stage is about 1000 times faster than a web request."""
AGE_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Each bucket is one line a source: with one more, a scrape of 64 cameras could exceed 200 KB."""
FRAME_ERRORS: dict[type[Exception], tuple[str, str]] = {
    BadFrameError: ("corrupt", "bad_frame"),
    TooLargeError: ("corrupt", "too_large"),
    UnsupportedMediaError: ("corrupt", "media_type"),
    GeometryConflictError: ("dropped", "geometry"),
    BusyError: ("dropped", "busy"),
    SlowBodyError: ("dropped", "slow_body"),
    WorkerUnavailableError: ("error", "worker"),
    WorkerStuckError: ("error", "stuck"),
}
"""The labels outcome and reason of a frame that failed with one of these errors."""
RESTART_REASONS = ("start", "stuck", "signal", "exit")
"""Reasons of a worker restart: it never became ready, hung and was killed, died by a signal, or exited."""
MAX_SOURCE_LABELS = 256
OTHER = "other"
LATE = "late"
"""The reason of a frame that a live camera replaced by a newer one; it does not count as failed."""


class Metrics:
    """The metrics, registered in the registry that is passed in."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry
        self._sources: set[str] = set()
        self._with_tone: set[str] = set()
        self._free_bytes: dict[tuple[str, str], int | None] = {}

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
        self.frames = counter("frames_total", "Frames by outcome, without late ones.", ["source", "outcome"])
        self.dropped = counter(
            "dropped_total", "Frames that were not enhanced, by reason.", ["source", "reason"]
        )
        self.luts = counter("lut_total", "Enhanced frames by the kind of LUT.", ["source", "kind"])
        # Without a source label: with it, a scrape of 64 cameras exceeds 200 KB.
        self.tones = counter(
            "tone_total",
            "Frames enhanced in the modes auto, lowlight and dehaze, by the main effect.",
            ["mode"],
        )
        self.tone_strength = gauge(
            "tone_strength", "Strength of the main effect on the last frame, in the same modes.", ["source"]
        )
        self.source_up = gauge("source_up", "1 while a source sends frames.", ["source"])
        self.queue_depth = gauge("queue_depth", "Frames of a source inside the service.", ["source"])
        self.slots_in_use = gauge("slots_in_use", "Slots in use.", ["device"])
        self.slots = gauge("slots", "All slots; two of them are reserved for views.", ["device"])
        self.disk_free = gauge("disk_free_bytes", "Free space of the fullest disk in use.", [])
        self.device_memory = gauge(
            "device_memory_bytes",
            "Memory of the lanes on a GPU; on the CPU, memory of the worker.",
            ["device"],
        )
        self.pinned_memory = gauge("pinned_memory_bytes", "Page-locked host memory for a GPU.", ["device"])
        self.worker_restarts = counter("worker_restarts_total", "Restarts of a worker.", ["device", "reason"])
        self.reconnects = counter(
            "reconnects_total",
            "Connections to a camera that failed or were lost, by cause.",
            ["source", "code"],
        )
        self.output_up = gauge("output_up", "1 while an output of a camera works.", ["source", "output"])
        self.output_dropped = counter(
            "output_dropped_total", "Enhanced frames that an output of a camera dropped.", ["source"]
        )
        self.config_reloads = counter(
            "config_reloads_total", "Reloads of the configuration, by outcome.", ["outcome"]
        )
        gauge("build_info", "Always 1; the version is a label.", ["version"]).labels(version("lumaflow")).set(
            1
        )

    def source_label(self, name: str) -> str:
        """The label of a source: its name for the first 256 sources, then `other`."""
        if name not in self._sources:
            if len(self._sources) >= MAX_SOURCE_LABELS:
                return OTHER
            self._sources.add(name)
        return name

    def frame_enhanced(self, source: str, reply: Reply, age_seconds: float, corrupt: bool = False) -> None:
        """Count an enhanced frame; the outcome of a corrupt one is counted by `camera_reported`."""
        label = self.source_label(source)
        if not corrupt:
            self.frames.labels(label, "ok").inc()
        self.luts.labels(label, reply.lut).inc()
        self._set_tone(label, reply.tone)
        self.frame_age.labels(label).observe(age_seconds)
        self.frame_seconds.labels(reply.device).observe(reply.frame_seconds)
        for stage, seconds in reply.stage_seconds.items():
            self.stage_seconds.labels(stage, reply.device).observe(seconds)

    def _set_tone(self, label: str, tone: ToneReport | None) -> None:
        """Count the main effect and set its strength; without a tone the gauge is removed."""
        if tone is not None:
            self._with_tone.add(label)
            self.tones.labels(tone.mode).inc()
            self.tone_strength.labels(label).set(tone.strength)
        elif label in self._with_tone:
            self._with_tone.remove(label)
            self.tone_strength.remove(label)

    def worker_started(self, device: str) -> None:
        """Set the restart counts of a device to 0: Prometheus then sees the first restart as an increase."""
        for reason in RESTART_REASONS:
            self.worker_restarts.labels(device, reason)

    def set_worker_memory(self, device: str, reply: Reply) -> None:
        """Set the memory gauges from the reply to a ping."""
        self.device_memory.labels(device).set(reply.device_bytes)
        self.pinned_memory.labels(device).set(reply.pinned_bytes)

    def update_gauges(self, device: str, slots_in_use: int, slots: int) -> None:
        """Set the gauges of slots and disk; `device` is empty before the first worker has started."""
        recorded = [free for free in self._free_bytes.values() if free is not None]
        self.disk_free.set(min([shutil.disk_usage(".").free, *recorded]))
        if device:
            self.slots_in_use.labels(device).set(slots_in_use)
            self.slots.labels(device).set(slots)

    def camera_reported(self, source: str, before: CameraReport, now: CameraReport) -> None:
        """Add the differences between two reports of a camera process."""
        label = self.source_label(source)
        self.frames.labels(label, "corrupt").inc(now.corrupt - before.corrupt)
        for reason, count in now.dropped.items():
            difference = count - before.dropped.get(reason, 0)
            self.dropped.labels(label, reason).inc(difference)
            if reason != LATE:
                self.frames.labels(label, "dropped").inc(difference)
        self.output_dropped.labels(label).inc(_dropped(now) - _dropped(before))
        for cause, count in now.reconnects.items():
            self.reconnects.labels(label, cause).inc(count - before.reconnects.get(cause, 0))
        for output in now.outputs:
            self.output_up.labels(label, output["name"]).set(output["state"] == "working")
            self._free_bytes[label, output["name"]] = output.get("free_bytes")

    def remove_outputs(self, source: str) -> None:
        """Remove the gauges of the outputs of a camera that is stopped or removed."""
        for label, output in [key for key in self._free_bytes if key[0] == source]:
            self.output_up.remove(label, output)
            del self._free_bytes[label, output]

    def remove_source(self, source: str) -> None:
        """Remove the gauges of a removed source; its counters stay."""
        self.remove_outputs(source)
        self._set_tone(source, None)
        if source in self._sources:
            for gauge in (self.source_up, self.queue_depth):
                gauge.remove(source)

    def frame_failed(self, source: str, error: Exception) -> None:
        """Count a frame that was not enhanced; a source without a good frame is labelled `other`."""
        label = source if source in self._sources else OTHER
        outcome, reason = FRAME_ERRORS.get(type(error), ("error", "internal"))
        self.frames.labels(label, outcome).inc()
        self.dropped.labels(label, reason).inc()

    def exposition(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry)


def _dropped(report: CameraReport) -> int:
    return sum(int(output["dropped"]) for output in report.outputs)
