"""Measures the CPU time per viewer of the service: `.venv/bin/python tests/bench_viewers.py`.

A client sends 720p at 15 frames a second, as JPEG and then as cameras' YUV. It compares the CPU
time of all processes of the service with and without viewers, over several rounds.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import cv2
from websockets.asyncio.client import connect

from browser import chromium, sending_frames
from lumaflow_service.bench.processes import descendants
from lumaflow_service.bench.server import ServiceProcess, serving
from lumaflow_service.demo.scene import Scene
from lumaflow_service.media.codec import encode_jpeg

WIDTH, HEIGHT, FRAMES, FIRST = 1280, 720, 30, 520
SECONDS, SETTLE_SECONDS, ROUNDS = 10.0, 3.0, 3
TICKS = os.sysconf("SC_CLK_TCK")
CASES: dict[str, Callable[[ServiceProcess], float]] = {
    "no viewer": lambda server: share(server),
    "1 WebSocket": lambda server: asyncio.run(watched(server, 1)),
    "20 WebSockets": lambda server: asyncio.run(watched(server, 20)),
    "1 page in Chromium": lambda server: shown(server),
}


def main() -> None:
    """Measure and print."""
    scene = Scene(WIDTH, HEIGHT)
    pictures = [scene.frame(FIRST + number) for number in range(FRAMES)]
    measure("JPEG", [encode_jpeg(picture) for picture in pictures], "")
    planes = [cv2.cvtColor(picture, cv2.COLOR_BGR2YUV_I420).tobytes() for picture in pictures]
    measure("I420", planes, f"format=i420&width={WIDTH}&height={HEIGHT}")


def measure(name: str, pictures: list[bytes], raw: str) -> None:
    """Print every case for a source that is sent these pictures."""
    with (
        serving("cpu") as server,
        sending_frames(f"http://127.0.0.1:{server.port}", "gate", pictures, raw=raw),
    ):
        time.sleep(SETTLE_SECONDS)
        rounds = [{case: run(server) for case, run in CASES.items()} for _ in range(ROUNDS)]
    alone = statistics.median(one["no viewer"] for one in rounds)
    for case in CASES:
        took = statistics.median(one[case] for one in rounds)
        print(f"{name}, {case}: {took:.1%} of one core, {took - alone:+.1%}")


def share(server: ServiceProcess) -> float:
    """CPU time of the service over wall time, for a while."""
    began, before = time.monotonic(), cpu_seconds(server)
    time.sleep(SECONDS)
    return (cpu_seconds(server) - before) / (time.monotonic() - began)


def cpu_seconds(server: ServiceProcess) -> float:
    """CPU time that the service and its children have taken."""
    return sum(ticks(pid) for pid in [server._process.pid, *descendants(server._process.pid)]) / TICKS


def ticks(pid: int) -> int:
    """User and system time of one process, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def watched(server: ServiceProcess, viewers: int) -> float:
    """The share while so many viewers take every picture, raw above enhanced as on the page."""
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(watch(server)) for _ in range(viewers)]
        await asyncio.sleep(SETTLE_SECONDS)
        took = await asyncio.to_thread(share, server)
        for task in watching:
            task.cancel()
    return took


async def watch(server: ServiceProcess) -> None:
    """Receive frames until cancelled."""
    address = f"ws://127.0.0.1:{server.port}/v1/sources/gate/live?view=both"
    async with connect(address, max_size=None, proxy=None) as socket:
        async for _ in socket:
            await socket.send("")


def shown(server: ServiceProcess) -> float:
    """The share while a browser shows the source, with its figures and its histogram."""
    with chromium() as browser:
        browser.new_page().goto(f"http://127.0.0.1:{server.port}/#source=gate")
        time.sleep(SETTLE_SECONDS)
        return share(server)


if __name__ == "__main__":
    main()
