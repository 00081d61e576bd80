"""Startup and shutdown: the order of the parts, SIGHUP, and the configuration that is read."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fake_engine import fake_service
from lumaflow_service.api import lifespan
from lumaflow_service.api.lifespan import read_config, reload_config, reload_on_sighup
from lumaflow_service.config.camera_errors import ConfigError, NoConfigError

CONFIG = "sources:\n  gate:\n    url: rtsp://192.168.1.9/gate\n    paused: true\n"


class RecordingPart:
    """A part of the service that records when it is started and stopped."""

    def __init__(self, name: str, events: list[str]) -> None:
        self._name, self._events = name, events

    def start(self) -> None:
        self._events.append(f"start {self._name}")

    async def stop(self) -> None:
        self._events.append(f"stop {self._name}")

    def close(self) -> None:
        self._events.append(f"close {self._name}")


class AsyncPart(RecordingPart):
    """The same with coroutines."""

    async def start(self) -> None:  # type: ignore[override]
        super().start()

    async def close(self) -> None:  # type: ignore[override]
        super().close()


class RecordingState:
    """The parts that start and stop; no other part has work to do then."""

    clip_to_render = None

    def __init__(self, events: list[str]) -> None:
        self.engine = RecordingPart("engine", events)
        self.cameras = AsyncPart("cameras", events)
        self.peers = AsyncPart("peers", events)
        self.tracing = RecordingPart("tracing", events)


ORDER = ["start engine", "start cameras"], ["close peers", "stop cameras", "stop engine", "close tracing"]


def test_viewers_end_before_cameras_and_cameras_before_the_worker() -> None:
    events: list[str] = []

    async def run() -> None:
        async with lifespan.running(RecordingState(events)):  # type: ignore[arg-type]
            events.append("running")

    asyncio.run(run())
    started, stopped = ORDER
    assert events == [*started, "running", *stopped]


def test_all_parts_stop_after_an_error() -> None:
    events: list[str] = []

    async def run() -> None:
        async with lifespan.running(RecordingState(events)):  # type: ignore[arg-type]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
    assert events == [*ORDER[0], *ORDER[1]]


def test_the_state_starts_no_process_before_it_runs() -> None:
    with fake_service() as service:
        assert service.engine.events == ["start"]
    assert service.engine.events == ["start", "stop"]


# configuration ------------------------------------------------------------------------------------


def test_without_a_file_there_are_no_cameras() -> None:
    loaded = read_config(None)
    assert loaded.config.sources == {}
    with pytest.raises(NoConfigError, match="start the service with --config FILE"):
        reload_config(None)


def test_variables_in_urls_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("sources:\n  gate:\n    url: rtsp://user:${GATE_PASSWORD}@192.168.1.9/gate\n")
    monkeypatch.setenv("GATE_PASSWORD", "s3cret")
    assert read_config(file).config.sources["gate"].url == "rtsp://user:s3cret@192.168.1.9/gate"
    assert reload_config(file).folder == tmp_path
    monkeypatch.delenv("GATE_PASSWORD")
    with pytest.raises(ConfigError, match="GATE_PASSWORD"):
        read_config(file)


def test_a_reload_adds_and_removes_cameras(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(CONFIG)
    with fake_service(config=file) as service:
        names = lambda: [one["id"] for one in service.client.get("/v1/sources").json()["sources"]]  # noqa: E731
        assert names() == ["gate"]
        file.write_text(CONFIG.replace("gate", "yard"))
        assert service.client.post("/v1/config/reload").status_code == 204
        assert names() == ["yard"]


def test_an_invalid_configuration_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(CONFIG)
    with fake_service(config=file) as service:
        file.write_text("sources: {gate: {url: 3}}\n")
        response = service.client.post("/v1/config/reload")
        assert response.status_code == 422
        assert f"{file}: line 1" in response.json()["detail"]
        assert [one["id"] for one in service.client.get("/v1/sources").json()["sources"]] == ["gate"]
        assert 'lumaflow_config_reloads_total{outcome="refused"} 1.0' in service.client.get("/metrics").text


def test_a_reload_without_a_file_is_a_409() -> None:
    with fake_service() as service:
        response = service.client.post("/v1/config/reload")
        assert (response.status_code, "--config FILE" in response.json()["detail"]) == (409, True)


# SIGHUP -------------------------------------------------------------------------------------------


class ReloadingCameras:
    """Cameras whose reload calls a function."""

    def __init__(self, reload: Callable[[], None]) -> None:
        self._reload = reload

    async def reload(self) -> None:
        self._reload()


def send_sighup(on_reload: Callable[[], None]) -> None:
    """Send SIGHUP to this process while it is handled; return when `on_reload` was called."""

    async def run() -> None:
        called = asyncio.Event()

        def reload() -> None:
            called.set()
            on_reload()

        with reload_on_sighup(ReloadingCameras(reload)):  # type: ignore[arg-type]
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.wait_for(called.wait(), 10)
            await asyncio.sleep(0)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(run())
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sighup_reloads_the_configuration() -> None:
    reloads: list[int] = []
    send_sighup(lambda: reloads.append(1))
    assert reloads == [1]


def test_sighup_with_an_invalid_configuration_logs_every_error() -> None:
    def fail() -> None:
        raise ConfigError("c.yaml: line 3: wrong\nc.yaml: line 5: wrong too")

    with capture_logs() as events:
        send_sighup(fail)
    (event,) = [event for event in events if event["log_level"] == "error"]
    assert event["event"] == "configuration invalid, previous one stays active"
    assert event["errors"] == "c.yaml: line 3: wrong\nc.yaml: line 5: wrong too"
