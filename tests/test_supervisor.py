"""A camera process with a worker that is slower than the camera."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from cameras import RtspServer, rtsp_server
from lumaflow_service.config.model import CameraConfig
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.control.camera_supervisor import CameraSupervisor, ServiceParts
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.sources import Sources
from lumaflow_service.ipc.messages import CameraAssignment, FrameReady, Job, Reply
from lumaflow_service.ipc.slots import SlotLease, SlotMemory, SlotRing

INTERVAL = 0.25
SLOW = 1.5 * INTERVAL


class SlowEngine:
    """An engine that enhances one frame at a time, SLOW seconds each."""

    ready = True

    def __init__(self) -> None:
        self.free_at = 0.0

    async def submit(self, job: Job, slot: SlotLease) -> Reply:
        """Reply when all earlier jobs and this one are done."""
        now = asyncio.get_running_loop().time()
        self.free_at = max(self.free_at, now) + SLOW
        await asyncio.sleep(self.free_at - now)
        return Reply(1, device="cpu", geometry=job.geometry, sequence=job.sequence, lut="previous")

    def notify(self, job: Job) -> None:
        """Nothing is told."""


class AgeMetrics(Metrics):
    """Metrics that also store the age of every frame."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.ages: list[float] = []

    def frame_enhanced(self, source: str, reply: Reply, age_seconds: float, corrupt: bool = False) -> None:
        """Store the age."""
        self.ages.append(age_seconds)
        super().frame_enhanced(source, reply, age_seconds, corrupt)


@pytest.fixture(scope="module")
def server() -> Iterator[RtspServer]:
    with rtsp_server([f"/slow=live:160x120@{round(1 / INTERVAL)}"]) as server:
        yield server


def test_frames_for_a_slow_consumer_are_at_most_three_intervals_old(server: RtspServer) -> None:
    metrics, numbers = asyncio.run(run_camera(server, frames=10))
    late = metrics.registry.get_sample_value("lumaflow_dropped_total", {"source": "gate", "reason": "late"})
    assert max(metrics.ages[1:]) <= 3 * INTERVAL  # one that waited in a queue would be older each time
    assert late
    assert all(a < b for a, b in pairwise(numbers))
    assert numbers[-1] >= 1.3 * len(numbers)


async def run_camera(server: RtspServer, frames: int) -> tuple[AgeMetrics, list[int]]:
    """Run a camera until a number of frames is enhanced; return the metrics and the frame numbers."""
    metrics, ring, engine = AgeMetrics(), SlotRing(SlotMemory.create(8, 1 << 20)), SlowEngine()
    sources: Any = Sources(engine, metrics, 4, 4)  # type: ignore[arg-type]
    camera = CameraConfig.model_validate({"url": server.url("slow")})
    sources.put("gate", SourceOptions(), None)
    limits = {"max_pixels": 1 << 20, "max_bytes": 1 << 20}
    assignment = CameraAssignment("gate", camera.without_options, ["127.0.0.0/8"], [], "/", limits)
    supervisor = CameraSupervisor(assignment, "live", [], ServiceParts(ring, engine, sources, metrics))  # type: ignore[arg-type]
    numbers: list[int] = []
    supervisor.start()
    try:
        async with asyncio.timeout(60):
            while len(metrics.ages) < frames:
                last: FrameReady | None = supervisor.status.last
                if last and numbers[-1:] != [last.number]:
                    numbers.append(last.number)
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.5)  # for the report that counts what was dropped
    finally:
        await supervisor.stop()
        ring.close()
    return metrics, numbers
