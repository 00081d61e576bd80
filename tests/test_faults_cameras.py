"""Long runs of cameras: hundreds of reconnects and restarts must not leak anything."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import av
import pytest

from cameras import make_clips, rtsp_server, running_camera
from conftest import RunningService
from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.malloc_arenas import limit_malloc_arenas
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.ipc import backoff
from make_video import make_video
from proxy import proxy_process

RESTARTS = 200
SLOPE_KB = 50
"""Allowed growth of resident memory per restart, over the second half."""


def resident_kb(pid: int | str = "self") -> int:
    """Resident memory of a process in KB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def open_files(pid: int | str = "self") -> int:
    """Number of open files of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def zombies(pid: int) -> list[str]:
    """Children of a process that have exited and were not waited for."""
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
def test_two_hundred_reconnects_leak_no_file_no_thread_and_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconnect(tmp_path, monkeypatch, RESTARTS)


def test_twenty_reconnects_leak_no_file_and_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reconnect(tmp_path, monkeypatch, 20, slope_kb=2000)


def reconnect(folder: Path, monkeypatch: pytest.MonkeyPatch, times: int, slope_kb: float = SLOPE_KB) -> None:
    """Drop the connection of a camera `times` times; check files, threads and memory."""
    limit_malloc_arenas()
    monkeypatch.setattr(backoff.Backoff, "wait_seconds", lambda _: 0.01)
    with rtsp_server(make_clips(folder, 30)) as server, proxy_process(server.port) as (port, drop):
        samples = []
        with running_camera(server.url("h264", port=port)) as run:
            for _ in range(times):
                run.wait_for_frames(2, 20)
                drop()
                run.frames.clear()
                samples.append((open_files(), threading.active_count(), resident_kb()))
    half = samples[times // 2 :]
    slope = (half[-1][2] - half[0][2]) / len(half)
    print(f"{times} connections: files {samples[0][0]} .. {samples[-1][0]}, {slope:.1f} KB each at last")
    assert half[-1][0] - half[0][0] <= 2
    assert half[-1][1] - half[0][1] <= 2
    assert slope < slope_kb


def test_thousands_of_packets_leak_no_memory(tmp_path: Path) -> None:
    limit_malloc_arenas()
    video = make_video(tmp_path / "a.mp4", 500)
    samples = []
    for _ in range(40):
        with av.open(video) as container:
            reader = FrameReader(container, Watchdog(), deinterlace=False, live=False)
            assert sum(1 for _ in reader.frames(lambda packet: None)) == 500
        samples.append(resident_kb())
    print(f"20000 packets: {samples[0]} .. {samples[10]} .. {samples[-1]} KB")
    assert samples[-1] - samples[10] < 1000


@pytest.mark.faults
def test_two_hundred_process_restarts_leak_nothing(
    tmp_path: Path, open_service: Callable[..., RunningService]
) -> None:
    restart_processes(tmp_path, open_service, RESTARTS)


def test_five_process_restarts_leak_no_file_and_leave_no_zombie(
    tmp_path: Path, open_service: Callable[..., RunningService]
) -> None:
    restart_processes(tmp_path, open_service, 5, slope_kb=5000)


def restart_processes(
    folder: Path, open_service: Callable[..., RunningService], times: int, slope_kb: float = SLOPE_KB
) -> None:
    """Restart a camera process `times` times, every fifth time with SIGKILL."""
    with rtsp_server(["/live=live:160x120@25"]) as server:
        file = folder / "cameras.yaml"
        file.write_text(f"networks: [127.0.0.0/8]\nsources:\n  gate: {{url: '{server.url('live')}'}}\n")
        service = open_service(config=file)
        service.wait_ready()
        wait_until(lambda: frames_of(service) > 0)
        samples = []
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
            samples.append((open_files(pid), resident_kb(pid)))
            assert len(service.children("lumaflow_service.camera")) == 1
            assert not zombies(pid)
    half = samples[times // 2 :]
    slope = (half[-1][1] - half[0][1]) / len(half)
    print(f"{times} processes: files {samples[0][0]} .. {samples[-1][0]}, {slope:.1f} KB each at last")
    assert abs(half[-1][0] - half[0][0]) <= 2
    assert slope < slope_kb


def frames_of(service: RunningService) -> int:
    """Number of enhanced frames of the camera."""
    return int(service.client.get("/v1/sources/gate").json()["frames"])


def wait_until(true: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
