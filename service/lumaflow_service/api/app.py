"""The HTTP application (routes, middleware, status of every error) and `serve`, which runs it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI

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
from lumaflow_service.api.lifespan import create_state, read_config, running
from lumaflow_service.api.middleware import JsonBodyLimit, SecurityHeaders
from lumaflow_service.api.server import HttpServer, check_bind_address, listen, url_of
from lumaflow_service.config.camera_errors import NoConfigError
from lumaflow_service.config.loader import LoadedConfig
from lumaflow_service.config.settings import Settings
from lumaflow_service.control.tracing import open_tracing
from lumaflow_service.log import configure
from lumaflow_service.redact import Redactor, spellings

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
"""The HTTP status of every error; any other error is a bug of the service, status 500."""

ROUTES = (frames, frame_socket, sources, cameras, views, live, whep, images, about, health, docs, page)

ROUTES_HINT = "/docs lists all routes"
HEADLESS_HINT = "the routes are /livez, /readyz and /metrics"


def serve(settings: Settings, headless: bool = False) -> None:
    """Run the service until SIGINT or SIGTERM; `headless` runs cameras, health and metrics only.

    Raises AddressError (address in use, or reachable from other machines without a token), DeviceError (no
    such device), ConfigError (invalid configuration), OptionError (tracing without the extra `otel`).
    """
    check_bind_address(settings)
    redactor = hide_tokens(settings)
    configure(redactor)
    signal.signal(signal.SIGHUP, lambda *_: None)  # its default ends the process
    config = read_config(settings.config)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn raises the signal again after a graceful shutdown
    with listen(settings.host, settings.port) as listener:
        on_start = partial(print, f"lumaflow is at {url_of(listener)}", flush=True)
        app = create_app(settings, lambda: server.stop(), config, redactor, headless, on_start)
        server = HttpServer(app, settings)
        server.run(sockets=[listener])
    failure = app.state.shared.engine.failure
    if failure:
        raise failure


def hide_tokens(settings: Settings) -> Redactor:
    """A redactor of all tokens. Removes them from the environment, so that no child process inherits one."""
    for name in settings.tokens:
        os.environ.pop(f"LUMAFLOW_{name}_TOKEN".upper(), None)
    return Redactor(spelling for token in settings.tokens.values() for spelling in spellings(token))


def create_app(
    settings: Settings,
    on_failure: Callable[[], None] = lambda: None,
    loaded: LoadedConfig | None = None,
    redactor: Redactor | None = None,
    headless: bool = False,
    on_start: Callable[[], None] = lambda: None,
) -> FastAPI:
    """The application.

    `on_start` is called once a worker runs on the device. `on_failure` is called if none ever can, because
    the device does not exist.
    """
    config = loaded or read_config(settings.config)
    tracing = open_tracing(settings.otlp)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state = create_state(settings, config, redactor or Redactor(), tracing, on_start, on_failure)
        app.state.shared = state
        async with running(state):
            yield

    app = FastAPI(
        title="lumaflow", version=version("lumaflow"), lifespan=lifespan, docs_url=None, redoc_url=None
    )
    problems.install(app, STATUS, HEADLESS_HINT if headless else ROUTES_HINT)
    openapi.install(app)
    app.add_middleware(JsonBodyLimit)
    app.add_middleware(Access, settings=settings)
    app.add_middleware(SecurityHeaders)
    for module in (health,) if headless else ROUTES:
        app.include_router(module.router)
    return app
