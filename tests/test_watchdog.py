"""The watchdog of a camera process."""

import threading
import time

import pytest

from lumaflow_service.camera.watchdog import Watchdog


@pytest.mark.parametrize(("interval", "limit"), [(0.04, 2.0), (1.0, 5.0), (10.0, 50.0)])
def test_the_limit_follows_the_frame_interval(interval: float, limit: float) -> None:
    watchdog = Watchdog()
    assert float(watchdog) == 5.0
    for number in range(50):
        watchdog.frame(number * interval)
    assert float(watchdog) == pytest.approx(limit)


def test_a_call_that_exceeds_its_limit_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow_service.camera import watchdog as module

    ended = threading.Event()
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(module.os, "_exit", lambda status: ended.set())
    watchdog, calls = Watchdog(), []
    watchdog.exit_when_blocked(lambda: calls.append("stuck"))
    with watchdog.limit_call(0.0):
        assert ended.wait(3)
    assert calls
    time.sleep(0.6)


def test_a_late_frame_is_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow_service.camera import watchdog as module

    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    watchdog = Watchdog()
    for seconds, overdue in ((14.9, False), (15.1, True)):  # until the first frame
        clock[0] = 100.0 + seconds
        assert watchdog.overdue is overdue
    watchdog.frame(clock[0])
    for seconds, overdue in ((1.9, False), (2.1, True)):
        clock[0] = 115.1 + seconds
        assert watchdog.overdue is overdue
    watchdog.connected()
    assert not watchdog.overdue
