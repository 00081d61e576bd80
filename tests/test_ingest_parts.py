"""The small parts of a camera: waits, mailbox, watchdog."""

import threading
import time
from random import Random

import pytest

from lumaflow_service.camera.frame_queue import LatestFrameQueue
from lumaflow_service.camera.freeze import luma_sample
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.ipc.backoff import Backoff
from test_slot_format import decoded


def test_waits_double_up_to_thirty_seconds_with_jitter_for_ever() -> None:
    waits = [Backoff(Random(seed)).wait_seconds() for seed in range(20)]
    assert 0.8 <= min(waits) < 0.95 < 1.05 < max(waits) <= 1.2
    backoff = Backoff(Random(1))
    for around in (1, 2, 4, 8, 16, 30, 30, 30):
        assert 0.8 * around <= backoff.wait_seconds() <= 1.2 * around
    for _ in range(10_000):
        assert backoff.wait_seconds() <= 36


def test_thirty_good_frames_in_a_row_begin_anew() -> None:
    backoff = Backoff(Random(1))
    for _ in range(6):
        backoff.wait_seconds()
    for _ in range(29):
        backoff.good()
    assert backoff.wait_seconds() > 20
    for _ in range(30):
        backoff.good()
    assert backoff.wait_seconds() <= 1.2


def test_in_a_live_mailbox_the_newest_wins_and_the_others_are_counted() -> None:
    mailbox: LatestFrameQueue[int] = LatestFrameQueue(lossless=False)
    for number in range(5):
        mailbox.put(number)
    assert mailbox.wait()
    assert (mailbox.take(), mailbox.replaced) == (4, 4)


def test_in_a_lossless_mailbox_nothing_is_lost() -> None:
    mailbox: LatestFrameQueue[int] = LatestFrameQueue(lossless=True)
    thread = threading.Thread(target=lambda: [mailbox.put(number) for number in range(50)])
    thread.start()
    taken = [mailbox.take() for _ in range(50) if mailbox.wait()]
    thread.join()
    assert taken == list(range(50))
    assert mailbox.replaced == 0


def test_a_closed_mailbox_lets_go_of_both_sides() -> None:
    mailbox: LatestFrameQueue[int] = LatestFrameQueue(lossless=True)
    mailbox.put(1)
    blocked = threading.Thread(target=mailbox.put, args=(2,))
    blocked.start()
    mailbox.close()
    blocked.join(5)
    assert not blocked.is_alive()
    assert not mailbox.wait()


@pytest.mark.parametrize(("interval", "limit"), [(0.04, 2.0), (1.0, 5.0), (10.0, 50.0)])
def test_a_camera_stalls_by_its_own_pace(interval: float, limit: float) -> None:
    watchdog = Watchdog()
    assert float(watchdog) == 5.0
    for number in range(50):
        watchdog.frame(number * interval)
    assert float(watchdog) == pytest.approx(limit)


def test_a_call_that_overstays_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow_service.camera import watchdog as module

    ended = threading.Event()
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(module.os, "_exit", lambda status: ended.set())
    watchdog, words = Watchdog(), []
    watchdog.exit_when_blocked(lambda: words.append("stuck"))
    with watchdog.limit_call(0.0):
        assert ended.wait(3)
    assert words
    time.sleep(0.6)


@pytest.mark.parametrize("name", ["yuvj420p", "yuv420p10le", "p010le", "gray12le", "nv12"])
def test_a_still_is_told_by_the_upper_bits_of_its_levels(name: str) -> None:
    sample, wanted = luma_sample(decoded(name)), luma_sample(decoded("gray"))
    assert sample.shape == wanted.shape == (8, 12)
    if name in ("yuvj420p", "gray12le"):  # of full range, as the gray is
        assert abs(sample - wanted).max() <= 1
    assert 40 < sample.mean() < 200


def test_a_corrupt_frame_never_becomes_a_mapping() -> None:
    from test_worker import LIMITS, Desk

    desk = Desk(LIMITS)
    desk.receive()
    kinds = [
        desk.ask(desk.frame("gate", corrupt=corrupt, sequence=n)).lut
        for n, corrupt in enumerate((True, False, True, False))
    ]
    ages = [desk.ask(desk.frame("gate", corrupt=True, sequence=n)).lut_age for n in (4, 5)]
    assert kinds == ["own", "own", "previous", "previous"]
    assert ages == [1, 2]
    assert desk.close() == 0
