"""The service in this process: all of the API, with a fake engine in place of the worker process."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partialmethod
from typing import Any
from unittest.mock import patch

import httpx
from fastapi import FastAPI

from lumaflow_service.api.app import create_app
from lumaflow_service.api.state import AppState
from lumaflow_service.config.settings import Settings
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import Job, Reply
from lumaflow_service.ipc.slots import SlotLease, SlotRing

REPLY = Reply(
    0,
    device="cpu",
    geometry=GeometryJson(4, 2, "gray8", "full"),
    output=GeometryJson(4, 2, "gray8", "full"),
    output_text="4x2 gray8",
    lut="own",
    lut_age=3,
    clamped=5,
    stage_seconds={"upload": 0.001, "histogram": 0.0025, "lut": 3e-05, "apply": 1.5, "download": 0.0},
    frame_seconds=0.25,
)
"""A reply whose values all differ."""
LOOPBACK = "http://127.0.0.1:8000"


class FakeEngine:
    """Replies to every job at once, with `reply` and `content`; or with `error`.

    jobs : the jobs so far, without pings
    bodies : the bytes in the slot of each of these jobs
    """

    device = "cpu"
    ready = True
    failure = None
    unavailable_reason = "the worker is starting; try again in a few seconds"

    def __init__(
        self,
        ring: SlotRing,
        settings: Settings,
        metrics: Metrics,
        on_failure: Callable[[], None],
        on_start: Callable[[], None],
    ) -> None:
        self.reply, self.content = REPLY, b"enhanced"
        self.error: Exception | None = None
        self.jobs: list[Job] = []
        self.bodies: list[bytes] = []
        self.notified: list[Job] = []
        self.events: list[str] = []

    def start(self) -> None:
        self.events.append("start")

    async def stop(self) -> None:
        self.events.append("stop")

    def notify(self, job: Job) -> None:
        self.notified.append(job)

    def submit(self, job: Job, slot: SlotLease) -> asyncio.Future[Reply]:
        self.jobs.append(job)
        name = "frame" if job.geometry and job.media == "application/octet-stream" else "body"
        self.bodies.append(bytes(slot.buffer(name, job.length)))
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self.error is not None:
            future.set_exception(self.error)
        else:
            slot.buffer(self.reply.buffer, len(self.content))[:] = self.content
            future.set_result(replace(self.reply, length=len(self.content), sequence=job.sequence))
        return future

    async def call(self, job: Job, slot: SlotLease) -> Reply:
        return await self.submit(job, slot)


class LocalClient:
    """A synchronous HTTP client of an application in this process; no socket is opened."""

    def __init__(self, app: FastAPI, runner: asyncio.Runner) -> None:
        self._app, self._runner = app, runner

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The response to one request."""
        return self._runner.run(self._request(method, path, **more))

    get = partialmethod(request, "GET")
    post = partialmethod(request, "POST")
    put = partialmethod(request, "PUT")
    patch = partialmethod(request, "PATCH")
    delete = partialmethod(request, "DELETE")

    async def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=LOOPBACK) as client:
            return await client.request(method, path, **more)


@dataclass(frozen=True, slots=True)
class FakeService:
    """A client of the application, its state, its engine, and the loop that all of them run on."""

    client: LocalClient
    state: AppState
    engine: FakeEngine
    app: FastAPI
    runner: asyncio.Runner


@contextmanager
def fake_service(**settings: object) -> Iterator[FakeService]:
    """Run the application in this process, without a worker."""
    with patch("lumaflow_service.api.lifespan.Engine", FakeEngine), asyncio.Runner() as runner:
        app = create_app(Settings(slots=4, slot_bytes=1 << 20, **settings))  # type: ignore[arg-type]
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        state: AppState = app.state.shared
        assert isinstance(state.engine, FakeEngine)
        try:
            yield FakeService(LocalClient(app, runner), state, state.engine, app, runner)
        finally:
            runner.run(lifespan.__aexit__(None, None, None))
            state.ring.close()
