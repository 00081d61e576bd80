"""What is this stream: `lumaflow probe URL` opens it, reads a few seconds, and says what came."""

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

EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))
RANGES = {0: "not said", 1: "limited", 2: "full"}
MOST_FRAMES = 500
NO_TIMESTAMPS = 0x80
"""FFmpeg's AVFMT_NOTIMESTAMPS: a container without times, as JPEG after JPEG over HTTP."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a stream turned out to be; times in seconds, rates in frames a second."""

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


def probe(url: str, seconds: float, transport: str = "tcp", verify_tls: bool = True) -> Finding:
    """Read a stream for this long. Raises UrlError, also for a file that is no video, and CameraError.

    Whoever types a URL may open any address and any file; ${NAME} comes from the environment.
    """
    policy = UrlPolicy(EVERYWHERE, (Path.cwd(), Path("/")))
    target = check_url(expand(url if "://" in url or ":" in url else f"file:{url}", os.environ), policy)
    shown = redact_urls(url)
    if target.path is not None and target.path.is_dir():
        raise UrlError(f"{shown} is a folder; name one of its files")
    try:
        return _read(shown, OpenRequest(target, policy, transport, verify_tls), seconds)
    except CameraError as error:
        if target.scheme == "file":  # a mistake: whoever types its name can see what it is
            raise UrlError(f"{shown}: {error}") from error
        raise CameraError(error.cause, f"{shown}: {error}") from error


def _read(shown: str, opening: OpenRequest, seconds: float) -> Finding:
    started, watchdog = time.monotonic(), Watchdog()
    with open_container(opening, opening.target.path, 0, watchdog) as container:
        watchdog.begin()
        live = opening.target.scheme != "file"
        feed = FrameReader(container, watchdog, deinterlace=False, live=live)
        return _finding(shown, feed, watchdog, started, seconds, live)


def _finding(
    url: str, feed: FrameReader, watchdog: Watchdog, started: float, seconds: float, live: bool
) -> Finding:
    """Read for so many seconds.

    Where a stream has no times FFmpeg makes them up, 25 frames a second: there arrivals count, if `live`.
    """
    times: list[float | None] = []
    keys: list[float | None] = []
    timed = not feed.container.format.flags & NO_TIMESTAMPS
    corrupt, first, frame, end = 0, 0.0, None, started + seconds
    for picture in feed.frames(_ignore):
        now = time.monotonic()
        watchdog.frame(now)
        first = first or now - started
        frame, corrupt = frame or picture.frame, corrupt + picture.corrupt
        times.append(picture.frame.time if timed else picture.arrived if live else None)
        keys += times[-1:] if picture.frame.key_frame else []
        if now > end or len(times) >= MOST_FRAMES:
            break
    if frame is None:
        raise CameraError(CameraErrorCode.CORRUPT, "no picture in it can be decoded")
    context = feed.video.codec_context
    interval, key_interval = (_usual(some) if timed else _mean(some) for some in (times, keys))
    return Finding(
        url,
        context.name,
        str(context.profile or ""),
        frame.width,
        frame.height,
        frame.format.name,
        RANGES.get(int(frame.color_range), "not said"),
        bool(frame.interlaced_frame),
        len(times),
        corrupt + feed.decoder.damaged,
        round(1 / interval, 2) if interval else None,
        round(key_interval, 2) if key_interval else None,
        round(first, 3),
        feed.audio.codec_context.name if feed.audio is not None else "none",
        corrupt == 0,
    )


def _ignore(packet: AnyPacket) -> None:
    """Sound is not looked at."""


def _usual(times: list[float | None]) -> float | None:
    """The interval of pictures that have times: the median, whatever was lost."""
    known = [time for time in times if time is not None]
    steps = [b - a for a, b in pairwise(known) if b > a]
    return median(steps) if steps else None


def _mean(times: list[float | None]) -> float | None:
    """The interval of pictures by their arrival: the mean, for networks deliver in fits and starts."""
    known = [time for time in times if time is not None]
    return (known[-1] - known[0]) / (len(known) - 1) if len(known) > 1 else None


def as_lines(finding: Finding) -> Iterator[str]:
    """The finding for a person."""
    facts: dict[str, Any] = asdict(finding)
    size = f"{facts.pop('width')}x{facts.pop('height')}"
    yield facts.pop("url")
    yield f"  size                 {size}"
    for name, value in facts.items():
        yield f"  {name.replace('_', ' '):20s} {_shown(value)}"


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
