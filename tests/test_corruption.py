"""Corrupt frames: which decoded frames are corrupt, and that they make no LUT."""

import pytest

from lumaflow_service.camera import corruption
from lumaflow_service.camera.corruption import CorruptionTracker
from test_worker import LIMITS, WorkerClient


class FakeFrame:
    """The attributes of a decoded frame that CorruptionTracker reads."""

    def __init__(self, pts: int | None, is_corrupt: bool = False) -> None:
        self.pts, self.is_corrupt = pts, is_corrupt


def test_corruption_ends_with_the_frame_of_a_key_frame_not_with_its_packet() -> None:
    tracker = CorruptionTracker()
    tracker.mark()
    tracker.key_frame(5)
    assert [tracker.is_corrupt(FakeFrame(pts)) for pts in (3, 4, 5, 6)] == [True, True, False, False]  # type: ignore[arg-type]


def test_damage_after_a_key_frame_packet_outlasts_its_frame() -> None:
    tracker = CorruptionTracker()
    tracker.key_frame(5)
    tracker.mark()
    assert [tracker.is_corrupt(FakeFrame(pts)) for pts in (5, 6)] == [True, True]  # type: ignore[arg-type]
    tracker.key_frame(7)
    assert not tracker.is_corrupt(FakeFrame(7))  # type: ignore[arg-type]


def test_a_key_frame_without_a_time_ends_corruption_at_once() -> None:
    tracker = CorruptionTracker()
    tracker.mark()
    tracker.key_frame(None)
    assert not tracker.is_corrupt(FakeFrame(None))  # type: ignore[arg-type]


def test_frames_after_a_damaged_frame_are_corrupt_until_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tracker, clock = CorruptionTracker(), [0.0]
    monkeypatch.setattr(corruption.time, "monotonic", lambda: clock[0])
    assert tracker.is_corrupt(FakeFrame(1, is_corrupt=True))  # type: ignore[arg-type]
    assert tracker.is_corrupt(FakeFrame(2))  # type: ignore[arg-type]
    clock[0] = corruption.MAX_SECONDS + 0.1  # a camera without key frames
    assert not tracker.is_corrupt(FakeFrame(3))  # type: ignore[arg-type]


def test_a_corrupt_frame_makes_no_lut() -> None:
    client = WorkerClient(LIMITS)
    client.receive()
    kinds = [
        client.call(client.frame("gate", corrupt=corrupt, sequence=n)).lut
        for n, corrupt in enumerate((True, False, True, False))
    ]
    ages = [client.call(client.frame("gate", corrupt=True, sequence=n)).lut_age for n in (4, 5)]
    assert kinds == ["own", "own", "previous", "previous"]
    assert ages == [1, 2]
    assert client.close() == 0
