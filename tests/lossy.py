"""An RTSP proxy on loopback that loses some of the UDP packets that pass it: the same for the same seed."""

import re
import socket
import threading
from contextlib import suppress
from random import Random

PIECE = 65_536
ASKED_PORTS = re.compile(rb"client_port=(\d+)-(\d+)")


class Lossy:
    """Passes RTSP on as it is but for the ports, and of the packets that come to those all but some.

    loss : part that is lost from now on, 0..1; lost, passed : packets so far
    """

    def __init__(self, port: int, seed: int) -> None:
        self.loss = 0.0
        self.lost = self.passed = 0
        self._target = port
        self._random = Random(seed)
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End it."""
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        """RTSP, with ports of ours in place of the client's where it asks for packets."""
        with suppress(OSError):
            while data := source.recv(PIECE):
                target.sendall(ASKED_PORTS.sub(self._ours, data) if data.startswith(b"SETUP") else data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _ours(self, theirs: re.Match[bytes]) -> bytes:
        pictures, control = (int(port) for port in theirs.groups())
        return b"client_port=%d-%d" % (self._relay(pictures, True), self._relay(control, False))

    def _relay(self, port: int, lossy: bool) -> int:
        """A port of ours, from which packets go to that one of the client."""
        ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ours.bind(("127.0.0.1", 0))
        self._open.append(ours)

        def pass_on() -> None:
            with suppress(OSError):
                while packet := ours.recv(PIECE):
                    if lossy and self._random.random() < self.loss:
                        self.lost += 1
                    else:
                        self.passed += lossy
                        ours.sendto(packet, ("127.0.0.1", port))

        threading.Thread(target=pass_on, daemon=True).start()
        return int(ours.getsockname()[1])
