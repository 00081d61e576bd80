"""How the engine judges a worker: ready, stuck, dead. The worker process is a fake."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from fake_child import FakeChild, eventually, fake_children
from lumaflow.errors import DeviceError
from lumaflow_service.config.settings import Settings
from lumaflow_service.control import engine as engine_module
from lumaflow_service.control.engine import READY_SECONDS, Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.errors import BadFrameError, WorkerStuckError, WorkerUnavailableError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Message, Op, Reply, WorkerStarted
from lumaflow_service.ipc.slots import SlotLease, SlotMemory, SlotRing
from lumaflow_service.worker.worker import WorkerLimits

FRAME = Job(0, Op.FRAME, "gate", length=4, media=MediaType.RAW)
PING_SECONDS = 0.02
LONG = 3600.0


class FakeWorker:
    """The engine with a fake worker that answers the operations in `answers`.

    children : the worker processes so far
    jobs : the jobs that they received
    """

    def __init__(self, **settings: object) -> None:
        self.settings = Settings(
            device="cpu",
            slots=4,
            slot_bytes=1 << 20,
            **{"job_seconds": LONG, "heartbeat_seconds": LONG, **settings},  # type: ignore[arg-type]
        )
        self.answers: set[Op] = {Op.CANARY, Op.PING, Op.FRAME}
        self.jobs: list[Job] = []
        self.children: list[FakeChild] = []
        self.events: list[str] = []
        self.metrics = Metrics(CollectorRegistry())
        self.ring = SlotRing(SlotMemory.create(4, 1 << 20))
        self.engine = Engine(
            self.ring,
            self.settings,
            self.metrics,
            lambda: self.events.append("failure"),
            lambda: self.events.append("start"),
        )

    def on_send(self, child: FakeChild, message: Message) -> None:
        """Answer a job as a worker that never computes."""
        assert isinstance(message, Job)
        self.jobs.append(message)
        if message.op in self.answers:
            reply = Reply(message.id, device="cpu", device_bytes=5, pinned_bytes=6)
            asyncio.get_running_loop().call_soon(child.reply, reply)

    def restarts(self, reason: str) -> float:
        """How many restarts the metrics count for this reason."""
        labels = {"device": "cpu", "reason": reason}
        value = self.metrics.registry.get_sample_value("lumaflow_worker_restarts_total", labels)
        return value or 0.0

    def slot(self) -> SlotLease:
        """A slot with a frame in it."""
        lease = self.ring.acquire()
        lease.buffer("frame", 4)[:] = b"gray"
        return lease

    @property
    def child(self) -> FakeChild:
        """The current worker process."""
        return self.children[-1]


def run(check: Callable[[FakeWorker], Awaitable[None]], **settings: object) -> FakeWorker:
    """Run `check` with an engine that has just been started."""
    worker = FakeWorker(**settings)

    async def main() -> None:
        with fake_children(worker.on_send) as worker.children:
            worker.engine.start()
            try:
                async with asyncio.timeout(20):
                    await check(worker)
            finally:
                await asyncio.wait_for(worker.engine.stop(), 20)
                worker.ring.close()

    asyncio.run(main())
    return worker


@pytest.fixture(autouse=True)
def _often_pinged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "PING_SECONDS", PING_SECONDS)


# start --------------------------------------------------------------------------------------------


def test_a_worker_gets_every_limit_of_the_settings() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.children)

    worker = run(check, jpeg_quality=11, view_quality=22, max_pixels=33, max_lanes=44)
    limits = WorkerLimits(**json.loads(worker.child.arguments[0]))
    assert asdict(limits) == {name: getattr(worker.settings, name) for name in asdict(limits)}
    assert (limits.jpeg_quality, limits.view_quality, limits.max_pixels, limits.max_lanes) == (11, 22, 33, 44)


def test_a_worker_is_ready_after_its_first_frame_only() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = {Op.PING}
        await eventually(lambda: worker.jobs)
        assert [job.op for job in worker.jobs] == [Op.CANARY]
        assert not worker.engine.ready
        with pytest.raises(WorkerUnavailableError, match="the worker is starting"):
            worker.engine.submit(FRAME)
        worker.child.reply(Reply(worker.jobs[0].id, device="cpu"))
        assert worker.engine.ready
        await eventually(lambda: worker.jobs[-1].op is Op.PING)

    run(check)


def test_the_service_is_announced_once_although_the_worker_restarts() -> None:
    async def check(worker: FakeWorker) -> None:
        for number in range(1, 4):
            await eventually(lambda number=number: len(worker.children) == number and worker.engine.ready)
            worker.child.reply(WorkerStarted("cpu", "requested"))
            worker.child.exit(1)

    worker = run(check)
    assert (worker.events, worker.engine.device) == (["start"], "cpu")


def test_a_device_that_does_not_exist_ends_the_supervision() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = set()
        await eventually(lambda: worker.jobs)
        worker.child.reply(Reply(0, "DeviceError", "cannot use cuda:7"))
        worker.child.exit(3)
        await eventually(lambda: worker.events)

    worker = run(check)
    assert (worker.events, len(worker.children)) == (["failure"], 1)
    assert isinstance(worker.engine.failure, DeviceError)
    assert str(worker.engine.failure) == "cannot use cuda:7"


def test_a_start_that_takes_too_long_is_killed() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = set()
        await eventually(lambda: worker.restarts("start") >= 1)
        assert worker.children[0].killed

    run(check, start_seconds=0.01)


# ready --------------------------------------------------------------------------------------------


def test_ready_ends_five_seconds_after_the_last_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(engine_module, "time", SimpleNamespace(monotonic=lambda: clock.now))

    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = set()
        clock.now += READY_SECONDS - 0.1
        assert worker.engine.ready
        clock.now += 0.2
        assert not worker.engine.ready
        assert worker.engine.unavailable_reason.startswith("the worker is stuck: no frame was enhanced")

    assert READY_SECONDS == 5.0
    run(check)


def test_a_ping_does_not_count_as_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(engine_module, "time", SimpleNamespace(monotonic=lambda: clock.now))

    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = {Op.PING}
        clock.now += READY_SECONDS + 1
        pings = len(worker.jobs)
        await eventually(lambda: len(worker.jobs) > pings + 2)
        assert not worker.engine.ready

    run(check)


def test_an_idle_worker_enhances_a_canary_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "CANARY_SECONDS", 0.0)

    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: [job.op for job in worker.jobs].count(Op.CANARY) >= 3)

    run(check)


def test_the_reply_to_a_ping_sets_the_memory_gauges() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.engine.device = "cpu"
        await eventually(lambda: Op.PING in [job.op for job in worker.jobs])

    exposition = run(check).metrics.exposition().decode()
    assert 'lumaflow_device_memory_bytes{device="cpu"} 5.0' in exposition
    assert 'lumaflow_pinned_memory_bytes{device="cpu"} 6.0' in exposition


# stuck --------------------------------------------------------------------------------------------


def test_a_job_that_runs_too_long_is_stuck_although_the_worker_answers_pings() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = {Op.CANARY, Op.PING}
        slot = worker.slot()
        with capture_logs() as events, pytest.raises(WorkerStuckError, match="hung with this frame and was"):
            await worker.engine.call(FRAME, slot)
        (event,) = [event for event in events if event["event"] == "worker is stuck; killing it"]
        assert event["silent"] is False
        assert worker.children[0].killed
        await eventually(lambda: worker.restarts("stuck") == 1)

    run(check, job_seconds=0.1)


def test_a_job_within_its_time_is_not_stuck() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = {Op.CANARY, Op.PING}
        reply = asyncio.ensure_future(worker.engine.call(FRAME, worker.slot()))
        pings = len(worker.jobs)
        await eventually(lambda: len(worker.jobs) > pings + 5)
        assert not worker.child.killed
        worker.child.reply(Reply(next(job.id for job in worker.jobs if job.op is Op.FRAME), sequence=7))
        assert (await reply).sequence == 7

    run(check)


def test_a_worker_that_answers_no_ping_is_stuck() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = {Op.CANARY}
        slot = worker.slot()
        with capture_logs() as events, pytest.raises(WorkerStuckError):
            await worker.engine.call(FRAME, slot)
        assert [event["silent"] for event in events if event["event"] == "worker is stuck; killing it"] == [
            True
        ]

    run(check, heartbeat_seconds=0.1)


# dead ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "reason"), [(-9, "signal"), (-11, "signal"), (1, "exit"), (0, "exit")])
def test_a_restart_is_counted_by_its_reason(status: int, reason: str) -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.child.exit(status)
        await eventually(lambda: len(worker.children) == 2 and worker.engine.ready)
        assert worker.restarts(reason) == 1

    run(check)


def test_a_worker_that_never_became_ready_is_counted_as_start() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = set()
        await eventually(lambda: worker.jobs)
        worker.child.exit(-9)
        await eventually(lambda: worker.restarts("start") == 1)

    run(check)


def test_jobs_of_a_dead_worker_fail_and_their_slots_are_free() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        worker.answers = {Op.PING}
        slots = [worker.slot(), worker.slot()]
        replies = [worker.engine.submit(FRAME, slot) for slot in slots]
        for slot in slots:
            slot.release()
        assert worker.ring.in_use == 2
        worker.child.exit(-11)
        for reply in replies:
            with pytest.raises(WorkerUnavailableError, match="the worker died with this frame; try again"):
                await reply
        assert worker.ring.in_use == 0

    run(check)


def test_stop_ends_although_the_worker_exits_at_the_same_moment() -> None:
    async def check(worker: FakeWorker) -> None:
        await eventually(lambda: worker.engine.ready)
        await eventually(lambda: worker.jobs[-1].op is Op.PING)
        worker.child.exit(1)

    assert len(run(check).children) == 1


def test_there_is_a_pause_between_two_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "crash_backoff_seconds", lambda crashes: LONG * (len(crashes) - 1))

    async def check(worker: FakeWorker) -> None:
        for number in (1, 2):
            await eventually(lambda number=number: len(worker.children) == number and worker.engine.ready)
            worker.child.exit(1)
        await eventually(lambda: worker.restarts("exit") == 2)
        await asyncio.sleep(0.1)
        assert len(worker.children) == 2

    run(check)


def test_a_frame_that_killed_two_workers_is_not_sent_again() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = {Op.CANARY, Op.PING}
        for number in (1, 2):
            await eventually(lambda number=number: len(worker.children) == number and worker.engine.ready)
            reply = worker.engine.submit(FRAME, worker.slot())
            worker.child.exit(-11)
            with pytest.raises(WorkerUnavailableError):
                await reply
        await eventually(lambda: len(worker.children) == 3 and worker.engine.ready)
        frames = [job.op for job in worker.jobs].count(Op.FRAME)
        with pytest.raises(BadFrameError, match="died 2 times with this frame of 4 bytes"):
            worker.engine.submit(FRAME, worker.slot())
        assert [job.op for job in worker.jobs].count(Op.FRAME) == frames

    run(check)


def test_a_notification_without_a_worker_is_dropped() -> None:
    async def check(worker: FakeWorker) -> None:
        worker.answers = set()
        await eventually(lambda: worker.jobs)
        worker.engine.notify(Job(0, Op.FORGET, "gate"))
        assert [job.op for job in worker.jobs] == [Op.CANARY]
        worker.child.reply(Reply(worker.jobs[0].id))
        worker.engine.notify(Job(0, Op.FORGET, "gate"))
        assert Op.FORGET in [job.op for job in worker.jobs]

    run(check)
