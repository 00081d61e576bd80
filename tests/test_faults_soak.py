"""An hour under load: nothing may grow. `LUMAFLOW_SOAK_SECONDS` makes it shorter, its bars as much wider."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest

from cameras import rtsp_server
from conftest import RunningService
from lumaflow_service.media.codec import encode_jpeg
from make_video import dim_frame
from test_faults_cameras import open_files, wait_until, zombies

SECONDS = int(os.environ.get("LUMAFLOW_SOAK_SECONDS", "3600"))
KB_PER_HOUR = 1024 * max(1.0, 3600 / SECONDS)
"""Growth of resident memory over the second half that is reported as a leak."""
CLIENTS, UPLOADS_PER_SECOND = 4, 30.0
"""Beside the camera, these keep two cores about 70 % busy."""
BLOCK = 25
"""Samples; several segments of a recording begin meanwhile."""
LEAK = """
import sys, time
kept, rate = [], float(sys.argv[1])
while True:
    kept.append(bytearray(b"x" * 4096))
    time.sleep(4 / rate)
"""
"""A process that keeps so many KB a second."""


@dataclass(slots=True)
class Samples:
    """What all processes of a service held, about every second; `leaking` beside it holds more and more."""

    seconds: list[float] = field(default_factory=list)
    kb: list[int] = field(default_factory=list)
    leaking_kb: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)


@pytest.mark.faults
def test_an_hour_of_cameras_outputs_and_clients_leaks_nothing(
    tmp_path: Path, open_service: Callable[..., RunningService]
) -> None:
    with rtsp_server(["/live=live:1280x720@25"]) as server:
        file = tmp_path / "cameras.yaml"
        file.write_text(
            f"networks: [127.0.0.0/8]\nsources:\n  gate:\n    url: '{server.url('live')}'\n    outputs:\n"
            "      - record: {path: r, segment_seconds: 10, keep_days: 0.0005, keep_free_gb: 0}\n"
            "      - snapshot: {path: s, every_seconds: 1, keep_days: 0.0005, keep_free_gb: 0}\n"
        )
        service = open_service(config=file)
        service.wait_ready()
        wait_until(lambda: metric(service, 'frames_total{outcome="ok",source="gate"}') > 0)
        with uploading_clients(service), leaking_process(2 * KB_PER_HOUR / 3600) as leaking:
            samples = sample_processes(service, leaking)
        frames = metric(service, 'frames_total{outcome="ok",source="gate"}')
        assert metric(service, 'frames_total{outcome="ok",source="client0"}') > 0.5 * SECONDS
        assert not zombies(service.process.pid)
    print_report(samples, frames)
    assert frames > 10 * SECONDS  # on a machine that has other work, too
    slope, control = slopes(samples)
    assert slope < KB_PER_HOUR < slope + control
    for counts, most in ((samples.files, 4), (samples.threads, 2), (samples.slots, 8)):
        half = counts[len(counts) // 2 :]
        assert max(half) <= max(counts[: len(counts) // 2]) + most


def sample_processes(service: RunningService, leaking: int) -> Samples:
    """A sample about every second, for as long as the soak lasts."""
    samples, began = Samples(), time.monotonic()
    pids = [service.process.pid, service.worker, *service.children("lumaflow_service.camera")]
    while not samples.seconds or samples.seconds[-1] < SECONDS:
        time.sleep(1)
        samples.seconds.append(time.monotonic() - began)
        samples.kb.append(sum(map(private_kb, pids)))
        samples.leaking_kb.append(private_kb(leaking))
        samples.files.append(sum(map(open_files, pids)))
        samples.threads.append(sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids))
        samples.slots.append(round(metric(service, 'slots_in_use{device="cpu"}')))
        if len(samples.kb) % 10 == 0:
            each = ", ".join(f"{private_kb(pid)}" for pid in pids)
            print(
                f"{samples.seconds[-1]:.0f} s: {samples.kb[-1]} KB ({each}), {samples.files[-1]} files",
                flush=True,
            )
    return samples


def print_report(samples: Samples, frames: float) -> None:
    """Say what was seen."""
    slope, control = slopes(samples)
    print(
        f"soak of {SECONDS} s: {frames:.0f} frames, {samples.kb[0]} .. {samples.kb[-1]} KB,"
        f" {slope:.0f} KB an hour at last (bar {KB_PER_HOUR:.0f}; the leak {control:.0f}),"
        f" files {samples.files[-1]}, threads {samples.threads[-1]}"
    )


@contextmanager
def uploading_clients(service: RunningService) -> Iterator[None]:
    """Clients that send JPEGs meanwhile, so that cameras are not alone."""
    ended = threading.Event()
    body = encode_jpeg(dim_frame(0, (1920, 1080)))

    def send(name: str) -> None:
        with httpx.Client(base_url=service.client.base_url, timeout=30) as client:
            while not ended.wait(1 / UPLOADS_PER_SECOND):
                client.post(
                    f"/v1/sources/{name}/frames", content=body, headers={"VideoContent-Type": "image/jpeg"}
                )

    threads = [threading.Thread(target=send, args=(f"client{number}",)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@contextmanager
def leaking_process(kb_per_second: float) -> Iterator[int]:
    """A process that leaks: what is sample_processes must be seen to grow with it."""
    process = subprocess.Popen([sys.executable, "-c", LEAK, str(kb_per_second)])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def private_kb(pid: int) -> int:
    """Resident memory of a process without the slots, which all share, and which never grow."""
    _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGESIZE") // 1024


def metric(service: RunningService, series: str) -> float:
    """The value of one series; 0 when it is not there."""
    for line in service.client.get("/metrics").text.splitlines():
        if line.startswith(f"lumaflow_{series} "):
            return float(line.split()[-1])
    return 0.0


def slopes(samples: Samples) -> tuple[float, float]:
    """KB an hour by which the service grew, and the leak."""
    return kb_per_hour(samples.seconds, samples.kb), kb_per_hour(samples.seconds, samples.leaking_kb)


def kb_per_hour(seconds: list[float], kb: list[int]) -> float:
    """Slope of the second half of the samples, by the medians of blocks: an encoder comes and goes."""
    half = len(kb) // 2
    blocks = [slice(start, start + BLOCK) for start in range(half, len(kb) - BLOCK + 1, BLOCK)]
    times, levels = ([float(np.median(one[block])) for block in blocks] for one in (seconds, kb))
    return float(np.polyfit(times, levels, 1)[0] * 3600)


def test_a_leak_of_two_megabytes_per_hour_is_detected_and_noise_is_not(rng: np.random.Generator) -> None:
    noise, seconds = rng.normal(0, 200, 3600), list(range(3600))
    assert abs(kb_per_hour(seconds, (100_000 + noise).astype(int).tolist())) < 1024
    leaking = 100_000 + noise + np.arange(3600) * 2048 / 3600
    assert kb_per_hour(seconds, leaking.astype(int).tolist()) > 1024
