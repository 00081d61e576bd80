"""Runs the service in a child process on a free port of the loopback interface."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from secrets import token_hex
from socket import socket
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO

from lumaflow.errors import LumaflowError
from lumaflow_service.bench.processes import descendants, rss_bytes

START_SECONDS = 300.0
STOP_SECONDS = 15.0
LOG_TAIL_CHARS = 2000
COMMAND = "from lumaflow_service.cli import main; main()"


class ServerError(LumaflowError, RuntimeError):
    """The service did not start, or rejected a frame; the text ends with the output of the service."""


@contextmanager
def run_service(device: str) -> Iterator["ServiceProcess"]:
    """Start a service on `device`, wait until it is ready, and stop it at the end. Raises ServerError."""
    with TemporaryFile() as log:
        server = ServiceProcess(device, log)
        try:
            server.wait_until_ready()
            yield server
        finally:
            server.stop()


class ServiceProcess:
    """The child process of the service.

    headers : the Authorization header with a random token for this process
    """

    def __init__(self, device: str, log: IO[bytes]) -> None:
        self.port = _free_port()
        self._log = log
        token = token_hex(24)
        self.headers = {"Authorization": f"Bearer {token}"}
        arguments = ["serve", "--port", str(self.port), "--device", device]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, *arguments],
            env={**os.environ, "LUMAFLOW_ADMIN_TOKEN": token},
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def connect(self) -> HTTPConnection:
        """Open a new keep-alive connection."""
        return HTTPConnection("127.0.0.1", self.port, timeout=30)

    def rss_bytes(self) -> tuple[int, int]:
        """Resident memory of the API process, and the sum of its descendants."""
        return rss_bytes(self._process.pid), sum(map(rss_bytes, descendants(self._process.pid)))

    def wait_until_ready(self) -> None:
        """Wait until /readyz returns 200. Raises ServerError."""
        until = monotonic() + START_SECONDS
        while monotonic() < until:
            if self._process.poll() is not None:
                raise ServerError(f"the service exited with {self._process.returncode}: {self._log_tail()}")
            if self._is_ready():
                return
            sleep(0.1)
        raise ServerError(f"the service was not ready within {START_SECONDS:g} s: {self._log_tail()}")

    def stop(self) -> None:
        """Terminate the process; kill it after a timeout."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        connection = self.connect()
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _log_tail(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-LOG_TAIL_CHARS:].strip()


def _free_port() -> int:
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
