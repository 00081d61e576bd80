"""The async side of a worker: hands jobs over, watches over it, kills it when stuck, starts it anew."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import structlog

from lumaflow.errors import DeviceError
from lumaflow_service.config.settings import Settings
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.quarantine import Quarantine
from lumaflow_service.errors import WorkerStuckError, WorkerUnavailableError
from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Message, Op, Reply, WorkerStarted, error_of
from lumaflow_service.ipc.slots import SlotLease, SlotRing

PING_SECONDS = 0.5
CANARY_SECONDS = 2.0
PROOF_SECONDS = 5.0
"""How long ago a frame may have run for the worker to count as ready."""
SOON_SECONDS = 8.0
"""A start that takes longer compiles; with all in the cache it took 1 to 5 s on 2 busy cores."""
CALM_RESTARTS, CALM_SECONDS, LONGEST_PAUSE_SECONDS = 5, 60.0, 30.0
"""So many restarts in so many seconds are made at once; from there on the pauses double up to the longest."""

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Call:
    """A job in flight: who waits for it, the slot it may touch, and when it started."""

    job: Job
    answer: asyncio.Future[Reply]
    slot: SlotLease | None
    started: float


class Engine:
    """One worker process, seen from the event loop."""

    def __init__(
        self,
        ring: SlotRing,
        settings: Settings,
        metrics: Metrics,
        on_failure: Callable[[], None] = lambda: None,
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        self._ring = ring
        self._settings = settings
        self._metrics = metrics
        self._on_failure, self._on_start = on_failure, on_start
        self._quarantine = Quarantine()
        self._ids = count(1)
        self._calls: dict[int, Call] = {}
        self._child: Child | None = None
        self._gone = asyncio.Event()
        self._stuck = False
        self._heard = 0.0
        self._proved: float | None = None
        self._compiles = False
        self._task: asyncio.Task[None] | None = None
        self.device = ""
        self.failure: DeviceError | None = None

    @property
    def ready(self) -> bool:
        """Whether the worker lives and a frame really ran through it within the last 5 s."""
        return self._proved is not None and time.monotonic() - self._proved < PROOF_SECONDS

    @property
    def pause_words(self) -> str:
        """Why nothing runs now, and what to do, for whoever is sent away."""
        if self._proved is not None:
            return "no frame ran within the last 5 s: the worker is stuck; try again in a few seconds"
        doing = "compiling its lanes, once on this machine" if self._compiles else "starting"
        return f"the worker is {doing}; try again in a few seconds"

    @property
    def pid(self) -> int | None:
        """Process id of the worker that runs now."""
        return self._child.process.pid if self._child else None

    def start(self) -> None:
        """Start the worker and keep one running from now on."""
        self._task = asyncio.create_task(self._supervise(), name="engine")

    async def stop(self) -> None:
        """End the worker and fail what is still in flight."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def call(self, job: Job, slot: SlotLease | None = None) -> Reply:
        """Submit `job` and wait for the reply. Raises what `submit` and its future do."""
        return await self.submit(job, slot)

    def submit(self, job: Job, slot: SlotLease | None = None) -> asyncio.Future[Reply]:
        """Hand `job` to the worker; the slot stays taken until no worker touches it.

        Raises WorkerUnavailableError while there is no worker, BadFrameError for a quarantined body. The
        future raises the error the worker answered with, WorkerUnavailableError when it dies with this job,
        WorkerStuckError when it had to be killed.
        """
        if self._proved is None:
            raise WorkerUnavailableError(self.pause_words)
        return self._submit(job, slot)

    def _submit(self, job: Job, slot: SlotLease | None = None) -> asyncio.Future[Reply]:
        if self._child is None:
            raise WorkerUnavailableError(self.pause_words)
        job = replace(job, id=next(self._ids))
        if slot is not None:
            job = replace(job, slot=slot.index, generation=slot.generation)
            if job.op is Op.FRAME:
                self._quarantine.check(body_of(job, slot))
        call = Call(job, asyncio.get_running_loop().create_future(), slot, time.monotonic())
        self._child.send(job)
        self._calls[job.id] = call
        if slot is not None:
            slot.hand_over()
        return call.answer

    def tell(self, job: Job) -> None:
        """Have the worker do a job that nobody waits for; without a worker there is nothing to do."""
        if self._proved is not None:
            self._tell(job)

    def _tell(self, job: Job) -> asyncio.Future[Reply] | None:
        try:
            answer = self._submit(job)
        except WorkerUnavailableError:
            return None  # it is gone or does not read: the watch sees to that
        answer.add_done_callback(asyncio.Future.exception)
        return answer

    def _on_message(self, message: Message) -> None:
        self._heard = time.monotonic()
        if isinstance(message, WorkerStarted):
            if not self.device:
                self._on_start()
            self.device = message.device
            self._metrics.worker_started(message.device)
            log.info("worker started", device=message.device, why=message.reason, pid=self.pid)
        elif isinstance(message, Reply) and message.id in self._calls:
            self._settle(self._calls.pop(message.id), message)
        elif isinstance(message, Reply) and message.id == 0 and not self.device:
            self.failure = DeviceError(message.text)

    def _settle(self, call: Call, reply: Reply) -> None:
        """Hand a reply over to whoever waits for it and free what the worker no longer touches."""
        error = error_of(reply)
        if error is None and call.job.op in (Op.FRAME, Op.CANARY) and not self._stuck:
            self._proved = time.monotonic()
        if error is None and call.job.op is Op.PING:
            self._metrics.holds(self.device, reply)
        if call.slot is not None:
            if error is None and call.job.op is Op.FRAME:
                self._quarantine.clear(body_of(call.job, call.slot))
            call.slot.settle()
        if not call.answer.done():
            call.answer.set_result(reply) if error is None else call.answer.set_exception(error)

    def _on_gone(self) -> None:
        """The worker died: not ready from now on, and nothing it had in flight is left hanging."""
        self._child, self._proved = None, None
        calls, self._calls = self._calls, {}
        self._quarantine.blame(
            body_of(call.job, call.slot) for call in calls.values() if call.slot and call.job.op is Op.FRAME
        )
        for call in calls.values():
            if call.slot is not None:
                call.slot.settle()
            if not call.answer.done():
                call.answer.set_exception(self._death(call.job))
        self._gone.set()

    def _death(self, job: Job) -> WorkerStuckError | WorkerUnavailableError:
        if self._stuck:
            return WorkerStuckError(
                f"the worker stopped answering with this {job.op} and was killed; try again"
            )
        return WorkerUnavailableError(f"the worker died with this {job.op}; try again in a second")

    async def _supervise(self) -> None:
        """One life of a worker after the other, with longer and longer pauses when they are short."""
        deaths: deque[float] = deque(maxlen=64)
        while True:
            reason = await self._live()
            if self.failure:
                self._on_failure()  # who started us says why
                return
            deaths.append(time.monotonic())
            pause = pause_after(deaths)
            self._metrics.worker_restarts.labels(self.device or self._settings.device, reason).inc()
            log.warning("worker died; starting a new one", reason=reason, pause_seconds=pause)
            await asyncio.sleep(pause)

    async def _live(self) -> str:
        """Start a worker, watch it to its end, and say why it ended: start, stuck, signal or exit."""
        self._gone.clear()
        self._stuck, proved_once = False, False
        try:
            child = await Child.start(
                "lumaflow_service.worker",
                [self._limits()],
                self._ring.memory.fd,
                self._on_message,
                self._on_gone,
            )
        except OSError as error:
            log.error("no process can be started", error=str(error))
            return "start"
        self._child, self._heard = child, time.monotonic()
        try:
            proved_once = await self._warm_up(child)
            await self._watch(child)
        finally:
            if self._child is not None:
                self._on_gone()
            status = await child.close()
        if not proved_once:
            return "start"
        return "stuck" if self._stuck else "signal" if status < 0 else "exit"

    async def _warm_up(self, child: Child) -> bool:
        """Wait for the first canary, which also compiles the loops where that was never done."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.start_seconds):
                canary = self._submit(Job(0, Op.CANARY))
                await asyncio.wait([canary], timeout=SOON_SECONDS)
                if not canary.done():
                    self._compiles = True
                    log.info("compiling the lanes, once on this machine: about a minute on 2 cores")
                await canary
            log.info("worker ready", device=self.device, seconds=round(time.monotonic() - began, 1))
            return True
        except WorkerUnavailableError:
            return False
        except Exception as error:
            log.error("the worker cannot run a frame", error=str(error))
            child.kill()
            return False
        finally:
            self._compiles = False

    async def _watch(self, child: Child) -> None:
        """Ping until the worker is gone; kill it after too long a silence or with too old a job."""
        self._heard = time.monotonic()
        canary: asyncio.Future[Reply] | None = None
        while not self._gone.is_set():
            asked = time.monotonic()
            self._tell(Job(0, Op.PING))
            if (canary is None or canary.done()) and asked - (self._proved or asked) > CANARY_SECONDS:
                canary = self._tell(Job(0, Op.CANARY))
            try:
                await asyncio.wait_for(self._gone.wait(), PING_SECONDS)
            except TimeoutError:
                self._check(child, late=time.monotonic() - asked > 2 * PING_SECONDS)

    def _check(self, child: Child, late: bool) -> None:
        """Kill a worker that is stuck; when it is this process that was `late`, judge next time."""
        now = time.monotonic()
        oldest = min((call.started for call in self._calls.values()), default=now)
        silent = now - self._heard > self._settings.heartbeat_seconds
        if not late and (silent or now - oldest > self._settings.job_seconds):
            log.error("worker is stuck; killing it", pid=self.pid, silent=silent)
            self._stuck, self._proved = True, None
            child.kill()

    def _limits(self) -> str:
        """`lumaflow_service.worker.worker.Limits` as JSON; that module itself is not for this process."""
        keys = (
            "device",
            "slots",
            "slot_bytes",
            "max_pixels",
            "jpeg_quality",
            "view_quality",
            "max_lanes",
            "lane_idle_seconds",
            "worker_bytes",
        )
        return json.dumps({key: getattr(self._settings, key) for key in keys})


def body_of(job: Job, slot: SlotLease) -> memoryview:
    """The bytes a client sent for this job."""
    return slot.buffer("frame" if job.media is MediaType.RAW else "body", job.length)


def pause_after(deaths: deque[float]) -> float:
    """Seconds to wait before the next start: none while deaths are few, then 1, 2, 4 .. 30."""
    recent = sum(1 for death in deaths if deaths[-1] - death < CALM_SECONDS)
    return 0.0 if recent < CALM_RESTARTS else min(2.0 ** (recent - CALM_RESTARTS), LONGEST_PAUSE_SECONDS)
