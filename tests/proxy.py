"""A TCP proxy on loopback with selectable faults, and a stub server with one response."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CHUNK_BYTES = 65_536


class Proxy:
    """Forwards bytes between clients and a port. `behaviour` may change while connections are open.

    forward : no fault
    stall : no more data is forwarded
    trickle : one byte of the response every 0.2 s
    silent : connections are accepted and never answered
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
        """Close every open connection."""
        dropped, self._open = self._open, []
        for one in dropped:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def refuse(self) -> None:
        """Stop listening and close every open connection."""
        self._listener.close()
        self.drop()

    def listen(self) -> None:
        """Listen again on the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Close all sockets."""
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
                        threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_response: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                while self.behaviour == "stall":
                    time.sleep(0.02)
                if self.behaviour == "trickle" and is_response:
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
    """Run a proxy in another process, so its sockets are not counted here; yield its port and `drop`."""
    command = [sys.executable, __file__, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def drop() -> None:
            stdin.write("drop\n")
            stdin.flush()
            stdout.readline()

        yield int(stdout.readline()), drop
        process.kill()


def main(port: int) -> None:
    """Run a proxy; each line of input drops all connections."""
    proxy = Proxy(port)
    print(proxy.port, flush=True)
    for _ in sys.stdin:
        proxy.drop()
        print("dropped", flush=True)


class StubServer:
    """A server that answers the first bytes of a client, then closes the connection unless `keep_open`.

    requests : the first bytes of each client
    """

    def __init__(self, answer: Callable[[bytes], bytes], keep_open: bool = False) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._keep_open = keep_open
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
                    self.requests.append(client.recv(CHUNK_BYTES))
                    client.sendall(self._answer(self.requests[-1]))
                if not self._keep_open:
                    self._open.pop().close()

    def close(self) -> None:
        """Close all sockets."""
        for one in (self._listener, *self._open):
            one.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
