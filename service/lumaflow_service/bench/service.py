"""`lumaflow bench service`: JPEG frames over HTTP, relative to a plain loop that does the same work."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from time import perf_counter

import cv2
import numpy as np

from lumaflow.backend import open_lane
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow_service.bench.figure import Figure, Limit
from lumaflow_service.bench.server import ServerError, ServiceProcess, run_service

IN_FLIGHT = (1, 2, 4)
ROUNDS = 6
WARM_UP = 10
GOAL = 0.7
QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 90]  # the default of the service

PATH = "/v1/sources/bench/frames"
HEADERS = {"Content-Type": "image/jpeg", "Accept": "image/jpeg"}


@dataclass
class LoadCount:
    """Rates and latencies of several rounds."""

    frames_per_second: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def add(self, latencies: Sequence[float], seconds: float) -> None:
        """Add one round: the seconds of each frame, and of the whole round."""
        self.frames_per_second.append(len(latencies) / seconds)
        self.latencies.extend(latencies)


@dataclass
class LoadCounts:
    """The plain loop, the service by number of requests in flight, and its memory after each round."""

    plain_loop: LoadCount = field(default_factory=LoadCount)
    served: dict[int, LoadCount] = field(
        default_factory=lambda: {number: LoadCount() for number in IN_FLIGHT}
    )
    memory: list[tuple[int, int]] = field(default_factory=list)


def measure_service(
    device: str, geometry: Geometry, images: Sequence[bytes], frames: int
) -> Iterator[Figure]:
    """Yield the figures of `frames` frames with each method; rounds of the methods alternate.

    images : JPEG files of size `geometry`, sent in turn
    Raises ServerError if the service does not start or rejects a frame.
    """
    each = max(frames // ROUNDS, max(IN_FLIGHT))
    with run_service(device) as server, open_lane(device, geometry) as lane:
        counts = _rounds(server, lane, images, each)
    subject = f"{geometry.width}x{geometry.height} JPEG on {lane.device}"
    yield from speed_figures(subject, counts)
    yield from memory_figures(subject, counts.memory, frames=(ROUNDS - 1) * each * len(IN_FLIGHT))


def _rounds(server: ServiceProcess, lane: Lane, images: Sequence[bytes], each: int) -> LoadCounts:
    counts = LoadCounts()
    _plain_loop(lane, images, WARM_UP)
    send_frames(server, images, WARM_UP, in_flight=1)
    for _ in range(ROUNDS):
        counts.plain_loop.add(*_plain_loop(lane, images, each))
        for in_flight, count in counts.served.items():
            count.add(*send_frames(server, images, each, in_flight))
        counts.memory.append(server.rss_bytes())
    return counts


def _plain_loop(lane: Lane, images: Sequence[bytes], frames: int) -> tuple[list[float], float]:
    latencies = []
    for index in range(frames):
        start = perf_counter()
        pixels = cv2.imdecode(np.frombuffer(images[index % len(images)], np.uint8), cv2.IMREAD_COLOR)
        lane.submit(Frame(np.asarray(pixels, np.uint8), lane.geometry.pixel_format))
        cv2.imencode(".jpg", lane.collect().frame.pixels, QUALITY)
        latencies.append(perf_counter() - start)
    return latencies, sum(latencies)


def send_frames(
    server: ServiceProcess, images: Sequence[bytes], frames: int, in_flight: int
) -> tuple[list[float], float]:
    """Send `frames` frames over `in_flight` connections. Returns the seconds of each frame, and of all."""
    shares = [range(first, frames, in_flight) for first in range(in_flight)]
    with ExitStack() as stack, ThreadPoolExecutor(in_flight) as clients:
        connections = [stack.enter_context(closing(server.connect())) for _ in shares]
        start = perf_counter()
        headers = HEADERS | server.headers
        sent = clients.map(
            lambda connection, share: _send(connection, headers, images, share), connections, shares
        )
        latencies = [seconds for client in sent for seconds in client]
        total = perf_counter() - start
    return latencies, total


def _send(
    connection: HTTPConnection, headers: dict[str, str], images: Sequence[bytes], share: Sequence[int]
) -> list[float]:
    latencies = []
    for index in share:
        start = perf_counter()
        connection.request("POST", PATH, images[index % len(images)], headers)
        response = connection.getresponse()
        body = response.read()
        latencies.append(perf_counter() - start)
        if response.status != 200:
            raise ServerError(f"the service answered {response.status}: {body[:500]!r}")
    return latencies


def speed_figures(subject: str, counts: LoadCounts) -> Iterator[Figure]:
    """Yield rates and latencies; the rates of the service are relative to the plain loop."""
    plain_loop = Figure.of(subject, "bare loop", "frames/s", counts.plain_loop.frames_per_second)
    yield plain_loop
    limit = Limit("bare loop", plain_loop.median, GOAL)
    for in_flight, count in counts.served.items():
        name = f"{in_flight} in flight"
        yield Figure.of(subject, name, "frames/s", count.frames_per_second, limit)
        yield Figure.of(subject, f"{name}: latency", "s", count.latencies)
        yield Figure(subject, f"{name}: latency, p99", "s", float(np.percentile(count.latencies, 99)))


def memory_figures(subject: str, memory: Sequence[tuple[int, int]], frames: int) -> Iterator[Figure]:
    """Yield the resident memory of API and worker after each round, and its growth from first to last."""
    for process, rss in zip(("API", "worker"), zip(*memory, strict=True), strict=True):
        yield Figure.of(subject, f"{process} resident", "bytes", rss)
        yield Figure(subject, f"{process} growth, {frames} frames", "bytes", float(rss[-1] - rss[0]))
