"""A child process and its connection to the API process; the child exits when the connection is closed."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from lumaflow_service.errors import WorkerUnavailableError
from lumaflow_service.ipc.messages import Message
from lumaflow_service.ipc.transport import PACKET_BYTES, pack, socket_pair, unpack

SIGNALS = signal.SIGINT, signal.SIGTERM
"""Signals that a terminal or an init process may send to the process group. The API process handles them and
then closes the connections, which ends its children."""
EXIT_SECONDS = 2.0
"""How long a child may take to exit before it is killed."""


@dataclass(slots=True, eq=False)
class Child:
    """A running child process.

    `on_message` is called for each message, and `on_exit` once when the child closes its connection.
    """

    process: subprocess.Popen[bytes]
    connection: socket.socket
    on_message: Callable[[Message], None]
    on_exit: Callable[[], None]

    @classmethod
    async def start(
        cls,
        module: str,
        arguments: list[str],
        memory_fd: int,
        on_message: Callable[[Message], None],
        on_exit: Callable[[], None],
    ) -> "Child":
        """Run `python -P -m module CONNECTION MEMORY arguments...` and read its messages.

        CONNECTION and MEMORY are the descriptors of the socket and of the slot memory. Raises OSError.
        """
        parent_socket, child_socket = socket_pair()
        with child_socket:
            command = [
                sys.executable,
                "-P",
                "-m",
                module,
                str(child_socket.fileno()),
                str(memory_fd),
                *arguments,
            ]
            process = await asyncio.to_thread(spawn_signal_safe, command, (child_socket.fileno(), memory_fd))
        parent_socket.setblocking(False)
        child = cls(process, parent_socket, on_message, on_exit)
        asyncio.get_running_loop().add_reader(parent_socket, child.read)
        return child

    def send(self, message: Message) -> None:
        """Send without waiting. Raises WorkerUnavailableError when the child does not read its messages."""
        try:
            self.connection.send(pack(message))
        except OSError as error:
            raise WorkerUnavailableError(
                f"the socket of the child process is not writable ({error}); try again"
            ) from error

    def kill(self) -> None:
        """Send SIGKILL; `on_exit` is called later."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    async def close(self) -> int:
        """Close the connection and wait for the child to exit; returns its exit status."""
        self._disconnect()
        try:
            return await asyncio.to_thread(self.process.wait, EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return await asyncio.to_thread(self.process.wait)

    def read(self) -> None:
        """Read all queued messages: the event loop often finds several at once."""
        while self.connection.fileno() >= 0:
            try:
                packet = self.connection.recv(PACKET_BYTES)
                if packet:
                    self.on_message(unpack(packet))
                    continue
            except BlockingIOError:
                return
            except ConnectionResetError:
                continue  # the child closed without reading all messages; its own are still queued
            except (OSError, ValueError):
                self.kill()
            self._disconnect()
            self.on_exit()
            return

    def _disconnect(self) -> None:
        if self.connection.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.connection)
            self.connection.close()


def spawn_signal_safe(command: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start a process with SIGNALS blocked, so that they cannot kill it before it ignores them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # of this thread; the child inherits it
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=descriptors)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
