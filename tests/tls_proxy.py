"""A TLS proxy in front of a plain TCP port, and a self-signed certificate for it."""

import select
import socket
import ssl
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

CHUNK_BYTES = 65_536


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a self-signed certificate for 127.0.0.1 and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    options = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *options, *subject], check=True, capture_output=True)
    return certificate, key


class TlsProxy:
    """Accepts TLS on `port` and forwards the decrypted data to another port."""

    def __init__(self, target: int, certificate: Path, key: Path) -> None:
        self._target = target
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),
            self._context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(("127.0.0.1", self._target)) as server,
        ):
            while True:
                ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                for source, target in ((client, server), (server, client)):
                    if source in ready:
                        data = source.recv(CHUNK_BYTES)
                        if not data:
                            return
                        target.sendall(data)
