"""The application: the routes over the house, the table of errors, and the server that runs it all."""

import json
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

import pipeline.errors
from pipeline.errors import LumaflowError
from service import errors
from service.api import docs, frames, health, openapi, page, problems, sources, views
from service.api.headers import SafeHeaders
from service.api.house import House
from service.api.limit import JsonLimit
from service.engine import Engine
from service.ingest.feeder import Feeder
from service.log import configure
from service.metrics import Metrics
from service.options import Feature, SourceOptions
from service.pictures import Pictures
from service.settings import Settings
from service.slots import SlotMemory, SlotRing
from service.sources import Sources

LOOPBACK = ("127.0.0.1", "::1", "localhost")
GRACE_SECONDS = 5

STATUS: dict[type[LumaflowError], int] = {
    errors.BadFrameError: 400,
    pipeline.errors.FrameError: 400,
    errors.UnknownSourceError: 404,
    errors.FeatureOffError: 404,
    errors.NotAcceptableError: 406,
    errors.SlowBodyError: 408,
    errors.GeometryConflictError: 409,
    errors.TooLargeError: 413,
    errors.UnsupportedMediaError: 415,
    pipeline.errors.OptionError: 422,
    errors.BusyError: 429,
    errors.WorkerUnavailableError: 503,
    pipeline.errors.DeviceError: 503,
    errors.WorkerStuckError: 504,
}
"""The HTTP status of every error; any other is ours, 500."""

log = structlog.get_logger()


def serve(settings: Settings) -> None:
    """Run the service until SIGINT or SIGTERM.

    Raises AddressError when the address is taken, DeviceError when the device is not there.
    """
    configure()
    if settings.host not in LOOPBACK:
        log.warning(
            "whoever reaches this address can use the service: there are no tokens", host=settings.host
        )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn raises it once more after a graceful end
    with listen(settings.host, settings.port) as listener:
        app = create_app(settings, lambda: server.give_up())
        server = Server(app)
        host, port = listener.getsockname()[:2]
        print(f"lumaflow is at http://{f'[{host}]' if ':' in host else host}:{port}/", flush=True)
        server.run(sockets=[listener])
    failure = app.state.house.engine.failure
    if failure:
        raise failure


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises AddressError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise errors.AddressError(
            f"{host}:{port} cannot be listened on ({error.strerror}); give another --host or --port"
        ) from error


class Server(uvicorn.Server):
    """Uvicorn that lets go of live viewers as soon as it is told to stop."""

    def __init__(self, app: FastAPI) -> None:
        self._state = app.state
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http="httptools",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin a graceful shutdown."""
        super().handle_exit(sig, frame)
        self._state.house.sources.close()

    def give_up(self) -> None:
        """Stop because the service can never work."""
        self.should_exit = True


def create_app(settings: Settings, on_failure: Callable[[], None] = lambda: None) -> FastAPI:
    """The application; `on_failure` is called when no worker can ever start (the device is not there)."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        house = app.state.house = build(settings, on_failure)
        feeders = [demo_feeder(house)] if settings.demo else []
        house.engine.start()
        for feeder in feeders:
            feeder.start()
        try:
            yield
        finally:
            for feeder in feeders:
                await feeder.stop()
            await house.engine.stop()

    app = FastAPI(
        title="lumaflow", version=version("lumaflow"), lifespan=lifespan, docs_url=None, redoc_url=None
    )
    problems.install(app, STATUS)
    openapi.install(app)
    app.add_middleware(JsonLimit)
    app.add_middleware(SafeHeaders)
    for module in (frames, sources, views, health, docs, page):
        app.include_router(module.router)
    return app


def build(settings: Settings, on_failure: Callable[[], None]) -> House:
    """Make the parts of the service; nothing runs yet."""
    metrics = Metrics(CollectorRegistry())
    ring = SlotRing(SlotMemory.create(settings.slots, settings.slot_bytes))
    engine = Engine(ring, settings, metrics, on_failure)
    every = Sources(engine, metrics, settings.max_sources, settings.queue_depth)
    return House(settings, metrics, ring, engine, every, Pictures(engine, ring, settings.max_viewers))


def demo_feeder(house: House) -> Feeder:
    """The feeder of the demo source, which shows everything."""
    memory = house.ring.memory
    house.sources.put("demo", SourceOptions(features=list(Feature)), None)
    arguments = [json.dumps({"slots": memory.slots, "slot_bytes": memory.slot_bytes})]
    return Feeder("demo", "service.ingest.demo", arguments, house.ring, house.engine, house.sources)
