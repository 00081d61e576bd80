"""The application: the routes over the house, the table of errors, and what runs it all."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path

import structlog
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

import lumaflow.errors
from lumaflow.errors import LumaflowError
from lumaflow_service import errors
from lumaflow_service.api import (
    about,
    cameras,
    docs,
    frame_socket,
    frames,
    health,
    images,
    live,
    openapi,
    page,
    problems,
    sources,
    views,
    whep,
)
from lumaflow_service.api.access import Access
from lumaflow_service.api.body_limit import JsonBodyLimit
from lumaflow_service.api.headers import SecurityHeaders
from lumaflow_service.api.server import HttpServer, address_of, check_reach, listen
from lumaflow_service.api.state import AppState
from lumaflow_service.config.camera_errors import ConfigError, NoConfigError
from lumaflow_service.config.loader import LoadedConfig, load
from lumaflow_service.config.model import NO_CAMERAS
from lumaflow_service.config.settings import Settings
from lumaflow_service.config.url_policy import UrlPolicy
from lumaflow_service.control.camera_supervisor import ServiceParts
from lumaflow_service.control.cameras import Cameras
from lumaflow_service.control.demo_camera import rendering_demo_clip, with_demo_camera
from lumaflow_service.control.engine import Engine
from lumaflow_service.control.metrics import Metrics
from lumaflow_service.control.one_shot_images import OneShotImages
from lumaflow_service.control.sources import Sources
from lumaflow_service.control.tracing import Tracing, open_tracing
from lumaflow_service.control.view_cache import ViewCache
from lumaflow_service.demo.clip import clip_path
from lumaflow_service.ipc.slots import SlotMemory, SlotRing
from lumaflow_service.log import configure
from lumaflow_service.redact import Redactor, spellings
from lumaflow_service.webrtc.peers import WebRtcPeers

STATUS: dict[type[LumaflowError], int] = {
    errors.BadFrameError: 400,
    errors.BadOfferError: 400,
    lumaflow.errors.FrameError: 400,
    errors.UnauthorizedError: 401,
    errors.ForbiddenError: 403,
    errors.OtherSiteError: 403,
    errors.UnknownSourceError: 404,
    errors.UnknownImageError: 404,
    errors.UnknownPeerError: 404,
    errors.FeatureOffError: 404,
    errors.NotAcceptableError: 406,
    errors.SlowBodyError: 408,
    errors.GeometryConflictError: 409,
    NoConfigError: 409,
    errors.TooLargeError: 413,
    errors.UnsupportedMediaError: 415,
    lumaflow.errors.OptionError: 422,
    errors.BusyError: 429,
    errors.MissingExtraError: 501,
    errors.WorkerUnavailableError: 503,
    lumaflow.errors.DeviceError: 503,
    errors.WorkerStuckError: 504,
}
"""The HTTP status of every error; any other is ours, 500."""

ROUTES = (frames, frame_socket, sources, cameras, views, live, whep, images, about, health, docs, page)

SEE_DOCS = "see /docs for what there is"

log = structlog.get_logger()


def serve(settings: Settings, headless: bool = False) -> None:
    """Run the service until SIGINT or SIGTERM; `headless`, the cameras alone, with health and metrics.

    Raises AddressError when the address is taken, or open to others without a token, DeviceError when the
    device is not there, ConfigError when the configuration cannot be used, OptionError when traces are asked
    for without the extra `otel`.
    """
    check_reach(settings)
    redactor = Redactor(spelling for token in settings.tokens.values() for spelling in spellings(token))
    configure(redactor)
    for name in settings.tokens:
        os.environ.pop(f"LUMAFLOW_{name}_TOKEN".upper(), None)  # no decoder or camera process inherits it
    signal.signal(signal.SIGHUP, lambda *_: None)  # until the configuration can be read again
    loaded = read_config(settings.config)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn raises it once more after a graceful end
    with listen(settings.host, settings.port) as listener:
        tell = partial(print, f"lumaflow is at {address_of(listener)}", flush=True)
        app = create_app(settings, lambda: server.give_up(), loaded, redactor, headless, tell)
        server = HttpServer(app, settings)
        server.run(sockets=[listener])
    failure = app.state.house.engine.failure
    if failure:
        raise failure


def read_again(file: Path | None) -> LoadedConfig:
    """The configuration in a file that may have changed. Raises ConfigError, NoConfigError without a file."""
    if file is None:
        raise NoConfigError("there is no configuration to read again; start the service with --config FILE")
    return read_config(file)


def read_config(file: Path | None) -> LoadedConfig:
    """The configuration in a file; one without sources when there is no file. Raises ConfigError."""
    return load(file, os.environ) if file else LoadedConfig(NO_CAMERAS, Path(), UrlPolicy())


def create_app(
    settings: Settings,
    on_failure: Callable[[], None] = lambda: None,
    loaded: LoadedConfig | None = None,
    redactor: Redactor | None = None,
    headless: bool = False,
    on_start: Callable[[], None] = lambda: None,
) -> FastAPI:
    """The application; `on_start` is called when there is a worker on the device, `on_failure` when there can
    be none (the device is not there)."""
    configuration = loaded or read_config(settings.config)
    demo_clip = clip_path() if settings.demo else None
    must_render = demo_clip is not None and not demo_clip.exists()
    tracing = open_tracing(settings.otlp)

    def with_demo(loaded: LoadedConfig) -> LoadedConfig:
        return with_demo_camera(loaded, demo_clip, paused=must_render) if demo_clip else loaded

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        house = app.state.house = build(
            settings,
            on_failure,
            on_start,
            with_demo(configuration),
            lambda: with_demo(read_again(settings.config)),
            redactor or Redactor(),
            tracing,
        )
        house.engine.start()
        await house.cameras.start()
        try:
            async with AsyncExitStack() as stack:
                stack.enter_context(reloading_on_hangup(house.cameras))
                if demo_clip and must_render:
                    await stack.enter_async_context(rendering_demo_clip(house.cameras, demo_clip))
                yield
        finally:
            await house.peers.close()
            await house.cameras.stop()
            await house.engine.stop()
            if tracing:
                await asyncio.to_thread(tracing.close)

    app = FastAPI(
        title="lumaflow", version=version("lumaflow"), lifespan=lifespan, docs_url=None, redoc_url=None
    )
    problems.install(app, STATUS, "there are /livez, /readyz and /metrics" if headless else SEE_DOCS)
    openapi.install(app)
    app.add_middleware(JsonBodyLimit)
    app.add_middleware(Access, settings=settings)
    app.add_middleware(SecurityHeaders)
    for module in (health,) if headless else ROUTES:
        app.include_router(module.router)
    return app


@contextmanager
def reloading_on_hangup(every: Cameras) -> Iterator[None]:
    """Meanwhile SIGHUP reads the configuration again; a bad one is told and changes nothing."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def reload() -> None:
        try:
            await every.reload()
        except ConfigError as error:
            log.error("the configuration stays as it was", mistakes=str(error))

    def begin() -> None:
        task = loop.create_task(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    with suppress(ValueError, RuntimeError):  # not the main thread: in tests
        loop.add_signal_handler(signal.SIGHUP, begin)
    yield
    with suppress(ValueError, RuntimeError):
        loop.remove_signal_handler(signal.SIGHUP)


def build(
    settings: Settings,
    on_failure: Callable[[], None],
    on_start: Callable[[], None],
    loaded: LoadedConfig,
    read: Callable[[], LoadedConfig],
    redactor: Redactor,
    tracing: Tracing | None,
) -> AppState:
    """Make the parts of the service; nothing runs yet."""
    metrics = Metrics(CollectorRegistry())
    ring = SlotRing(SlotMemory.create(settings.slots, settings.slot_bytes))
    engine = Engine(ring, settings, metrics, on_failure, on_start)
    every = Sources(engine, metrics, settings.max_sources, settings.queue_depth, tracing)
    limits = {"max_pixels": settings.max_pixels, "max_bytes": settings.slot_bytes}
    parts = ServiceParts(ring, engine, every, metrics)
    watched = Cameras(loaded, read, parts, redactor, limits)
    pictures = ViewCache(engine, ring, settings.max_viewers, settings.lane_idle_seconds)
    peers = WebRtcPeers(pictures, settings.max_viewers)
    return AppState(settings, metrics, ring, engine, every, pictures, peers, watched, OneShotImages(engine))
