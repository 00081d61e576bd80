"""The pipe to a relay process: writes have a timeout, and errors of the relay are reported."""

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
"""From the start of the relay until the server accepts video; FFmpeg's own timeouts are shorter."""
WRITE_SECONDS = 5.0
CLOSE_SECONDS = 1.0


class RelayPipe:
    """A file object for PyAV that writes to a relay process. `note` names audio that is left out."""

    def __init__(self, url: str, format_name: str, options: dict[str, str]) -> None:
        self.note = ""
        self._started = time.monotonic()
        self._connected = self._broken = False
        self._output = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lumaflow_service.camera.outputs.relay"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # FFmpeg's messages contain the URL
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        request = json.dumps({"url": url, "format": format_name, "options": options}).encode()
        self.write(len(request).to_bytes(LENGTH_BYTES) + request)

    def write(self, data: bytes) -> int:
        """Write all data within WRITE_SECONDS; fail at once after an earlier error. Raises OSError."""
        end = time.monotonic() + WRITE_SECONDS
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[self._write_some(remaining, end) :]
        return len(data)

    def connected(self) -> bool:
        """Return whether the server accepts video yet. Raises OutputError after an error or a timeout."""
        if self._connected:
            return True
        self._read_output()
        if not self._connected and time.monotonic() - self._started > CONNECT_SECONDS:
            raise self.failure()
        return self._connected

    def failure(self) -> OutputError:
        """Return the error to raise after a failed write."""
        self._broken = True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)  # the relay prints its error before it exits
        try:
            self._read_output()
        except OutputError as error:
            return error
        if self._process.returncode is not None:
            return OutputError("the connection broke")
        seconds = WRITE_SECONDS if self._connected else CONNECT_SECONDS
        return OutputError(f"the server accepts no video within {seconds:g} s")

    def close(self) -> None:
        """Close the pipe; kill the relay when it does not exit."""
        self._broken = True
        self._stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    def _write_some(self, data: memoryview, end: float) -> int:
        if self._broken:
            raise BrokenPipeError
        _, writable, _ = select.select([], [self._stdin], [], max(0.0, end - time.monotonic()))
        try:
            if not writable:
                raise TimeoutError
            return os.write(self._stdin.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError:
            self._broken = True
            raise

    def _read_output(self) -> None:
        """Read the relay's output. Raises OutputError when it reports an error."""
        with suppress(BlockingIOError):
            while data := os.read(self._stdout.fileno(), 4096):
                self._output += data
        for line in self._output.decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "failed":
                raise OutputError("the connection broke" if self._connected else rest)
            self._connected, self.note = True, rest
