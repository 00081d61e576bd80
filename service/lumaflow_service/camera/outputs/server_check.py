"""Whether a server to publish to answers at all, asked before FFmpeg connects.

FFmpeg connects while PyAV holds Python's lock: a server that does not answer would stop the whole camera.
"""

import socket
import time
from urllib.parse import urlsplit

from lumaflow_service.config.camera_errors import OutputError

SECONDS = 2.0
PORTS = {"rtsp": 554, "rtsps": 322, "rtmp": 1935, "rtmps": 443}


def check_server_answers(url: str) -> None:
    """Raise SinkError unless a connection is taken, and an RTSP server answers. SRT has its own time-out."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS:
        return
    try:
        address = parts.hostname or "", parts.port or PORTS[parts.scheme]
        with socket.create_connection(address, SECONDS) as connection:
            if parts.scheme == "rtsp":
                _ask(connection, f"rtsp://{parts.netloc.rpartition('@')[2]}{parts.path}")
    except OutputError:
        raise
    except TimeoutError:
        raise OutputError(f"the server does not answer within {SECONDS:g} s") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"no connection: {getattr(error, 'strerror', None) or 'it was cut'}") from None


def _ask(connection: socket.socket, url: str) -> None:
    connection.sendall(f"OPTIONS {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
    end, answer = time.monotonic() + SECONDS, b""
    while b"\r\n" not in answer:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        piece = connection.recv(4096)
        if not piece or len(answer) > 16_384:
            raise OutputError("the server hung up")
        answer += piece
