"""Exponential back-off of cameras and outputs."""

from random import Random

from lumaflow_service.ipc.backoff import Backoff


def test_delays_double_up_to_thirty_seconds_with_jitter() -> None:
    waits = [Backoff(Random(seed)).wait_seconds() for seed in range(20)]
    assert 0.8 <= min(waits) < 0.95 < 1.05 < max(waits) <= 1.2
    backoff = Backoff(Random(1))
    for around in (1, 2, 4, 8, 16, 30, 30, 30):
        assert 0.8 * around <= backoff.wait_seconds() <= 1.2 * around
    for _ in range(10_000):
        assert backoff.wait_seconds() <= 36


def test_thirty_good_frames_in_a_row_reset_the_delay() -> None:
    backoff = Backoff(Random(1))
    for _ in range(6):
        backoff.wait_seconds()
    for _ in range(29):
        backoff.good()
    assert backoff.wait_seconds() > 20
    for _ in range(30):
        backoff.good()
    assert backoff.wait_seconds() <= 1.2
