"""Fixtures shared by all tests."""

import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

from lumaflow.backend import available_devices

SHARED = Path(os.environ.get("LUMAFLOW_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of test media, which is not part of the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no test media at {SHARED / 'data'}; set LUMAFLOW_SHARED to the folder that has data/")
    return SHARED / "data"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A random generator with the same seed in every run of this test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    """Every kind of device; skipped only if this machine has none."""
    found = [name for name in available_devices() if name.startswith(request.param)]
    if not found:
        pytest.skip(f"no {request.param} device here: see `lumaflow doctor`")
    return found[0]


START_SECONDS = 300.0
"""Maximum start time of a worker, including the first compilation of its loops."""
SERVE = """
from lumaflow_service.api.app import serve
from lumaflow_service.config.settings import Settings
serve(Settings())
"""


@dataclass(slots=True)
class RunningService:
    """A service in a separate process, on a free port of loopback."""

    process: subprocess.Popen[str]
    client: httpx.Client

    def wait_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait until /readyz returns 200."""
        end = time.monotonic() + seconds
        while self.client.get("/readyz").status_code != 200:
            assert time.monotonic() < end, f"not ready after {seconds} s"
            time.sleep(0.02)

    def children(self, module: str = "lumaflow_service.worker") -> list[int]:
        """Process ids of running children that execute this module."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(parent) == self.process.pid and state != "Z" and module.encode() in command:
                found.append(int(folder.name))
        return found

    @property
    def worker(self) -> int:
        """Process id of the worker."""
        (pid,) = self.children()
        return pid


@pytest.fixture(scope="session")
def open_service() -> Iterator[Callable[..., RunningService]]:
    """A function that starts a service with the given settings; all stop at the end of the session."""
    with ExitStack() as stack:

        def start(**settings: object) -> RunningService:
            given = {"port": 0, "device": "cpu", **settings}
            variables = {f"LUMAFLOW_{name.upper()}": str(value) for name, value in given.items()}
            process = subprocess.Popen(
                [sys.executable, "-c", SERVE],
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(finish, process)
            assert process.stdout
            url = process.stdout.readline().split()[-1]
            client = stack.enter_context(httpx.Client(base_url=url, timeout=60))
            return RunningService(process, client)

        yield start


def finish(process: subprocess.Popen[str]) -> None:
    """Stop a service with SIGTERM, which takes a few seconds at most."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.fixture(scope="session")
def service(open_service: Callable[..., RunningService]) -> RunningService:
    """A ready service for all tests that do not change its state."""
    running = open_service()
    running.wait_ready()
    return running


@pytest.fixture
def client(service: RunningService) -> httpx.Client:
    """An HTTP client of that service."""
    return service.client
