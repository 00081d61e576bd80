"""Opening a camera, a file or a device with PyAV: only what was asked for, within a deadline."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer

from lumaflow_service.camera.packet_loss import monitor_packet_loss
from lumaflow_service.camera.rtsp_preflight import check_rtsp_describe
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.config.url_policy import ResolvedUrl, UrlPolicy, pin, pinned_url

OPEN_SECONDS = 5.0
ANALYZE_MICROSECONDS = "100000"
"""An RTSP server has described its streams; without a limit FFmpeg decodes seven frames of H.264 on top,
only to learn about its order: 0.3 s at 25 frames a second, before the first picture goes on.
"""
FILE_FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,flv,gif,mjpeg,ogg,asf,ivf,obu,y4m,"
    "image2,png_pipe,jpeg_pipe"
)
"""No playlist is among them: it could name another file or host."""
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
    """How to open what a URL names."""

    target: ResolvedUrl
    policy: UrlPolicy
    transport: str = "tcp"
    verify_tls: bool = True


def open_container(how: OpenRequest, path: Path | None, attempt: int, patience: Watchdog) -> InputContainer:
    """Open the target, or one file `path` of it. Raises CameraError.

    `attempt` counts from 0: the transport `auto` is tcp at even ones, udp at odd ones.
    """
    try:
        match how.target.scheme:
            case "file":
                return _open(str(path), patience, {"format_whitelist": FILE_FORMATS}, how)
            case "v4l2":
                return _open_device(how, patience)
            case "http" | "https":
                return _open_http(how, patience)
            case _:
                return _open_rtsp(how, attempt, patience)
    except (av.FFmpegError, ValueError) as error:
        raise CameraError(*explain(error, how.target.scheme)) from None


def _open_rtsp(how: OpenRequest, attempt: int, patience: Watchdog) -> InputContainer:
    monitor_packet_loss()
    address = pin(how.target, how.policy)
    transport = how.transport if how.transport != "auto" else ("tcp", "udp")[attempt % 2]
    options = {"rtsp_transport": transport, "analyzeduration": ANALYZE_MICROSECONDS, "fpsprobesize": "0"}
    with check_rtsp_describe(how.target, address, OPEN_SECONDS, how.verify_tls):
        return _open(pinned_url(how.target, address), patience, options | _tls(how), how)


def _open_http(how: OpenRequest, patience: Watchdog) -> InputContainer:
    address = pin(how.target, how.policy)
    options = {
        "max_redirects": "0",
        "format_whitelist": HTTP_FORMATS,
        "analyzeduration": "0",
        "fpsprobesize": "0",
    }
    if how.target.scheme == "http":
        options["headers"] = f"Host: {how.target.host}:{how.target.port}\r\n"
    return _open(pinned_url(how.target, address), patience, options | _tls(how), how)


def _open_device(how: OpenRequest, patience: Watchdog) -> InputContainer:
    """Motion JPEG first: over USB raw pixels of that size come at a few frames a second."""
    device = str(how.target.path)
    try:
        return _open(device, patience, {"input_format": "mjpeg"}, how, "v4l2")
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        return _open(device, patience, {}, how, "v4l2")


def _tls(how: OpenRequest) -> dict[str, str]:
    if how.target.scheme not in ("rtsps", "https"):
        return {}
    authorities = ssl.get_default_verify_paths().cafile
    return {"tls_verify": "1" if how.verify_tls else "0"} | ({"ca_file": authorities} if authorities else {})


def _open(
    url: str, patience: Watchdog, options: dict[str, str], how: OpenRequest, container: str | None = None
) -> InputContainer:
    whitelist = WHITELISTS.get(how.target.scheme)
    options = options | ({"protocol_whitelist": whitelist} if whitelist else {})
    deadlines: Any = (OPEN_SECONDS, patience)
    with patience.waiting(OPEN_SECONDS):
        return av.open(url, format=container, container_options=options, timeout=deadlines)


def explain(error: Exception, scheme: str) -> tuple[CameraErrorCode, str]:
    """The cause of a failed opening, and a sentence; the error's own text has the URL in it."""
    match error:
        case av.HTTPUnauthorizedError() | av.HTTPForbiddenError():
            return CameraErrorCode.AUTH, "user or password is wrong; see the URL's credentials"
        case av.HTTPNotFoundError() | FileNotFoundError() | NotADirectoryError():
            return CameraErrorCode.NOT_FOUND, "nothing is there; see the URL's path"
        case av.HTTPError():
            return CameraErrorCode.REFUSED, f"the server refuses: {error.strerror}"
        case PermissionError() if scheme in ("file", "v4l2"):
            return CameraErrorCode.REFUSED, "reading it is not permitted; see its owner and mode"
        case av.ExitError() | TimeoutError():
            return CameraErrorCode.TIMEOUT, f"no answer within {OPEN_SECONDS:g} s"
        case av.EOFError():
            return CameraErrorCode.EOF, "it ended before the first picture"
        case av.InvalidDataError():
            return CameraErrorCode.CORRUPT, "what is there is not video that can be read"
        case av.error.ProtocolNotFoundError():
            return (
                CameraErrorCode.CODEC,
                f"the FFmpeg inside PyAV was built without {scheme}; take another protocol",
            )
        case av.DecoderNotFoundError() | av.DemuxerNotFoundError() | NotImplementedError():
            return (
                CameraErrorCode.CODEC,
                "its format or codec is not known here; choose another at the camera",
            )
        case ConnectionError():
            return CameraErrorCode.REFUSED, f"no connection: {error.strerror}"
        case OSError() if scheme in ("rtsps", "https"):
            return (
                CameraErrorCode.TLS,
                "no secure connection; see the server's certificate, or set verify_tls: false",
            )
        case OSError():
            return CameraErrorCode.REFUSED, f"no connection: {error.strerror}"
    return CameraErrorCode.CORRUPT, "what is there cannot be read"
