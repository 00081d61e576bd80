"""`lumaflow probe URL`: open a stream, read it for a few seconds, and describe it."""

import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.open_container import OpenRequest, open_container
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode, UrlError
from lumaflow_service.config.url_policy import UrlPolicy, check_url, expand
from lumaflow_service.media.video.reader import AnyPacket
from lumaflow_service.redact import redact_urls

ALL_NETWORKS = (ip_network("0.0.0.0/0"), ip_network("::/0"))
UNKNOWN_RANGE = "not said"
RANGES = {0: UNKNOWN_RANGE, 1: "limited", 2: "full"}
MAX_FRAMES = 500
NO_TIMESTAMPS = 0x80
"""FFmpeg's AVFMT_NOTIMESTAMPS: a format without times, for example JPEG images over HTTP."""


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """The properties of a stream. Times are in seconds, rates in frames per second."""

    url: str
    codec: str
    profile: str
    width: int
    height: int
    pixel_format: str
    range: str
    interlaced: bool
    frames: int
    corrupt: int
    frames_per_second: float | None
    key_frame_seconds: float | None
    first_frame_seconds: float
    sound: str
    decodes: bool


def probe(url: str, seconds: float, transport: str = "tcp", verify_tls: bool = True) -> StreamInfo:
    """Read a stream for `seconds`. Any address and file may be opened; ${NAME} is read from the environment.

    Raises UrlError, also for a file that is not a video, and CameraError.
    """
    policy = UrlPolicy(ALL_NETWORKS, (Path.cwd(), Path("/")))
    target = check_url(expand(url if "://" in url or ":" in url else f"file:{url}", os.environ), policy)
    redacted = redact_urls(url)
    if target.path is not None and target.path.is_dir():
        raise UrlError(f"{redacted} is a folder; name one of its files")
    try:
        return _read(redacted, OpenRequest(target, policy, transport, verify_tls), seconds)
    except CameraError as error:
        if target.scheme == "file":  # an argument error: exit status 2
            raise UrlError(f"{redacted}: {error}") from error
        raise CameraError(error.cause, f"{redacted}: {error}") from error


def _read(url: str, request: OpenRequest, seconds: float) -> StreamInfo:
    started, watchdog = time.monotonic(), Watchdog()
    with open_container(request, request.target.path, 0, watchdog) as container:
        watchdog.connected()
        live = request.target.scheme != "file"
        reader = FrameReader(container, watchdog, deinterlace=False, live=live)
        return _measure(url, reader, watchdog, started, seconds, live)


def _measure(
    url: str, reader: FrameReader, watchdog: Watchdog, started: float, seconds: float, live: bool
) -> StreamInfo:
    """Read for `seconds` and describe the stream.

    For a format without times FFmpeg invents 25 frames per second; a live one is measured by arrival instead.
    """
    times: list[float | None] = []
    key_times: list[float | None] = []
    has_times = not reader.container.format.flags & NO_TIMESTAMPS
    corrupt, first_seconds, first, end = 0, 0.0, None, started + seconds
    for decoded in reader.frames(_ignore_audio):
        now = time.monotonic()
        watchdog.frame(now)
        first_seconds = first_seconds or now - started
        first, corrupt = first or decoded.frame, corrupt + decoded.corrupt
        times.append(decoded.frame.time if has_times else decoded.arrived if live else None)
        key_times += times[-1:] if decoded.frame.key_frame else []
        if now > end or len(times) >= MAX_FRAMES:
            break
    if first is None:
        raise CameraError(CameraErrorCode.CORRUPT, "no frame in it can be decoded")
    context = reader.video.codec_context
    interval, key_interval = (
        _median_interval(some) if has_times else _mean_interval(some) for some in (times, key_times)
    )
    return StreamInfo(
        url,
        context.name,
        str(context.profile or ""),
        first.width,
        first.height,
        first.format.name,
        RANGES.get(int(first.color_range), UNKNOWN_RANGE),
        bool(first.interlaced_frame),
        len(times),
        corrupt + reader.decoder.damaged,
        round(1 / interval, 2) if interval else None,
        round(key_interval, 2) if key_interval else None,
        round(first_seconds, 3),
        reader.audio.codec_context.name if reader.audio is not None else "none",
        corrupt == 0,
    )


def _ignore_audio(packet: AnyPacket) -> None:
    """Audio packets are not measured."""


def _median_interval(times: list[float | None]) -> float | None:
    """For times in the stream: lost frames do not change the median."""
    known = [time for time in times if time is not None]
    intervals = [b - a for a, b in pairwise(known) if b > a]
    return median(intervals) if intervals else None


def _mean_interval(times: list[float | None]) -> float | None:
    """For arrival times: a network delivers frames in bursts."""
    known = [time for time in times if time is not None]
    return (known[-1] - known[0]) / (len(known) - 1) if len(known) > 1 else None


def as_lines(info: StreamInfo) -> Iterator[str]:
    """Format the properties as lines of text."""
    values: dict[str, Any] = asdict(info)
    size = f"{values.pop('width')}x{values.pop('height')}"
    yield values.pop("url")
    yield f"  size                 {size}"
    for name, value in values.items():
        yield f"  {name.replace('_', ' '):20s} {_as_text(value)}"


def _as_text(value: Any) -> str:
    if value is None:
        return "unknown"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
