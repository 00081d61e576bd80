"""All cameras of the service: those of the configuration, and those that clients add through the API."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import structlog

from lumaflow_service.config.camera_errors import ConfigError
from lumaflow_service.config.loader import LoadedConfig
from lumaflow_service.config.model import CameraConfig
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.config.url_policy import UrlPolicy, check_url
from lumaflow_service.control.camera_supervisor import CameraSupervisor, ServiceParts
from lumaflow_service.errors import UnknownSourceError
from lumaflow_service.ipc.messages import CameraAssignment
from lumaflow_service.redact import Redactor, redact_urls

log = structlog.get_logger()


class Cameras:
    """Starts, stops and changes cameras. `read` reads the configuration file again.

    limits : the arguments max_pixels and max_bytes of the camera processes
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        read: Callable[[], LoadedConfig],
        parts: ServiceParts,
        redactor: Redactor,
        limits: dict[str, int],
    ) -> None:
        self._read = read
        self._parts = parts
        self._redactor = redactor
        self._limits = limits
        self._loaded = loaded
        self._configs: dict[str, CameraConfig] = {}
        self._supervisors: dict[str, CameraSupervisor] = {}
        self._added: set[str] = set()
        self._lock = asyncio.Lock()
        for camera in loaded.config.sources.values():
            self._redact_urls_of(camera)

    def __iter__(self) -> Iterator[str]:
        return iter(self._supervisors)

    def find(self, name: str) -> CameraSupervisor | None:
        """Return the camera of a source; None when the source is not a camera."""
        return self._supervisors.get(name)

    def get(self, name: str) -> CameraSupervisor:
        """Return the camera of a source. Raises UnknownSourceError when the source is not a camera."""
        found = self._supervisors.get(name)
        if found is None:
            raise UnknownSourceError(f"{name!r} has no camera; PUT the source with a url to make it a camera")
        return found

    def url(self, name: str) -> str:
        """Return the URL of a camera without its credentials."""
        return redact_urls(self._configs[name].url)

    def observe(self) -> None:
        """Update the gauges: a slow camera is up between its frames, too."""
        for name, supervisor in self._supervisors.items():
            label = self._parts.metrics.source_label(name)
            self._parts.metrics.source_up.labels(label).set(supervisor.status.state == "live")

    async def start(self) -> None:
        """Start the cameras of the configuration."""
        async with self._lock:
            await self._apply(self._loaded)

    async def stop(self) -> None:
        """End all cameras; their outputs are finished first."""
        await asyncio.gather(*(one.stop() for one in self._supervisors.values()))

    async def reload(self) -> None:
        """Read the configuration again and apply what has changed.

        Raises ConfigError; then nothing changes.
        """
        async with self._lock:
            try:
                loaded = await asyncio.to_thread(self._read)
            except ConfigError:
                self._parts.metrics.config_reloads.labels("refused").inc()
                raise
            await self._apply(loaded)
            self._parts.metrics.config_reloads.labels("ok").inc()
            log.info("configuration reloaded", sources=len(loaded.config.sources))

    async def put(self, name: str, camera: CameraConfig, options: SourceOptions) -> None:
        """Make a source a camera, or change its camera. Raises UrlError."""
        check_url(camera.url, self._client_policy)
        async with self._lock:
            self._added.add(name)
            await self._put(name, camera, options, self._assign(name, camera, self._loaded, added=True))

    async def change(self, name: str, changes: dict[str, Any]) -> None:
        """Change how a camera is read. Raises UnknownSourceError, UrlError, OptionError."""
        self.get(name)
        camera = CameraConfig.model_validate({**self._configs[name].model_dump(), **changes})
        if "url" in changes or name in self._added:
            check_url(camera.url, self._client_policy)
        async with self._lock:
            options = self._parts.sources.get(name).options
            assignment = self._assign(name, camera, self._loaded, added=name in self._added)
            await self._put(name, camera, options, assignment)

    async def remove(self, name: str) -> None:
        """End a camera; its source remains."""
        async with self._lock:
            await self._remove(name)

    async def pause(self, name: str) -> None:
        """End a camera's process until it is resumed."""
        await self.get(name).stop()

    async def resume(self, name: str) -> None:
        """Start a paused camera."""
        self.get(name).start()

    async def restart(self, name: str) -> None:
        """End a camera's process and start a new one."""
        supervisor = self.get(name)
        await supervisor.stop("connecting")
        supervisor.start()

    @property
    def _client_policy(self) -> UrlPolicy:
        """The policy for URLs of clients: no files, no devices."""
        return UrlPolicy(self._loaded.policy.networks)

    async def _apply(self, loaded: LoadedConfig) -> None:
        """Start, stop and change cameras to match a configuration; unchanged cameras keep running."""
        for name in [name for name in self._supervisors if name not in self._added]:
            if name not in loaded.config.sources:
                await self._remove(name)
                self._parts.sources.remove(name)
        self._loaded = loaded
        self._parts.sources.defaults = loaded.config.defaults
        for name, camera in loaded.config.sources.items():
            self._added.discard(name)
            options = camera.options(loaded.config.defaults)
            await self._put(name, camera, options, self._assign(name, camera, loaded))

    async def _put(
        self, name: str, camera: CameraConfig, options: SourceOptions, assignment: CameraAssignment
    ) -> None:
        self._redact_urls_of(camera)
        self._configs[name] = camera
        self._parts.sources.put(name, with_default_clamp(camera, options), None)
        running = self._supervisors.get(name)
        if running is not None and running.assignment == assignment:
            return
        if running is not None:
            await running.stop()
        descriptors = [
            str(name)
            for output in camera.outputs
            if output.descriptors
            for name in output.descriptors.features
        ]
        supervisor = self._supervisors[name] = CameraSupervisor(
            assignment, camera.delivery, descriptors, self._parts
        )
        if camera.paused:
            await supervisor.stop()
        else:
            supervisor.start()

    async def _remove(self, name: str) -> None:
        await self.get(name).stop()
        del self._supervisors[name], self._configs[name]
        self._added.discard(name)

    def _redact_urls_of(self, camera: CameraConfig) -> None:
        """Redact the credentials of the camera and its outputs in all logs and responses."""
        for url in (camera.url, *(output.publish.url for output in camera.outputs if output.publish)):
            self._redactor.add_url(url)

    def _assign(
        self, name: str, camera: CameraConfig, loaded: LoadedConfig, added: bool = False
    ) -> CameraAssignment:
        return CameraAssignment(
            name,
            camera.without_options,
            [str(one) for one in loaded.policy.networks],
            [] if added else [str(one) for one in loaded.policy.roots],
            str(loaded.folder),
            self._limits,
        )


def with_default_clamp(camera: CameraConfig, options: SourceOptions) -> SourceOptions:
    """Return the options of a camera's source.

    A live camera clamps samples beyond its bit depth instead of losing the frame, unless `clamp` is set.
    """
    if camera.delivery != "live" or "clamp" in options.model_fields_set:
        return options
    return options.changed({"clamp": True})
