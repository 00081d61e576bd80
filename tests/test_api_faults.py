"""Killed and stuck processes: no request hangs, no slot leaks, and the service recovers."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from conftest import START_SECONDS, RunningService

DEMO_SLOTS = 3
"""Slots that the demo camera uses at most."""
WIDTH, HEIGHT = 1600, 1200
FRAME = np.random.default_rng(1).integers(0, 90, (HEIGHT, WIDTH, 3), np.uint8).tobytes()


@pytest.fixture(scope="module")
def victim(open_service: Callable[..., RunningService]) -> RunningService:
    """A service with the demo source whose children may be killed: four times, or it makes pauses."""
    return open_service(demo=True)


@pytest.fixture(autouse=True)
def _ready(victim: RunningService) -> None:
    victim.wait_ready()


def send(service: RunningService, source: str) -> httpx.Response:
    """Post one large raw frame, which takes the worker long enough to be killed with it."""
    return service.client.post(
        f"/v1/sources/{source}/frames",
        content=FRAME,
        params={"format": "bgr24", "width": WIDTH, "height": HEIGHT, "features": "hog,lbp"},
        headers={"Content-Type": "application/octet-stream", "Accept": "image/png"},
    )


def alive(pid: int) -> bool:
    """Whether a process still runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)


def metric(service: RunningService, series: str) -> float:
    """The value of one series; 0 when it is not there."""
    for line in service.client.get("/metrics").text.splitlines():
        if line.startswith(f"lumaflow_{series} "):
            return float(line.split()[-1])
    return 0.0


def in_flight(service: RunningService, source: str, pool: ThreadPoolExecutor) -> list[Future[httpx.Response]]:
    """Three frames on their way, the first of them in the worker."""
    answers = [pool.submit(send, service, source) for _ in range(3)]
    wait_until(lambda: service.client.get(f"/v1/sources/{source}").json()["queue_depth"] > 0, 5)
    time.sleep(0.05)
    return answers


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_killed_worker_fails_its_jobs_and_restarts(victim: RunningService, number: int) -> None:
    source = f"killed-by-{number}"
    assert [send(victim, source).headers["X-Lumaflow-Lut"] for _ in range(2)] == ["own", "previous"]
    worker = victim.worker
    with ThreadPoolExecutor(3) as pool:
        answers = in_flight(victim, source, pool)
        os.kill(worker, number)
        wait_until(lambda: victim.client.get("/readyz").status_code == 503, 1)
        assert victim.client.get("/livez").status_code == 200
        statuses = [answer.result(10).status_code for answer in answers]
    assert 503 in statuses
    assert set(statuses) <= {200, 503}
    victim.wait_ready(20)
    assert victim.worker != worker
    answer = send(victim, source)
    assert (answer.status_code, answer.headers["X-Lumaflow-Lut"]) == (200, "own")
    assert int(answer.headers["X-Lumaflow-Frame"]) >= 2
    assert metric(victim, 'worker_restarts_total{device="cpu",reason="signal"}') >= 1
    wait_until(lambda: metric(victim, 'slots_in_use{device="cpu"}') <= DEMO_SLOTS, 5)


def test_stuck_worker_is_killed_and_its_frames_get_504(victim: RunningService) -> None:
    send(victim, "gate")
    worker = victim.worker
    os.kill(worker, signal.SIGSTOP)
    started = time.monotonic()
    answer = send(victim, "gate")
    assert answer.status_code == 504
    assert time.monotonic() - started < 10
    assert not alive(worker)
    victim.wait_ready(20)
    assert send(victim, "gate").headers["X-Lumaflow-Lut"] == "own"


def test_demo_source_exists_and_its_process_restarts(victim: RunningService) -> None:
    def state() -> dict[str, object]:
        return victim.client.get("/v1/sources/demo").json()

    wait_until(lambda: int(str(state()["frames"])) > 5, START_SECONDS)
    assert state()["state"] == "live"
    assert {**state()["geometry"], "width": 640, "height": 360, "format": "i420"} == state()["geometry"]
    assert state()["camera"]["state"] == "live"  # type: ignore[index]
    assert set(state()["stage_seconds"]) >= {"hog", "lbp"}  # type: ignore[call-overload]
    (process,) = victim.children("lumaflow_service.camera")
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: victim.children("lumaflow_service.camera") not in ([], [process]), 10)
    before = int(str(state()["frames"]))
    wait_until(lambda: int(str(state()["frames"])) > before + 5, 20)


def test_memory_does_not_grow_over_many_frames(victim: RunningService) -> None:
    def resident() -> int:
        pids = [victim.process.pid, victim.worker]
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in pids)

    frame = bytes(range(256)) * 300
    query = {"format": "bgr24", "width": 160, "height": 160, "features": "hog,lbp,histogram"}
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/x-npz"}

    def send_many(number: int) -> None:
        for _ in range(number):
            answer = victim.client.post(
                "/v1/sources/flat/frames", content=frame, params=query, headers=headers
            )
            assert answer.status_code == 200

    send_many(100)
    before = resident()
    send_many(200)
    assert resident() - before < 12 << 20


def test_address_in_use_is_a_one_line_error(victim: RunningService) -> None:
    from lumaflow_service.api.server import listen
    from lumaflow_service.errors import AddressError

    port = victim.client.base_url.port
    assert port
    with pytest.raises(AddressError, match=rf"127\.0\.0\.1:{port} cannot be listened on .*give another"):
        listen("127.0.0.1", port)


def test_child_processes_end_when_the_api_process_is_killed(
    open_service: Callable[..., RunningService],
) -> None:
    victim = open_service(demo=True)
    victim.wait_ready()
    wait_until(lambda: bool(victim.children("lumaflow_service.camera")), START_SECONDS)
    children = [victim.worker, *victim.children("lumaflow_service.camera")]
    assert len(children) == 2
    victim.process.kill()
    wait_until(lambda: not any(map(alive, children)), 2)


def test_sigterm_ends_all_processes_with_status_0(open_service: Callable[..., RunningService]) -> None:
    victim = open_service(demo=True)
    victim.wait_ready()
    wait_until(lambda: bool(victim.children("lumaflow_service.camera")), START_SECONDS)
    children = [victim.worker, *victim.children("lumaflow_service.camera")]
    with victim.client.stream("GET", "/v1/sources/demo/live.mjpg") as viewer:
        parts = viewer.iter_raw()
        next(parts)
        victim.process.send_signal(signal.SIGTERM)
        for _ in parts:
            pass
    assert victim.process.wait(10) == 0
    assert not any(map(alive, children))
