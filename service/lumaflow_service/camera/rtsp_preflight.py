"""A look at an RTSP server before FFmpeg talks to it: FFmpeg would follow a redirect anywhere.

Asks for the description without credentials and reads the head of the answer, all within one deadline.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.config.url_policy import ResolvedUrl

MOST_BYTES = 16 * 1024


@contextmanager
def check_rtsp_describe(target: ResolvedUrl, address: str, seconds: float, verify: bool) -> Iterator[None]:
    """Raise CameraError (refused, timeout, tls, not_found, eof) unless the server itself answers.

    The connection stays open meanwhile: a server that prepared the picture for it need not do so twice.
    """
    with ExitStack() as stack:
        try:
            plain = stack.enter_context(socket.create_connection((address, target.port), seconds))
            connection = stack.enter_context(_secured(plain, target, verify))
            connection.sendall(_question(target))
            status = _status(connection, time.monotonic() + seconds)
        except CameraError:
            raise
        except ssl.SSLError as error:
            raise CameraError(
                CameraErrorCode.TLS, f"no secure connection: {error.reason or 'it was cut'}"
            ) from None
        except TimeoutError:
            raise CameraError(CameraErrorCode.TIMEOUT, f"no answer within {seconds:g} s") from None
        except OSError as error:
            raise CameraError(
                CameraErrorCode.REFUSED, f"no connection: {error.strerror or 'it was cut'}"
            ) from None
        _judge(status)
        yield


def _question(target: ResolvedUrl) -> bytes:
    path = target.url.partition("://")[2].rpartition("@")[2]
    url = f"{target.scheme}://{path}"
    return f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n".encode()


def _secured(plain: socket.socket, target: ResolvedUrl, verify: bool) -> socket.socket:
    if target.scheme != "rtsps":
        return plain
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=target.host)


def _status(connection: socket.socket, end: float) -> int:
    """The status in the first line of the answer."""
    head = b""
    while b"\r\n" not in head:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        piece = connection.recv(MOST_BYTES - len(head))
        if not piece:
            raise CameraError(CameraErrorCode.EOF, "the server hung up without an answer")
        head += piece
        if time.monotonic() > end:
            raise TimeoutError
    words = head.split(maxsplit=2)
    if not head.startswith(b"RTSP/1.") or len(words) < 2 or not words[1].isdigit():
        raise CameraError(CameraErrorCode.REFUSED, "what answers there does not speak RTSP; see the port")
    return int(words[1])


def _judge(status: int) -> None:
    if 300 <= status < 400:
        raise CameraError(
            CameraErrorCode.REFUSED, f"the server sends us elsewhere ({status}); give the final URL"
        )
    if status == 404:
        raise CameraError(CameraErrorCode.NOT_FOUND, "the server has nothing at this path (404)")
