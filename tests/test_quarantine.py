"""Frames that kill workers."""

import pytest

from lumaflow_service.control.quarantine import MAX_SUSPECTS, Quarantine
from lumaflow_service.errors import BadFrameError

POISON = memoryview(b"poison frame")


def test_a_body_is_refused_after_two_kills() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([POISON])
    quarantine.check(POISON)
    quarantine.record_crash([POISON])
    with pytest.raises(BadFrameError, match="died 2 times with this frame of 12 bytes"):
        quarantine.check(POISON)


def test_one_death_counts_once_however_often_the_body_was_in_flight() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([POISON, POISON, POISON])
    quarantine.check(POISON)


def test_success_clears_a_body() -> None:
    quarantine = Quarantine()
    for _ in range(5):
        quarantine.record_crash([POISON])
        quarantine.clear(POISON)
    quarantine.check(POISON)


def test_another_body_of_the_same_length_is_taken() -> None:
    quarantine = Quarantine()
    quarantine.record_crash([POISON])
    quarantine.record_crash([POISON])
    quarantine.check(memoryview(b"healthy body"))


def test_suspects_are_bounded_and_the_last_ones_are_kept() -> None:
    quarantine = Quarantine()
    for _ in range(2):
        quarantine.record_crash([POISON])
    for number in range(MAX_SUSPECTS):
        quarantine.record_crash([memoryview(b"%d" % number)])
    quarantine.check(POISON)
