"""A short RTSP dialogue with a server before FFmpeg connects to it.

FFmpeg follows a redirect to any address, so a camera is first asked for its description. PyAV holds the GIL
while FFmpeg connects, so a server to publish to is first asked for its options: one that does not answer
would block all threads of the process. Neither request carries credentials.
"""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode, OutputError
from lumaflow_service.config.url_policy import ResolvedUrl

MAX_HEAD_BYTES = 16 * 1024
PUBLISH_SECONDS = 2.0
PUBLISH_PORTS = {"rtsp": 554, "rtsps": 322, "rtmp": 1935, "rtmps": 443}


@contextmanager
def check_rtsp_describe(target: ResolvedUrl, address: str, seconds: float, verify: bool) -> Iterator[None]:
    """Send DESCRIBE; raise CameraError (refused, timeout, tls, not_found, eof) unless the server answers it.

    The connection stays open in the block: a server that started the stream for it need not start it twice.
    """
    with ExitStack() as stack:
        try:
            plain = stack.enter_context(socket.create_connection((address, target.port), seconds))
            connection = stack.enter_context(_with_tls(plain, target, verify))
            status = _request(connection, "DESCRIBE", target.url, seconds)
        except ssl.SSLError as error:
            reason = error.reason or "the connection broke"
            raise CameraError(CameraErrorCode.TLS, f"the TLS handshake failed: {reason}") from None
        except TimeoutError:
            raise CameraError(CameraErrorCode.TIMEOUT, f"no answer within {seconds:g} s") from None
        except CameraError:
            raise
        except OSError as error:
            reason = error.strerror or "the connection broke"
            raise CameraError(CameraErrorCode.REFUSED, f"no connection: {reason}") from None
        if 300 <= status < 400:
            text = f"the server redirects to another URL ({status}); give the final URL"
            raise CameraError(CameraErrorCode.REFUSED, text)
        if status == 404:
            raise CameraError(
                CameraErrorCode.NOT_FOUND,
                "the server has no stream at this path (404); check the path of the URL",
            )
        yield


def check_server_answers(url: str) -> None:
    """Raise OutputError unless a server to publish to accepts a connection; an RTSP one must answer OPTIONS.

    An srt:// URL is not checked: SRT has its own timeout.
    """
    parts = urlsplit(url)
    if parts.scheme not in PUBLISH_PORTS:
        return
    try:
        address = parts.hostname or "", parts.port or PUBLISH_PORTS[parts.scheme]
        with socket.create_connection(address, PUBLISH_SECONDS) as connection:
            if parts.scheme == "rtsp":
                _request(
                    connection, "OPTIONS", parts._replace(query="", fragment="").geturl(), PUBLISH_SECONDS
                )
    except TimeoutError:
        raise OutputError(f"the server does not answer within {PUBLISH_SECONDS:g} s") from None
    except CameraError as error:
        raise OutputError(str(error)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the connection broke"
        raise OutputError(f"no connection: {reason}") from None


def _with_tls(plain: socket.socket, target: ResolvedUrl, verify: bool) -> socket.socket:
    if target.scheme != "rtsps":
        return plain
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=target.host)


def _request(connection: socket.socket, method: str, url: str, seconds: float) -> int:
    """Send a request and return the status of the response. Raises CameraError, TimeoutError, OSError."""
    scheme, _, rest = url.partition("://")
    end, head = time.monotonic() + seconds, b""
    request = f"{method} {scheme}://{rest.rpartition('@')[2]} RTSP/1.0\r\nCSeq: 1\r\n"
    connection.sendall(f"{request}Accept: application/sdp\r\n\r\n".encode())
    while b"\r\n" not in head and len(head) < MAX_HEAD_BYTES:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        received = connection.recv(MAX_HEAD_BYTES - len(head))
        if not received:
            raise CameraError(CameraErrorCode.EOF, "the server closed the connection without an answer")
        head += received
        if time.monotonic() > end:
            raise TimeoutError
    words = head.split(maxsplit=2)
    if not head.startswith(b"RTSP/1.") or len(words) < 2 or not words[1].isdigit():
        raise CameraError(CameraErrorCode.REFUSED, "expected an RTSP response, got other data; see the port")
    return int(words[1])
