"""The line to a relay: a pipe that never waits for long, and what the process at its end says."""

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress

from lumaflow_service.camera.outputs.relay import LENGTH_BYTES
from lumaflow_service.config.camera_errors import OutputError

CONNECT_SECONDS = 10.0
"""From the start of the process until the server takes pictures; its own time-outs are shorter."""
WRITE_SECONDS = 5.0
CLOSE_SECONDS = 1.0


class RelayPipe:
    """A file to write to, for PyAV, with a relay at its end."""

    def __init__(self, url: str, kind: str, options: dict[str, str]) -> None:
        self.note = ""
        self._began = time.monotonic()
        self._connected = self._broken = False
        self._told = b""
        self._relay = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumaflow_service.camera.outputs.relay"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # FFmpeg's words have the URL in them
        )
        assert self._relay.stdin
        assert self._relay.stdout
        self._in, self._out = self._relay.stdin, self._relay.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        order = json.dumps({"url": url, "format": kind, "options": options}).encode()
        self.write(len(order).to_bytes(LENGTH_BYTES) + order)

    def write(self, data: bytes) -> int:
        """Write all of it within WRITE_SECONDS; once that failed, fail at once. Raises OSError."""
        end = time.monotonic() + WRITE_SECONDS
        left = memoryview(data)
        while left:
            left = left[self._write_some(left, end) :]
        return len(data)

    def connected(self) -> bool:
        """Whether the server takes pictures yet. Raises SinkError when it failed, or takes too long."""
        if self._connected:
            return True
        self._listen()
        if not self._connected and time.monotonic() - self._began > CONNECT_SECONDS:
            raise self.failure()
        return self._connected

    def failure(self) -> OutputError:
        """Why it does not go on; call it after a write failed."""
        self._broken = True
        with suppress(subprocess.TimeoutExpired):
            self._relay.wait(CLOSE_SECONDS)  # its last words come before its end
        try:
            self._listen()
        except OutputError as error:
            return error
        if self._relay.returncode is not None:
            return OutputError("the connection broke")
        seconds = WRITE_SECONDS if self._connected else CONNECT_SECONDS
        return OutputError(f"the server takes no pictures within {seconds:g} s")

    def close(self) -> None:
        """Hang up, and end the process if it does not."""
        self._broken = True
        self._in.close()
        try:
            self._relay.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._relay.kill()
            self._relay.wait()
        self._out.close()

    def _write_some(self, data: memoryview, end: float) -> int:
        if self._broken:
            raise BrokenPipeError
        _, ready, _ = select.select([], [self._in], [], max(0.0, end - time.monotonic()))
        try:
            if not ready:
                raise TimeoutError
            return os.write(self._in.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError:
            self._broken = True
            raise

    def _listen(self) -> None:
        """Take in what the relay said. Raises SinkError with the reason when it failed."""
        with suppress(BlockingIOError):
            while piece := os.read(self._out.fileno(), 4096):
                self._told += piece
        for line in self._told.decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "failed":
                raise OutputError("the connection broke" if self._connected else rest)
            self._connected, self.note = True, rest
