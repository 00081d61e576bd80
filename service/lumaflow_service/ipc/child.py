"""A child process with a doorbell: started by the API process, gone when either side closes it."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from lumaflow_service.errors import WorkerUnavailableError
from lumaflow_service.ipc.messages import PACKET_BYTES, Message, pack, socket_pair, unpack

SIGNALS = signal.SIGINT, signal.SIGTERM
"""What a terminal or an init may send to the whole group: the parent's business, which hangs up."""


@dataclass(slots=True, eq=False)
class Child:
    """One running child; `on_message` is called for each message, `on_gone` once when its doorbell closes."""

    process: subprocess.Popen[bytes]
    doorbell: socket.socket
    on_message: Callable[[Message], None]
    on_gone: Callable[[], None]

    @classmethod
    async def start(
        cls,
        module: str,
        arguments: list[str],
        memory_fd: int,
        on_message: Callable[[Message], None],
        on_gone: Callable[[], None],
    ) -> "Child":
        """Start `python -P -m module DOORBELL MEMORY arguments...` and listen to its doorbell."""
        ours, theirs = socket_pair()
        with theirs:
            command = [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(memory_fd), *arguments]
            process = await asyncio.to_thread(spawn_signal_safe, command, (theirs.fileno(), memory_fd))
        ours.setblocking(False)
        child = cls(process, ours, on_message, on_gone)
        asyncio.get_running_loop().add_reader(ours, child._read)
        return child

    def send(self, message: Message) -> None:
        """Ring; never waits. Raises WorkerUnavailableError when the child does not read any more."""
        try:
            self.doorbell.send(pack(message))
        except OSError as error:
            raise WorkerUnavailableError(f"the worker cannot be reached ({error}); try again") from error

    def kill(self) -> None:
        """End the child now, whatever it does; `on_gone` follows."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    async def close(self) -> int:
        """Hang up, which ends the child; after two seconds kill it. Returns its exit status."""
        self._hang_up()
        try:
            return await asyncio.to_thread(self.process.wait, 2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return await asyncio.to_thread(self.process.wait)

    def _read(self) -> None:
        """Take all messages that lie there: one wake-up of the loop often finds several."""
        while self.doorbell.fileno() >= 0:
            try:
                packet = self.doorbell.recv(PACKET_BYTES)
                if packet:
                    self.on_message(unpack(packet))
                    continue
            except BlockingIOError:
                return
            except ConnectionResetError:
                continue  # it left with mail unread; its own last words still lie here
            except (OSError, ValueError):
                self.kill()
            self._hang_up()
            self.on_gone()
            return

    def _hang_up(self) -> None:
        if self.doorbell.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.doorbell)
            self.doorbell.close()


def spawn_signal_safe(command: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start a process that SIGNALS do not reach, not even before it can ignore them itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # of this thread; the process inherits it
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=descriptors)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
