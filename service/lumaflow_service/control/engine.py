"""Client and supervisor of the worker process: submits jobs, pings, kills a hung worker, restarts it."""

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
from lumaflow_service.ipc.backoff import crash_backoff_seconds
from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Message, Op, Reply, WorkerStarted, error_of
from lumaflow_service.ipc.slots import SlotLease, SlotRing

PING_SECONDS = 0.5
CANARY_SECONDS = 2.0
READY_SECONDS = 5.0
"""The worker is ready when a frame was enhanced within this time."""
COMPILE_HINT_SECONDS = 8.0
"""A longer start compiles; with warm caches it took 1 to 5 s on 2 busy cores."""
WORKER_LIMITS = (
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
"""Settings that the worker gets as `WorkerLimits`. The API process must not import that class, because its
module loads the decoders."""

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Call:
    """A submitted job: the future of its reply, its slot, and its start time."""

    job: Job
    reply: asyncio.Future[Reply]
    slot: SlotLease | None
    started: float

    @property
    def body(self) -> memoryview | None:
        """The client's bytes in the slot; None when the job has no frame."""
        return frame_bytes(self.job, self.slot) if self.slot and self.job.op is Op.FRAME else None


class Engine:
    """The worker process as seen from the event loop."""

    def __init__(
        self,
        ring: SlotRing,
        settings: Settings,
        metrics: Metrics,
        on_failure: Callable[[], None] = lambda: None,
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        self._memory_fd = ring.memory.fd
        self._settings = settings
        self._metrics = metrics
        self._on_failure, self._on_start = on_failure, on_start
        self._quarantine = Quarantine()
        self._ids = count(1)
        self._calls: dict[int, Call] = {}
        self._child: Child | None = None
        self._exited = asyncio.Event()
        self._stuck = False
        self._last_message = 0.0
        self._last_success: float | None = None
        self._compiling = False
        self._task: asyncio.Task[None] | None = None
        self.device = ""
        self.failure: DeviceError | None = None

    @property
    def ready(self) -> bool:
        """True when the worker runs and has enhanced a frame within the last 5 s."""
        return self._last_success is not None and time.monotonic() - self._last_success < READY_SECONDS

    @property
    def unavailable_reason(self) -> str:
        """The error text for clients while the worker is not ready."""
        if self._last_success is not None:
            return "the worker is stuck: no frame was enhanced in the last 5 s; try again in a few seconds"
        state = "compiling its lanes, once on this machine" if self._compiling else "starting"
        return f"the worker is {state}; try again in a few seconds"

    @property
    def pid(self) -> int | None:
        """Process id of the current worker."""
        return self._child.process.pid if self._child else None

    def start(self) -> None:
        """Start the worker, and restart it whenever it exits."""
        self._task = asyncio.create_task(self._supervise(), name="engine")

    async def stop(self) -> None:
        """End the worker; calls in flight fail."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def call(self, job: Job, slot: SlotLease | None = None) -> Reply:
        """Submit `job` and wait for the reply. Raises what `submit` and its future raise."""
        return await self.submit(job, slot)

    def submit(self, job: Job, slot: SlotLease | None = None) -> asyncio.Future[Reply]:
        """Send `job` to the worker, and hand the slot over to it until it has replied or exited.

        Raises WorkerUnavailableError when no worker is ready, BadFrameError for a quarantined body. The
        future raises the worker's error, WorkerUnavailableError when the worker dies with this job, and
        WorkerStuckError when it was killed.
        """
        if self._last_success is None:
            raise WorkerUnavailableError(self.unavailable_reason)
        return self._submit(job, slot)

    def notify(self, job: Job) -> None:
        """Send a job whose reply is ignored; does nothing when no worker is ready."""
        if self._last_success is not None:
            self._notify(job)

    def _submit(self, job: Job, slot: SlotLease | None = None) -> asyncio.Future[Reply]:
        if self._child is None:
            raise WorkerUnavailableError(self.unavailable_reason)
        job = replace(job, id=next(self._ids))
        if slot is not None:
            job = replace(job, slot=slot.index, generation=slot.generation)
        call = Call(job, asyncio.get_running_loop().create_future(), slot, time.monotonic())
        if call.body is not None:
            self._quarantine.check(call.body)
        self._child.send(job)
        self._calls[job.id] = call
        if slot is not None:
            slot.add_user()
        return call.reply

    def _notify(self, job: Job) -> asyncio.Future[Reply] | None:
        try:
            reply = self._submit(job)
        except WorkerUnavailableError:
            return None  # `_monitor` handles a worker that has exited or does not read
        reply.add_done_callback(asyncio.Future.exception)
        return reply

    def _on_message(self, message: Message) -> None:
        self._last_message = time.monotonic()
        if isinstance(message, WorkerStarted):
            if not self.device:
                self._on_start()
            self.device = message.device
            self._metrics.worker_started(message.device)
            log.info("worker started", device=message.device, reason=message.reason, pid=self.pid)
        elif isinstance(message, Reply) and message.id in self._calls:
            self._complete(self._calls.pop(message.id), message)
        elif isinstance(message, Reply) and message.id == 0 and not self.device:
            self.failure = DeviceError(message.text)

    def _complete(self, call: Call, reply: Reply) -> None:
        """Settle the slot of a call and set its result."""
        error = error_of(reply)
        if error is None:
            self._record_success(call, reply)
        if call.slot is not None:
            call.slot.release()
        if not call.reply.done():
            call.reply.set_result(reply) if error is None else call.reply.set_exception(error)

    def _record_success(self, call: Call, reply: Reply) -> None:
        if call.job.op in (Op.FRAME, Op.CANARY) and not self._stuck:
            self._last_success = time.monotonic()
        if call.job.op is Op.PING:
            self._metrics.set_worker_memory(self.device, reply)
        if call.body is not None:
            self._quarantine.clear(call.body)

    def _on_exit(self) -> None:
        """Fail all calls of a worker that has exited, and release their slots."""
        self._child, self._last_success = None, None
        calls, self._calls = self._calls, {}
        self._quarantine.record_crash(call.body for call in calls.values() if call.body is not None)
        for call in calls.values():
            if call.slot is not None:
                call.slot.release()
            if not call.reply.done():
                call.reply.set_exception(self._exit_error(call.job))
        self._exited.set()

    def _exit_error(self, job: Job) -> WorkerStuckError | WorkerUnavailableError:
        if self._stuck:
            return WorkerStuckError(f"the worker hung with this {job.op} and was killed; try again")
        return WorkerUnavailableError(f"the worker died with this {job.op}; try again in a second")

    async def _supervise(self) -> None:
        """Run one worker after the other, with growing delays when they crash often."""
        crashes: deque[float] = deque(maxlen=64)
        while True:
            reason = await self._run_worker()
            if self.failure:
                self._on_failure()
                return
            crashes.append(time.monotonic())
            delay = crash_backoff_seconds(crashes)
            self._metrics.worker_restarts.labels(self.device or self._settings.device, reason).inc()
            log.warning("worker exited; restarting it", reason=reason, delay_seconds=delay)
            await asyncio.sleep(delay)

    async def _run_worker(self) -> str:
        """Run one worker until it exits; returns the reason: start, stuck, signal or exit."""
        self._exited.clear()
        self._stuck, started = False, False
        try:
            child = await Child.start(
                "lumaflow_service.worker", [self._limits()], self._memory_fd, self._on_message, self._on_exit
            )
        except OSError as error:
            log.error("cannot start the worker process", error=str(error))
            return "start"
        self._child, self._last_message = child, time.monotonic()
        try:
            started = await self._warm_up(child)
            await self._monitor(child)
        finally:
            if self._child is not None:
                self._on_exit()
            status = await child.close()
        if not started:
            return "start"
        return "stuck" if self._stuck else "signal" if status < 0 else "exit"

    async def _warm_up(self, child: Child) -> bool:
        """Run the first canary, which compiles the CPU loops if needed; returns whether it succeeded."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.start_seconds):
                canary = self._submit(Job(0, Op.CANARY))
                await asyncio.wait([canary], timeout=COMPILE_HINT_SECONDS)
                if not canary.done():
                    self._compiling = True
                    log.info("compiling the lanes, once on this machine: about a minute on 2 cores")
                await canary
            log.info("worker ready", device=self.device, seconds=round(time.monotonic() - began, 1))
            return True
        except WorkerUnavailableError:
            return False
        except Exception as error:
            log.error("the worker cannot enhance a frame; killing it", error=str(error))
            child.kill()
            return False
        finally:
            self._compiling = False

    async def _monitor(self, child: Child) -> None:
        """Ping the worker until it exits; kill it when it is silent or a job takes too long."""
        self._last_message = time.monotonic()
        canary: asyncio.Future[Reply] | None = None
        while not self._exited.is_set():
            ping_time = time.monotonic()
            self._notify(Job(0, Op.PING))
            if (canary is None or canary.done()) and ping_time - (
                self._last_success or ping_time
            ) > CANARY_SECONDS:
                canary = self._notify(Job(0, Op.CANARY))
            try:
                async with asyncio.timeout(PING_SECONDS):  # `wait_for` can lose the cancellation by `stop`
                    await self._exited.wait()
            except TimeoutError:
                if (
                    time.monotonic() - ping_time <= 2 * PING_SECONDS
                ):  # else this process was late, not the worker
                    self._kill_if_stuck(child)

    def _kill_if_stuck(self, child: Child) -> None:
        now = time.monotonic()
        oldest = min((call.started for call in self._calls.values()), default=now)
        silent = now - self._last_message > self._settings.heartbeat_seconds
        if silent or now - oldest > self._settings.job_seconds:
            log.error("worker is stuck; killing it", pid=self.pid, silent=silent)
            self._stuck, self._last_success = True, None
            child.kill()

    def _limits(self) -> str:
        """WorkerLimits as JSON."""
        return json.dumps({name: getattr(self._settings, name) for name in WORKER_LIMITS})


def frame_bytes(job: Job, slot: SlotLease) -> memoryview:
    """The bytes that the client sent for this job."""
    return slot.buffer("frame" if job.media is MediaType.RAW else "body", job.length)
