"""The view cache: one encoding of a frame for all viewers, fast or slow."""

import asyncio
from dataclasses import dataclass

import pytest

from lumaflow_service.config.options import SourceOptions
from lumaflow_service.control.sources import Source
from lumaflow_service.control.view_cache import EncodedView, ViewCache
from lumaflow_service.errors import UnknownSourceError, no_recent_frame
from lumaflow_service.ipc.messages import Job, Reply, View
from lumaflow_service.ipc.slots import SlotLease, SlotMemory, SlotRing


@dataclass
class Worker:
    """Encodes the last frame of a source, slowly, and counts."""

    source: Source
    encoded: int = 0
    closed: bool = False

    async def call(self, job: Job, slot: SlotLease) -> Reply:
        if self.closed:
            raise no_recent_frame(job.source, 300)
        self.encoded += 1
        assert self.source.last_reply
        sequence = self.source.last_reply.sequence
        await asyncio.sleep(0.002)
        return Reply(1, sequence=sequence, length=4)


def test_twenty_viewers_share_one_encoding_of_a_frame() -> None:
    frames = 30

    async def watch(pictures: ViewCache, source: Source, pause: float) -> list[EncodedView]:
        seen = []
        async for picture in pictures.watch(source, View.BOTH):
            seen.append(picture)
            await asyncio.sleep(pause)
        return seen

    async def run() -> tuple[int, list[list[EncodedView]]]:
        source = Source("one", SourceOptions())
        worker = Worker(source)
        memory = SlotMemory.create(4, 1 << 12)
        pictures = ViewCache(worker, SlotRing(memory), 64, 300)  # type: ignore[arg-type]
        viewers = [
            asyncio.create_task(watch(pictures, source, 0.05 if number < 5 else 0)) for number in range(20)
        ]
        for number in range(frames):
            source.frame_enhanced(Reply(1, sequence=number))
            await asyncio.sleep(0.01)
        source.close()
        seen = await asyncio.gather(*viewers)
        memory.close()
        return worker.encoded, seen

    encoded, seen = asyncio.run(run())
    assert encoded <= frames
    for pictures in seen:
        numbers = [picture.sequence for picture in pictures]
        assert numbers == sorted(set(numbers))
    assert all(len(pictures) < frames / 2 for pictures in seen[:5])  # slow ones skip whole frames
    assert all(len(pictures) > frames / 2 for pictures in seen[5:])


def test_a_source_remembers_arrival_times() -> None:
    source = Source("one", SourceOptions())
    source.frame_submitted(12.5)
    source.frame_submitted(13.0)
    assert (source.arrival_time(0), source.arrival_time(1), source.arrival_time(2)) == (12.5, 13.0, None)
    assert source.submitted == 2


def test_all_views_end_with_the_lane_also_encoded_ones() -> None:
    async def run(idle_seconds: float, closed: bool) -> None:
        source = Source("one", SourceOptions())
        worker = Worker(source)
        memory = SlotMemory.create(4, 1 << 12)
        pictures = ViewCache(worker, SlotRing(memory), 64, idle_seconds)  # type: ignore[arg-type]
        source.frame_enhanced(Reply(1, sequence=0))
        await pictures.newest(source, View.ENHANCED)
        worker.closed = closed
        await asyncio.sleep(0 if closed else 2 * idle_seconds)
        for view in (View.RAW, View.ENHANCED):
            with pytest.raises(UnknownSourceError, match=r"kept for .+ s .LUMAFLOW_LANE_IDLE_SECONDS"):
                await pictures.newest(source, view)
        memory.close()

    asyncio.run(run(0.05, closed=False))
    asyncio.run(run(300, closed=True))  # too many lanes, or a new worker
