"""The service with cameras: streams, outputs, and changes while it runs."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import simplejpeg

from cameras import RtspServer, rtsp_server
from conftest import RunningService, finish
from lossy_udp import LossyUdpProxy
from make_video import make_video, read_video
from proxy import Proxy

PASSWORD = "c4n4ryPw"
NETWORKS = "networks: [127.0.0.0/8]\n"


def wait_until(true: Callable[[], bool], seconds: float = 15) -> None:
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


@pytest.fixture(scope="module")
def server() -> Iterator[RtspServer]:
    with rtsp_server(["/live=live:1280x720@25", "/small=live:160x120@10"]) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ingest")
    make_video(folder / "film.mp4", 40, audio="aac")
    return folder


@pytest.fixture(scope="module")
def config(folder: Path, server: RtspServer) -> Path:
    """Three cameras with outputs, and two that cannot be opened."""
    file = folder / "cameras.yaml"
    file.write_text(
        NETWORKS
        + f"""
sources:
  gate:
    url: {server.url("small")}
    mode: equalize
    outputs:
      - record: {{path: gate, keep_free_gb: 0, container: mov}}
      - snapshot: {{path: shots, every_seconds: 0.5, keep_free_gb: 0}}
      - descriptors: {{path: described, format: jsonl, features: [lbp], keep_free_gb: 0}}
  film:
    url: file:film.mp4
    delivery: lossless
    outputs:
      - record: {{path: film, keep_free_gb: 0}}
  turned:
    url: file:film.mp4
    delivery: lossless
    orientation: rotate90
    outputs:
      - record: {{path: turned, keep_free_gb: 0}}
  locked: {{url: "rtsp://joe:{PASSWORD}@127.0.0.1:1/x?token={PASSWORD}"}}
  gone: {{url: "rtsp://127.0.0.1:1/"}}
"""
    )
    return file


@pytest.fixture(scope="module")
def log(folder: Path) -> Path:
    return folder / "log.txt"


@pytest.fixture(scope="module")
def service(config: Path, log: Path) -> Iterator[RunningService]:
    """Run `lumaflow serve --config`; the log is in a file."""
    command = [
        sys.executable,
        "-m",
        "lumaflow_service",
        "serve",
        "--config",
        str(config),
        "--port",
        "0",
        "--device",
        "cpu",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
    assert process.stdout
    url = process.stdout.readline().split()[-1]
    with httpx.Client(base_url=url, timeout=30) as client:
        running = RunningService(process, client)
        running.wait_ready()
        yield running
    finish(process)


def source(service: RunningService, name: str) -> dict:
    return service.client.get(f"/v1/sources/{name}").json()


def camera(service: RunningService, name: str) -> dict:
    return source(service, name)["camera"]


def test_a_live_camera_writes_to_each_of_its_outputs(service: RunningService, folder: Path) -> None:
    wait_until(lambda: source(service, "gate")["frames"] >= 20)
    state = source(service, "gate")
    assert (state["state"], state["options"]["mode"], state["options"]["features"]) == (
        "live",
        "equalize",
        ["lbp"],
    )
    assert state["camera"]["codec"] == "h264"
    outputs = {output["name"]: output for output in state["camera"]["outputs"]}
    assert {output["state"] for output in outputs.values()} == {"working"}
    assert set(outputs) == {"record-1", "snapshot-2", "descriptors-3"}
    assert len(list((folder / "shots").iterdir())) >= 2
    assert metric(service, 'output_up{output="record-1",source="gate"}') == 1
    assert metric(service, 'source_up{source="gate"}') == 1
    assert service.client.get("/v1/sources/gate/snapshot.jpg").content[:2] == b"\xff\xd8"


def test_a_lossless_file_is_recorded_with_all_frames_times_and_audio(
    service: RunningService, folder: Path
) -> None:
    wait_until(lambda: camera(service, "film")["state"] == "ended")
    wait_until(lambda: camera(service, "film")["outputs"][0]["written"] == 40)
    raw = service.client.get("/v1/sources/film/snapshot.jpg?view=raw").content
    service.client.post("/v1/sources/film/pause").raise_for_status()  # finishes the file
    (path,) = (folder / "film").iterdir()
    found, film = read_video(path), read_video(folder / "film.mp4")
    assert found.times == film.times
    assert len(found.copied_packets[0]) >= len(film.copied_packets[0]) - 2
    assert source(service, "film")["frames"] == 40
    shown = simplejpeg.decode_jpeg(raw, "BGR").astype(int)
    assert np.abs(shown - film.frames[-1]).mean() < 2  # with the range and matrix of the file


def test_a_rotated_camera_is_recorded_rotated(service: RunningService, folder: Path) -> None:
    wait_until(lambda: camera(service, "turned")["outputs"][0]["written"] == 40)
    service.client.post("/v1/sources/turned/pause").raise_for_status()
    (path,) = (folder / "turned").iterdir()
    found, film = read_video(path), read_video(folder / "film.mp4")
    assert (found.size, found.tags) == ((64, 96), film.tags)
    bright = np.unravel_index(found.frames[20][..., 1].argmax(), found.frames[20].shape[:2])
    assert bright[1] > 32  # the square is at the top of the film, and so at the right of this


def test_a_failed_camera_reports_its_cause_and_is_counted(service: RunningService) -> None:
    wait_until(lambda: camera(service, "gone")["reconnects"] >= 2)
    assert camera(service, "gone")["cause"] == "refused"
    assert metric(service, 'reconnects_total{code="refused",source="gone"}') >= 2
    assert metric(service, 'source_up{source="gone"}') == 0
    assert service.client.get("/readyz").status_code == 200


def test_the_api_adds_changes_and_removes_a_camera(service: RunningService, server: RtspServer) -> None:
    client = service.client
    body = {"url": server.url("small", f"joe:{PASSWORD}@"), "options": {"mode": "clahe"}}
    answer = client.put("/v1/sources/added", json=body)
    assert answer.status_code == 201
    assert answer.json()["camera"]["url"] == server.url("small", "***@")
    wait_until(lambda: source(service, "added")["frames"] >= 3)
    (process,) = processes(service, {"added"}, server, "small")
    assert client.patch("/v1/sources/added", json={"options": {"mode": "equalize"}}).status_code == 200
    before = source(service, "added")["frames"]
    wait_until(lambda: source(service, "added")["frames"] >= before + 3)
    assert processes(service, {"added"}, server, "small") == [process]
    assert client.put("/v1/sources/added", json={"url": answer.json()["camera"]["url"]}).status_code == 422
    client.patch("/v1/sources/added", json={"url": "rtsp://127.0.0.1:1/"}).raise_for_status()
    wait_until(lambda: camera(service, "added")["cause"] == "refused")
    assert client.delete("/v1/sources/added").status_code == 204
    assert client.get("/v1/sources/added").status_code == 404
    assert all(one["id"] != "added" for one in client.get("/v1/sources").json()["sources"])


def processes(service: RunningService, names: set[str], server: RtspServer, path: str) -> list[int]:
    """The newest camera process."""
    return sorted(service.children("lumaflow_service.camera"))[-1:]


@pytest.mark.parametrize(
    "url",
    [
        "file:film.mp4",
        "file:///etc/passwd",
        "v4l2:/dev/video0",
        "ftp://192.0.2.1/",
        "rtsp://192.0.2.1/",
        "x",
        "",
    ],
)
def test_the_api_refuses_files_devices_and_other_networks(service: RunningService, url: str) -> None:
    answer = service.client.put("/v1/sources/bad", json={"url": url})
    assert answer.status_code == 422
    assert service.client.get("/v1/sources/bad").status_code == 404


def test_a_camera_is_paused_resumed_and_restarted(service: RunningService) -> None:
    client = service.client
    wait_until(lambda: source(service, "gate")["state"] == "live")
    count = len(service.children("lumaflow_service.camera"))
    assert client.post("/v1/sources/gate/pause").json()["camera"]["state"] == "paused"
    assert len(service.children("lumaflow_service.camera")) == count - 1
    frames = source(service, "gate")["frames"]
    time.sleep(0.5)
    assert source(service, "gate")["frames"] == frames
    assert 'lumaflow_output_up{output="record-1",source="gate"}' not in client.get("/metrics").text
    client.post("/v1/sources/gate/resume").raise_for_status()
    wait_until(lambda: source(service, "gate")["frames"] > frames)
    client.post("/v1/sources/gate/restart").raise_for_status()
    frames = source(service, "gate")["frames"]
    wait_until(lambda: source(service, "gate")["frames"] > frames)
    assert client.post("/v1/sources/nobody/pause").status_code == 404


def test_killed_camera_processes_are_restarted_and_their_slots_freed(
    service: RunningService,
) -> None:
    wait_until(lambda: source(service, "gate")["state"] == "live")
    before = set(service.children("lumaflow_service.camera"))
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(set(service.children("lumaflow_service.camera")) - before) == len(before))
    frames = source(service, "gate")["frames"]
    wait_until(lambda: source(service, "gate")["frames"] > frames)
    assert metric(service, 'slots_in_use{device="cpu"}') <= 3


def test_a_stuck_camera_process_is_restarted(service: RunningService, server: RtspServer) -> None:
    service.client.put("/v1/sources/stuck", json={"url": server.url("small")}).raise_for_status()
    wait_until(lambda: source(service, "stuck")["frames"] >= 3)
    (pid,) = sorted(service.children("lumaflow_service.camera"))[-1:]
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: pid not in service.children("lumaflow_service.camera"), 30)
    frames = source(service, "stuck")["frames"]
    wait_until(lambda: source(service, "stuck")["frames"] > frames)
    service.client.delete("/v1/sources/stuck")


def test_a_reload_restarts_only_changed_cameras_and_a_bad_file_changes_nothing(
    service: RunningService, config: Path
) -> None:
    good = config.read_text()
    wait_until(lambda: source(service, "gate")["state"] == "live")
    children = set(service.children("lumaflow_service.camera"))
    config.write_text(
        good.replace("mode: equalize", "mode: clahe") + "  more: {url: 'rtsp://127.0.0.1:1/'}\n"
    )
    service.client.post("/v1/config/reload").raise_for_status()
    wait_until(lambda: children < set(service.children("lumaflow_service.camera")))
    assert source(service, "gate")["options"]["mode"] == "clahe"
    config.write_text(good + "  bad: {url: 'rtsp://127.0.0.1:1/', trnsport: udp}\n")
    answer = service.client.post("/v1/config/reload")
    assert answer.status_code == 422
    assert "did you mean transport?" in answer.json()["detail"]
    assert camera(service, "more")["cause"] in ("", "refused")
    assert metric(service, 'config_reloads_total{outcome="refused"}') == 1
    config.write_text(good)
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: service.client.get("/v1/sources/more").status_code == 404)
    assert source(service, "gate")["options"]["mode"] == "equalize"


def test_a_password_is_in_no_log_response_metric_or_command_line(service: RunningService, log: Path) -> None:
    wait_until(lambda: camera(service, "locked")["reconnects"] >= 1)
    texts = [log.read_text(), service.client.get("/metrics").text, service.client.get("/v1/sources").text]
    bad = service.client.put(
        "/v1/sources/x", json={"url": f"ftp://joe:{PASSWORD}@192.0.2.1/", "zz": f"rtsp://u:{PASSWORD}@h/"}
    )
    texts.append(bad.text)
    for pid in (service.process.pid, *service.children("lumaflow_service.camera")):
        texts.append(Path(f"/proc/{pid}/cmdline").read_text())
    assert "locked" in texts[0]
    assert not [text for text in texts if PASSWORD in text]


def test_the_first_frame_and_the_latency_at_720p_are_in_time(
    service: RunningService, server: RtspServer
) -> None:
    started = time.monotonic()
    service.client.put("/v1/sources/fast", json={"url": server.url("live")}).raise_for_status()
    wait_until(lambda: source(service, "fast")["frames"] >= 1)
    first = time.monotonic() - started
    wait_until(lambda: source(service, "fast")["frames"] >= 75)
    total = metric(service, 'frame_age_seconds_sum{source="fast"}')
    mean = total / metric(service, 'frame_age_seconds_count{source="fast"}')
    print(f"first enhanced frame after {first:.2f} s, mean age {1000 * mean:.1f} ms")
    service.client.delete("/v1/sources/fast")
    assert first < 6
    assert mean < 0.5


def test_a_paused_worker_does_not_make_frames_old(service: RunningService, server: RtspServer) -> None:
    """After the worker was stopped for a second, it gets the newest frame, not older ones."""
    service.client.put("/v1/sources/fresh", json={"url": server.url("small")}).raise_for_status()
    wait_until(lambda: source(service, "fresh")["frames"] >= 5)
    os.kill(service.worker, signal.SIGSTOP)
    time.sleep(1.0)
    os.kill(service.worker, signal.SIGCONT)
    dropped = metric(service, 'dropped_total{reason="late",source="fresh"}')
    wait_until(lambda: metric(service, 'dropped_total{reason="late",source="fresh"}') >= max(dropped, 5))
    old = metric(service, 'frame_age_seconds_count{source="fresh"}') - metric(
        service, 'frame_age_seconds_bucket{le="0.5",source="fresh"}'
    )
    assert old <= 2  # one in the worker, one in a slot
    service.client.delete("/v1/sources/fresh")


def test_frames_damaged_by_packet_loss_make_no_lut(service: RunningService, server: RtspServer) -> None:
    lossy = LossyUdpProxy(server.port, seed=3)
    body = {"url": server.url("small", port=lossy.port), "transport": "udp"}
    service.client.put("/v1/sources/lossy", json=body).raise_for_status()
    wait_until(lambda: source(service, "lossy")["frames"] >= 5)
    assert source(service, "lossy")["lut_age"] <= 1
    lossy.loss = 0.3
    wait_until(lambda: source(service, "lossy")["lut_age"] >= 3)
    lossy.loss = 0.0
    time.sleep(1.5)  # a key frame comes every second
    ages = {source(service, "lossy")["lut_age"] for _ in range(20) if not time.sleep(0.05)}
    wait_until(lambda: metric(service, 'frames_total{outcome="corrupt",source="lossy"}') >= 3)
    service.client.delete("/v1/sources/lossy")
    lossy.close()
    assert ages == {1}


def test_a_camera_that_does_not_answer_uses_no_cpu(service: RunningService) -> None:
    silent = Proxy(1)
    silent.behaviour = "silent"
    service.client.put(
        "/v1/sources/mute", json={"url": f"rtsp://127.0.0.1:{silent.port}/"}
    ).raise_for_status()
    wait_until(lambda: silent.connections >= 1)
    (pid,) = sorted(service.children("lumaflow_service.camera"))[-1:]
    time.sleep(0.5)
    before = cpu_seconds(pid)
    time.sleep(3)
    assert cpu_seconds(pid) - before <= 0.03
    service.client.delete("/v1/sources/mute").raise_for_status()
    silent.close()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_headless_serves_only_health_and_metrics_and_finishes_its_files(
    folder: Path, server: RtspServer
) -> None:
    file = folder / "headless.yaml"
    file.write_text(
        f"{NETWORKS}sources:\n  gate:\n    url: {server.url('small')}\n"
        "    outputs:\n      - record: {path: headless, keep_free_gb: 0}\n"
    )
    command = [
        sys.executable,
        "-m",
        "lumaflow_service",
        "ingest",
        "--config",
        str(file),
        "--port",
        "0",
        "--device",
        "cpu",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    with httpx.Client(base_url=process.stdout.readline().split()[-1], timeout=30) as client:
        running = RunningService(process, client)
        running.wait_ready()
        wait_until(lambda: metric(running, 'frames_total{outcome="ok",source="gate"}') >= 10)
        answer = client.get("/v1/sources")
        assert (answer.status_code, answer.json()["detail"].partition("; ")[2]) == (
            404,
            "the routes are /livez, /readyz and /metrics",
        )
        children = [running.worker, *running.children("lumaflow_service.camera")]
    finish(process)
    assert process.returncode == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    (path,) = (folder / "headless").iterdir()
    assert len(read_video(path).times) >= 10


def test_a_bad_configuration_is_reported_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("sauces: {}\n")
    command = [
        sys.executable,
        "-m",
        "lumaflow_service",
        "serve",
        "--config",
        str(tmp_path / "bad.yaml"),
        "--port",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "line 1: sauces: unknown key; did you mean sources?" in done.stderr
    assert done.stderr.count("\n") == 1
