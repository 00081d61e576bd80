"""A child process that exists only as its messages."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import patch

from lumaflow_service.ipc.child import Child
from lumaflow_service.ipc.messages import Message


class FakeChild:
    """A child whose side of the connection is a test.

    sent : the messages that it received
    on_send : called with each of them
    exit_status : what `close` returns; -9 after `kill`
    """

    def __init__(
        self,
        arguments: list[str],
        on_message: Callable[[Message], None],
        on_exit: Callable[[], None],
        on_send: Callable[["FakeChild", Message], None],
    ) -> None:
        self.arguments = arguments
        self.reply, self._on_exit, self._on_send = on_message, on_exit, on_send
        self.process = SimpleNamespace(pid=4711)
        self.sent: list[Message] = []
        self.exit_status = 0
        self.killed = self.closed = False

    def send(self, message: Message) -> None:
        self.sent.append(message)
        self._on_send(self, message)

    def exit(self, status: int) -> None:
        """End the process with this status."""
        self.exit_status = status
        self._on_exit()

    def kill(self) -> None:
        self.killed = True
        self.exit(-9)

    async def close(self) -> int:
        self.closed = True
        return self.exit_status


@contextmanager
def fake_children(on_send: Callable[[FakeChild, Message], None]) -> Iterator[list[FakeChild]]:
    """Replace child processes; the list holds those that were started."""
    children: list[FakeChild] = []

    async def start(
        module: str,
        arguments: list[str],
        memory_fd: int,
        on_message: Callable[[Message], None],
        on_exit: Callable[[], None],
    ) -> FakeChild:
        child = FakeChild(arguments, on_message, on_exit, on_send)
        children.append(child)
        await asyncio.sleep(0)
        return child

    with patch.object(Child, "start", start):
        yield children


async def eventually(condition: Callable[[], object], seconds: float = 20) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.001)
