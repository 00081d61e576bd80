"""Opens a camera, a file or a device with PyAV, within a deadline and with no other protocol or format."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer

from lumaflow_service.camera.packet_loss import enable_packet_loss_log
from lumaflow_service.camera.rtsp_preflight import check_rtsp_describe
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.config.url_policy import ResolvedUrl, UrlPolicy, resolve_address, url_with_address

OPEN_SECONDS = 5.0
ANALYZE_MICROSECONDS = "100000"
"""The RTSP server has described its streams. Without this limit FFmpeg also decodes seven frames of H.264 to
learn their order, which delays the first frame by 0.3 s at 25 frames per second.
"""
FILE_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,flv,gif,mjpeg,ogg,asf,ivf,obu,y4m,"
    "image2,png_pipe,jpeg_pipe"
)
"""Without playlist formats: a playlist can name other files and hosts."""
HTTP_FORMATS = "mpjpeg,mjpeg,jpeg_pipe,mpegts"
WHITELISTS = {
    "rtsp": "rtsp,rtp,udp,tcp",
    "rtsps": "rtsp,rtsps,rtp,srtp,udp,tcp,tls",
    "http": "http,tcp",
    "https": "https,http,tls,tcp",
    "file": "file",
}


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A URL to open, and how. `transport` (RTSP) is tcp, udp or auto."""

    target: ResolvedUrl
    policy: UrlPolicy
    transport: str = "tcp"
    verify_tls: bool = True


def open_container(
    request: OpenRequest, path: Path | None, attempt: int, watchdog: Watchdog
) -> InputContainer:
    """Open the target of a request; `path` is the file to open when the target is a file or folder.

    attempt : counts from 0; the transport `auto` is tcp at even attempts, udp at odd ones
    watchdog : its limit is the read timeout of the container

    Raises CameraError.
    """
    try:
        match request.target.scheme:
            case "file":
                return _open(str(path), watchdog, {"format_whitelist": FILE_FORMATS}, request)
            case "v4l2":
                return _open_device(request, watchdog)
            case "http" | "https":
                return _open_http(request, watchdog)
            case _:
                return _open_rtsp(request, attempt, watchdog)
    except (av.FFmpegError, ValueError) as error:
        raise CameraError(*describe_error(error, request.target.scheme)) from None


def _open_rtsp(request: OpenRequest, attempt: int, watchdog: Watchdog) -> InputContainer:
    enable_packet_loss_log()
    address = resolve_address(request.target, request.policy)
    transport = request.transport if request.transport != "auto" else ("tcp", "udp")[attempt % 2]
    options = {"rtsp_transport": transport, "analyzeduration": ANALYZE_MICROSECONDS, "fpsprobesize": "0"}
    with check_rtsp_describe(request.target, address, OPEN_SECONDS, request.verify_tls):
        return _open(url_with_address(request.target, address), watchdog, options | _tls(request), request)


def _open_http(request: OpenRequest, watchdog: Watchdog) -> InputContainer:
    address = resolve_address(request.target, request.policy)
    options = {
        "max_redirects": "0",
        "format_whitelist": HTTP_FORMATS,
        "analyzeduration": "0",
        "fpsprobesize": "0",
    }
    if request.target.scheme == "http":
        options["headers"] = f"Host: {request.target.host}:{request.target.port}\r\n"
    return _open(url_with_address(request.target, address), watchdog, options | _tls(request), request)


def _open_device(request: OpenRequest, watchdog: Watchdog) -> InputContainer:
    """Prefer Motion JPEG: USB carries raw frames of that size only at a few frames per second."""
    device = str(request.target.path)
    try:
        return _open(device, watchdog, {"input_format": "mjpeg"}, request, "v4l2")
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        return _open(device, watchdog, {}, request, "v4l2")


def _tls(request: OpenRequest) -> dict[str, str]:
    if request.target.scheme not in ("rtsps", "https"):
        return {}
    ca_file = ssl.get_default_verify_paths().cafile
    return {"tls_verify": "1" if request.verify_tls else "0"} | ({"ca_file": ca_file} if ca_file else {})


def _open(
    url: str, watchdog: Watchdog, options: dict[str, str], request: OpenRequest, container: str | None = None
) -> InputContainer:
    whitelist = WHITELISTS.get(request.target.scheme)
    options = options | ({"protocol_whitelist": whitelist} if whitelist else {})
    deadlines: Any = (OPEN_SECONDS, watchdog)
    with watchdog.limit_call(OPEN_SECONDS):
        return av.open(url, format=container, container_options=options, timeout=deadlines)


def describe_error(error: Exception, scheme: str) -> tuple[CameraErrorCode, str]:
    """Return the cause of a PyAV error, and a text without the URL that the error's own text contains."""
    match error:
        case av.HTTPUnauthorizedError() | av.HTTPForbiddenError():
            return CameraErrorCode.AUTH, "user or password is wrong; check the URL's credentials"
        case av.HTTPNotFoundError() | FileNotFoundError() | NotADirectoryError():
            return CameraErrorCode.NOT_FOUND, "nothing exists there; check the URL's path"
        case av.HTTPError():
            return CameraErrorCode.REFUSED, f"the server refuses: {error.strerror}"
        case PermissionError() if scheme in ("file", "v4l2"):
            return CameraErrorCode.REFUSED, "permission denied; check its owner and mode"
        case av.ExitError() | TimeoutError():
            return CameraErrorCode.TIMEOUT, f"no answer within {OPEN_SECONDS:g} s"
        case av.EOFError():
            return CameraErrorCode.EOF, "it ended before the first frame"
        case av.InvalidDataError():
            return CameraErrorCode.CORRUPT, "expected video, got other data; check the URL"
        case av.error.ProtocolNotFoundError():
            return (
                CameraErrorCode.CODEC,
                f"PyAV's FFmpeg was built without {scheme}; use another protocol",
            )
        case av.DecoderNotFoundError() | av.DemuxerNotFoundError() | NotImplementedError():
            return (
                CameraErrorCode.CODEC,
                "its format or codec is not supported; choose another at the camera",
            )
        case ConnectionError():
            return CameraErrorCode.REFUSED, f"no connection: {error.strerror}"
        case OSError() if scheme in ("rtsps", "https"):
            return (
                CameraErrorCode.TLS,
                "no secure connection; check the server's certificate, or set verify_tls: false",
            )
        case OSError():
            return CameraErrorCode.REFUSED, f"no connection: {error.strerror}"
    return CameraErrorCode.CORRUPT, "it cannot be read"
