"""The service in a child process, on a free port of the loopback, for as long as it is measured."""

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
LAST_WORDS = 2000
COMMAND = "from lumaflow_service.cli import main; main()"


class ServerError(LumaflowError, RuntimeError):
    """The service did not come up, or refused a frame; the text ends with its own words."""


@contextmanager
def serving(device: str) -> Iterator["ServiceProcess"]:
    """Give a service on `device` that is ready; it ends with the block. Raises ServerError."""
    with TemporaryFile() as log:
        server = ServiceProcess(device, log)
        try:
            server.await_ready()
            yield server
        finally:
            server.stop()


class ServiceProcess:
    """The running service: its address and its memory.

    headers : of a request that it lets in, whatever tokens lie around for services
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
        """A new connection, kept alive by the service."""
        return HTTPConnection("127.0.0.1", self.port, timeout=30)

    def rss_bytes(self) -> tuple[int, int]:
        """Resident memory of the API process, and of the processes it started together."""
        return rss_bytes(self._process.pid), sum(map(rss_bytes, descendants(self._process.pid)))

    def await_ready(self) -> None:
        """Return when /readyz says 200."""
        until = monotonic() + START_SECONDS
        while monotonic() < until:
            if self._process.poll() is not None:
                raise ServerError(f"the service ended with {self._process.returncode}: {self._last_words()}")
            if self._is_ready():
                return
            sleep(0.1)
        raise ServerError(f"the service was not ready within {START_SECONDS:g} s: {self._last_words()}")

    def stop(self) -> None:
        """Ask it to stop, and make it stop."""
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

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-LAST_WORDS:].strip()


def _free_port() -> int:
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
