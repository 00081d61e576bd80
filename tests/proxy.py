"""A TCP proxy on loopback that can be told to misbehave, and servers that answer one thing only."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PIECE = 65_536


class Proxy:
    """Passes bytes between clients and a port. `behaviour` may change while connections are open.

    forward : as it should; stall : nothing passes any more; trickle : a byte of the answer every 0.2 s;
    silent : accepts and never answers
    """

    def __init__(self, port: int) -> None:
        self.behaviour = "forward"
        self.connections = 0
        self._target = port
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def drop(self) -> None:
        """Cut every connection that is open."""
        dropped, self._open = self._open, []
        for one in dropped:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def refuse(self) -> None:
        """Listen no more, and cut what is open."""
        self._listener.close()
        self.drop()

    def listen(self) -> None:
        """Listen again, at the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self.refuse()

    def _accept(self) -> None:
        listener = self._listener
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                self._open.append(client)
                if self.behaviour != "silent":
                    server = socket.create_connection(("127.0.0.1", self._target))
                    self._open.append(server)
                    for pair in ((client, server, False), (server, client, True)):
                        threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(PIECE):
                while self.behaviour == "stall":
                    time.sleep(0.02)
                if self.behaviour == "trickle" and answers:
                    for byte in data:
                        target.sendall(bytes([byte]))
                        time.sleep(0.2)
                else:
                    target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_process(port: int) -> Iterator[tuple[int, Callable[[], None]]]:
    """A proxy in a process of its own, so that nothing it leaves is ours: its port, and its `drop`."""
    command = [sys.executable, __file__, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        told, heard = process.stdin, process.stdout

        def drop() -> None:
            told.write("drop\n")
            told.flush()
            heard.readline()

        yield int(heard.readline()), drop
        process.kill()


def main(port: int) -> None:
    """Pass bytes to a port; each line of input drops all connections."""
    proxy = Proxy(port)
    print(proxy.port, flush=True)
    for _ in sys.stdin:
        proxy.drop()
        print("dropped", flush=True)


class Answering:
    """A server that gives every client an answer to its first bytes, then hangs up, or goes deaf."""

    def __init__(self, answer: Callable[[bytes], bytes], deaf: bool = False) -> None:
        self.asked: list[bytes] = []
        self._answer = answer
        self._deaf = deaf
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                with suppress(OSError):
                    self.asked.append(client.recv(PIECE))
                    client.sendall(self._answer(self.asked[-1]))
                if not self._deaf:
                    self._open.pop().close()

    def close(self) -> None:
        """End it."""
        for one in (self._listener, *self._open):
            one.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
