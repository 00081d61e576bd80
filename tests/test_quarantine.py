"""Quarantine of frames that crash the worker."""

import pytest

from lumaflow_service.control.quarantine import MAX_SUSPECTS, Quarantine
from lumaflow_service.errors import BadFrameError

CRASHING = memoryview(b"poison frame")


def test_a_body_is_refused_after_two_crashes() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([CRASHING])
    quarantine.check(CRASHING)
    quarantine.record_crash([CRASHING])
    with pytest.raises(BadFrameError, match="died 2 times with this frame of 12 bytes"):
        quarantine.check(CRASHING)


def test_one_crash_counts_once_for_a_body_in_flight_several_times() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([CRASHING, CRASHING, CRASHING])
    quarantine.check(CRASHING)


def test_success_clears_a_body() -> None:
    quarantine = Quarantine()
    for _ in range(5):
        quarantine.record_crash([CRASHING])
        quarantine.clear(CRASHING)
    quarantine.check(CRASHING)


def test_another_body_of_the_same_length_is_accepted() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([CRASHING])
    quarantine.record_crash([CRASHING])
    quarantine.check(memoryview(b"healthy body"))


def test_the_number_of_suspects_is_limited_to_the_newest() -> None:
    quarantine = Quarantine()
    for _ in range(2):
        quarantine.record_crash([CRASHING])
    for number in range(MAX_SUSPECTS):
        quarantine.record_crash([memoryview(b"%d" % number)])
    quarantine.check(CRASHING)
