"""Long runs of cameras: hundreds of restarts that must leave nothing behind."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import av
import pytest

from cameras import make_clips, rtsp_server, running
from conftest import RunningService
from films import make_film
from lumaflow_service.camera import backoff
from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.malloc_arenas import limit_malloc_arenas
from lumaflow_service.camera.watchdog import Watchdog
from proxy import proxy_process

RESTARTS = 200
SLOPE_KB = 50
"""Growth of resident memory a restart, over the second half."""


def resident_kb(pid: int | str = "self") -> int:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def open_files(pid: int | str = "self") -> int:
    """How many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def zombies(pid: int) -> list[str]:
    """Children of a process that ended and were not waited for."""
    stats = [(path / "stat") for path in Path("/proc").glob("[0-9]*")]
    found = []
    for stat in stats:
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == pid:
            found.append(str(stat))
    return found


@pytest.mark.faults
def test_two_hundred_reconnections_leave_no_file_no_thread_and_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconnect(tmp_path, monkeypatch, RESTARTS)


def test_twenty_reconnections_leave_no_file_and_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconnect(tmp_path, monkeypatch, 20, slope_kb=2000)


def reconnect(folder: Path, monkeypatch: pytest.MonkeyPatch, times: int, slope_kb: float = SLOPE_KB) -> None:
    """Drop a camera's connection so often; what is left of each must be nothing."""
    limit_malloc_arenas()
    monkeypatch.setattr(backoff.Backoff, "wait_seconds", lambda _: 0.01)
    with rtsp_server(make_clips(folder, 30)) as server, proxy_process(server.port) as (port, drop):
        figures = []
        with running(server.url("h264", port=port)) as run:
            for _ in range(times):
                run.until_shots(2, 20)
                drop()
                run.shots.clear()
                figures.append((open_files(), threading.active_count(), resident_kb()))
    half = figures[times // 2 :]
    slope = (half[-1][2] - half[0][2]) / len(half)
    print(f"{times} connections: files {figures[0][0]} .. {figures[-1][0]}, {slope:.1f} KB each at last")
    assert half[-1][0] - half[0][0] <= 2
    assert half[-1][1] - half[0][1] <= 2
    assert slope < slope_kb


def test_thousands_of_packets_leave_no_memory(tmp_path: Path) -> None:
    limit_malloc_arenas()
    film = make_film(tmp_path / "a.mp4", 500)
    figures = []
    for _ in range(40):
        with av.open(film) as container:
            feed = FrameReader(container, Watchdog(), deinterlace=False, live=False)
            assert sum(1 for _ in feed.frames(lambda packet: None)) == 500
        figures.append(resident_kb())
    print(f"20000 packets: {figures[0]} .. {figures[10]} .. {figures[-1]} KB")
    assert figures[-1] - figures[10] < 1000


@pytest.mark.faults
def test_two_hundred_new_processes_leave_nothing_in_the_service(
    tmp_path: Path, open_service: Callable[..., RunningService]
) -> None:
    renew(tmp_path, open_service, RESTARTS)


def test_five_new_processes_leave_no_file_and_no_zombie(
    tmp_path: Path, open_service: Callable[..., RunningService]
) -> None:
    renew(tmp_path, open_service, 5, slope_kb=5000)


def renew(
    folder: Path, open_service: Callable[..., RunningService], times: int, slope_kb: float = SLOPE_KB
) -> None:
    """Restart a camera so often, every fifth time by killing it."""
    with rtsp_server(["/live=live:160x120@25"]) as server:
        file = folder / "cameras.yaml"
        file.write_text(f"networks: [127.0.0.0/8]\nsources:\n  gate: {{url: '{server.url('live')}'}}\n")
        service = open_service(config=file)
        service.wait_ready()
        wait_until(lambda: frames_of(service) > 0)
        figures = []
        for number in range(times):
            (before,) = service.children("lumaflow_service.camera")
            if number % 5 == 4:
                os.kill(before, signal.SIGKILL)
            else:
                service.client.post("/v1/sources/gate/restart").raise_for_status()
            wait_until(lambda: service.children("lumaflow_service.camera") not in ([], [before]))  # noqa: B023
            frames = frames_of(service)
            wait_until(lambda: frames_of(service) > frames)  # noqa: B023
            pid = service.process.pid
            figures.append((open_files(pid), resident_kb(pid)))
            assert len(service.children("lumaflow_service.camera")) == 1
            assert not zombies(pid)
    half = figures[times // 2 :]
    slope = (half[-1][1] - half[0][1]) / len(half)
    print(f"{times} processes: files {figures[0][0]} .. {figures[-1][0]}, {slope:.1f} KB each at last")
    assert abs(half[-1][0] - half[0][0]) <= 2
    assert slope < slope_kb


def frames_of(service: RunningService) -> int:
    """How many frames of the camera were enhanced."""
    return int(service.client.get("/v1/sources/gate").json()["frames"])


def wait_until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
