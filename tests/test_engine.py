"""The engine with a real worker process, without HTTP."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from conftest import START_SECONDS
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.config.settings import Settings
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.sources import FrameRequest, Sources
from lumaflow_service.errors import BadFrameError, BusyError, WorkerUnavailableError
from lumaflow_service.ipc.backoff import backoff_seconds, crash_backoff_seconds
from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Message, Op, Reply
from lumaflow_service.ipc.slots import SlotLease, SlotMemory, SlotRing
from lumaflow_service.ipc.transport import send, socket_pair

GRAY = GeometryJson(64, 48, "gray8")
FRAME = bytes(range(64)) * 48
JOB = Job(0, Op.FRAME, "gate", length=len(FRAME), media=MediaType.RAW, geometry=GRAY, answer=MediaType.RAW)


def with_engine(check: Callable[[Engine, SlotRing], Awaitable[None]], device: str = "cpu") -> Engine:
    """Run `check` with an engine that is ready, or has failed."""

    async def run() -> Engine:
        settings = Settings(device=device, slots=4, slot_bytes=1 << 20)
        ring = SlotRing(SlotMemory.create(settings.slots, settings.slot_bytes))
        engine = Engine(ring, settings, Metrics(CollectorRegistry()))
        engine.start()
        try:
            await ready(engine)
            await check(engine, ring)
        finally:
            await engine.stop()
            ring.close()
        return engine

    return asyncio.run(run())


async def ready(engine: Engine) -> None:
    """Wait until the engine is ready or has failed."""
    async with asyncio.timeout(START_SECONDS):
        while not engine.ready and engine.failure is None:
            await asyncio.sleep(0.02)


def filled_slot(ring: SlotRing) -> SlotLease:
    """A slot with a frame in it."""
    slot = ring.acquire()
    slot.buffer("frame", len(FRAME))[:] = FRAME
    return slot


def with_starting_engine(check: Callable[[Engine], Awaitable[None]]) -> None:
    """Run `check` with an engine whose worker has just been started."""

    async def run() -> None:
        settings = Settings(device="cpu", slots=4, slot_bytes=1 << 20)
        ring = SlotRing(SlotMemory.create(settings.slots, settings.slot_bytes))
        engine = Engine(ring, settings, Metrics(CollectorRegistry()))
        engine.start()
        try:
            while engine.pid is None:
                await asyncio.sleep(0.001)
            await check(engine)
        finally:
            await engine.stop()
            ring.close()

    asyncio.run(run())


def test_signals_do_not_kill_a_starting_worker() -> None:
    async def check(engine: Engine) -> None:
        first = engine.pid
        assert first
        os.kill(first, signal.SIGINT)
        os.kill(first, signal.SIGTERM)
        await ready(engine)
        assert engine.pid == first

    with_starting_engine(check)


def test_messages_of_a_child_that_closed_with_unread_messages_are_read() -> None:
    async def run() -> list[Message]:
        ours, theirs = socket_pair()
        ours.setblocking(False)
        received: list[Message] = []
        exited = asyncio.Event()
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            child = Child(process, ours, received.append, exited.set)
            child.send(Job(0, Op.PING))
            send(theirs, Reply(0, "DeviceError", "no GPU"))
            theirs.close()
            asyncio.get_running_loop().add_reader(ours, child.read)
            await asyncio.wait_for(exited.wait(), 5)
        return received

    assert [reply.text for reply in asyncio.run(run()) if isinstance(reply, Reply)] == ["no GPU"]


def test_a_long_start_reports_that_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(engine: Engine) -> None:
        while "compiling" not in engine.unavailable_reason:
            assert engine.unavailable_reason == "the worker is starting; try again in a few seconds"
            await asyncio.sleep(0.001)
        with pytest.raises(WorkerUnavailableError, match="compiling its lanes, once on this machine; try"):
            engine.submit(JOB)
        await ready(engine)

    monkeypatch.setattr("lumaflow_service.control.engine.COMPILE_HINT_SECONDS", 0.0)
    with capture_logs() as events:
        with_starting_engine(check)
    logged = {event["event"].partition(",")[0] for event in events}
    assert logged == {"compiling the lanes", "worker started", "worker ready"}


def test_jobs_get_replies_and_slots_are_freed() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        slots = [filled_slot(ring) for _ in range(4)]
        replies = await asyncio.gather(*(engine.call(JOB, slot) for slot in slots))
        assert [reply.lut for reply in replies] == ["own", "previous", "previous", "previous"]
        assert ring.in_use == 4
        for slot in slots:
            slot.release()
        assert ring.in_use == 0

    with_engine(check)


def test_the_slot_of_a_cancelled_call_is_free_only_after_the_reply() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        slot = filled_slot(ring)
        waiting = asyncio.create_task(engine.call(JOB, slot))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        slot.release()
        assert ring.in_use == 1
        async with asyncio.timeout(10):
            while ring.in_use:
                await asyncio.sleep(0.01)

    with_engine(check)


def test_a_frame_is_refused_after_it_crashed_two_workers() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        for _ in range(2):
            slot = filled_slot(ring)
            assert engine.pid
            os.kill(engine.pid, signal.SIGSTOP)
            waiting = asyncio.create_task(engine.call(JOB, slot))
            await asyncio.sleep(0.05)
            os.kill(engine.pid, signal.SIGKILL)
            with pytest.raises(WorkerUnavailableError, match="died with this frame"):
                await waiting
            slot.release()
            assert not engine.ready
            await ready(engine)
        slot = filled_slot(ring)
        with pytest.raises(BadFrameError, match="died 2 times"):
            await engine.call(JOB, slot)
        slot.buffer("frame", 1)[0] = 77
        assert (await engine.call(JOB, slot)).lut == "own"

    with_engine(check)


def test_a_missing_device_is_a_permanent_failure() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        with pytest.raises(WorkerUnavailableError):
            await engine.call(JOB, filled_slot(ring))

    engine = with_engine(check, "cuda:77")
    assert "cannot use cuda:77" in str(engine.failure)


def test_the_queue_depth_is_limited() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        sources = Sources(engine, Metrics(CollectorRegistry()), max_sources=2, queue_depth=2)
        with sources.enqueue("gate"), sources.enqueue("gate"):
            with pytest.raises(BusyError, match="the queue of 'gate' is full"), sources.enqueue("gate"):
                pass
            with sources.enqueue("yard"), pytest.raises(BusyError, match="2 sources are in use"):
                sources.put("third", SourceOptions(), None)
        assert list(sources) == []

    with_engine(check)


def test_a_source_counts_its_frames() -> None:
    async def check(engine: Engine, ring: SlotRing) -> None:
        sources = Sources(engine, Metrics(CollectorRegistry()), max_sources=2, queue_depth=2)
        for number in range(3):
            slot = filled_slot(ring)
            with sources.enqueue("gate") as source:
                reply = await sources.enhance(
                    source, slot, FrameRequest(MediaType.RAW, len(FRAME), 0.0, GRAY)
                )
            slot.release()
            assert reply.sequence == number
        assert (source.frames, source.last_reply, source.queued) == (3, reply, 0)
        assert source.live
        assert source.frames_per_second > 0

    with_engine(check)


@pytest.mark.parametrize(("crashes", "delay"), [(1, 0), (4, 0), (5, 1), (6, 2), (8, 8), (10, 30), (60, 30)])
def test_delays_grow_with_many_crashes(crashes: int, delay: float) -> None:
    assert crash_backoff_seconds([100.0 + n for n in range(crashes)]) == pytest.approx(delay)


def test_old_crashes_do_not_count() -> None:
    assert crash_backoff_seconds([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 100.0]) == 0


def test_backoff_doubles_up_to_30_seconds() -> None:
    assert [backoff_seconds(failures) for failures in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert backoff_seconds(100_000) == 30
