"""An RTSP proxy on loopback that drops a random part of the UDP packets, reproducible by its seed."""

import re
import socket
import threading
from contextlib import suppress
from random import Random

CHUNK_BYTES = 65_536
CLIENT_PORTS = re.compile(rb"client_port=(\d+)-(\d+)")


class LossyUdpProxy:
    """Forwards RTSP with its own client ports, and most of the RTP packets.

    loss : fraction of packets to drop from now on, 0..1
    lost, passed : number of dropped and forwarded RTP packets
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
        """Close all sockets."""
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
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        """Forward RTSP; replace the client ports of SETUP requests by ports of the proxy."""
        with suppress(OSError):
            while data := source.recv(CHUNK_BYTES):
                target.sendall(CLIENT_PORTS.sub(self._own_ports, data) if data.startswith(b"SETUP") else data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _own_ports(self, theirs: re.Match[bytes]) -> bytes:
        rtp, rtcp = (int(port) for port in theirs.groups())
        return b"client_port=%d-%d" % (self._relay(rtp, True), self._relay(rtcp, False))

    def _relay(self, port: int, lossy: bool) -> int:
        """Open a port whose packets are forwarded to a port of the client; return its number."""
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", 0))
        self._open.append(receiver)

        def forward() -> None:
            with suppress(OSError):
                while packet := receiver.recv(CHUNK_BYTES):
                    if lossy and self._random.random() < self.loss:
                        self.lost += 1
                    else:
                        self.passed += lossy
                        receiver.sendto(packet, ("127.0.0.1", port))

        threading.Thread(target=forward, daemon=True).start()
        return int(receiver.getsockname()[1])
