"""The demo camera: a looped file camera over a clip that a child process renders once."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import structlog

from lumaflow_service.config.loader import LoadedConfig
from lumaflow_service.config.model import CameraConfig
from lumaflow_service.config.options import Feature
from lumaflow_service.config.url_policy import UrlPolicy
from lumaflow_service.control.cameras import Cameras

SOURCE = "demo"

log = structlog.get_logger()


def with_demo_camera(loaded: LoadedConfig, clip: Path) -> LoadedConfig:
    """Add the demo camera, paused while its clip is missing; a configured camera of that name is kept."""
    camera = CameraConfig.model_validate(
        {
            "url": f"file:{quote(str(clip))}",
            "loop": True,
            "features": list(Feature),
            "paused": not clip.exists(),
        }
    )
    sources = {SOURCE: camera, **loaded.config.sources}
    policy = UrlPolicy(loaded.policy.networks, (*loaded.policy.roots, clip.parent))
    return replace(loaded, config=loaded.config.model_copy(update={"sources": sources}), policy=policy)


@asynccontextmanager
async def rendering_demo_clip(cameras: Cameras, clip: Path) -> AsyncIterator[None]:
    """Meanwhile render the clip and start the demo camera when it is complete."""
    task = asyncio.create_task(_render_and_start(cameras, clip), name="render demo clip")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _render_and_start(cameras: Cameras, clip: Path) -> None:
    log.info("rendering demo clip", file=str(clip))
    # In another session, which Ctrl-C in a terminal does not reach.
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "lumaflow_service.demo", str(clip), start_new_session=True
    )
    try:
        status = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if status:
        log.error("demo clip not rendered; the demo camera stays paused", exit_status=status)
        return
    await cameras.change(SOURCE, {"paused": False})
    log.info("demo clip rendered", file=str(clip))
