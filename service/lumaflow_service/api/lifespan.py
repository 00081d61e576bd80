"""Creation, startup and shutdown of the parts of the service."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

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
from lumaflow_service.control.tracing import Tracing
from lumaflow_service.control.view_cache import ViewCache
from lumaflow_service.demo.clip import clip_path
from lumaflow_service.ipc.slots import SlotMemory, SlotRing
from lumaflow_service.redact import Redactor
from lumaflow_service.webrtc.peers import WebRtcPeers

log = structlog.get_logger()


def read_config(file: Path | None) -> LoadedConfig:
    """The configuration in `file`; one without sources if there is no file. Raises ConfigError."""
    return load(file, os.environ) if file else LoadedConfig(NO_CAMERAS, Path(), UrlPolicy())


def reload_config(file: Path | None) -> LoadedConfig:
    """The current configuration in `file`. Raises ConfigError, NoConfigError without a file."""
    if file is None:
        raise NoConfigError("expected a configuration file, got none; start the service with --config FILE")
    return read_config(file)


def create_state(
    settings: Settings,
    config: LoadedConfig,
    redactor: Redactor,
    tracing: Tracing | None,
    on_start: Callable[[], None],
    on_failure: Callable[[], None],
) -> AppState:
    """Create the parts of the service. No process or thread starts before `running`."""
    metrics = Metrics(CollectorRegistry())
    ring = SlotRing(SlotMemory.create(settings.slots, settings.slot_bytes))
    engine = Engine(ring, settings, metrics, on_failure, on_start)
    sources = Sources(engine, metrics, settings.max_sources, settings.queue_depth, tracing)
    limits = {"max_pixels": settings.max_pixels, "max_bytes": settings.slot_bytes}
    parts = ServiceParts(ring, engine, sources, metrics)
    clip = clip_path() if settings.demo else None
    clip_to_render = clip if clip and not clip.exists() else None

    def apply_settings(loaded: LoadedConfig) -> LoadedConfig:
        if settings.preset:
            loaded = replace(loaded, config=loaded.config.with_preset(settings.preset))
        return with_demo_camera(loaded, clip) if clip else loaded

    def read() -> LoadedConfig:
        return apply_settings(reload_config(settings.config))

    cameras = Cameras(apply_settings(config), read, parts, redactor, limits)
    views = ViewCache(engine, ring, settings.max_viewers, settings.lane_idle_seconds)
    peers = WebRtcPeers(views, settings.max_viewers)
    images = OneShotImages(engine)
    return AppState(
        settings, metrics, ring, engine, sources, views, peers, cameras, images, tracing, clip_to_render
    )


@asynccontextmanager
async def running(state: AppState) -> AsyncIterator[None]:
    """Run the parts of the service inside the `async with` block."""
    await startup(state)
    try:
        async with AsyncExitStack() as stack:
            stack.enter_context(reload_on_sighup(state.cameras))
            if state.clip_to_render:
                await stack.enter_async_context(rendering_demo_clip(state.cameras, state.clip_to_render))
            yield
    finally:
        await shutdown(state)


async def startup(state: AppState) -> None:
    """Start the worker, then the cameras."""
    state.engine.start()
    await state.cameras.start()


async def shutdown(state: AppState) -> None:
    """Close viewers, stop the cameras, then the worker, then flush traces."""
    await state.peers.close()
    await state.cameras.stop()
    await state.engine.stop()
    if state.tracing:
        await asyncio.to_thread(state.tracing.close)


@contextmanager
def reload_on_sighup(cameras: Cameras) -> Iterator[None]:
    """Reload the configuration on SIGHUP; an invalid one is logged and changes nothing."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def reload() -> None:
        try:
            await cameras.reload()
        except ConfigError as error:
            log.error("configuration invalid, previous one stays active", errors=str(error))

    def start_reload() -> None:
        task = loop.create_task(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    with suppress(ValueError, RuntimeError):  # outside the main thread, as in tests
        loop.add_signal_handler(signal.SIGHUP, start_reload)
    yield
    with suppress(ValueError, RuntimeError):
        loop.remove_signal_handler(signal.SIGHUP)
