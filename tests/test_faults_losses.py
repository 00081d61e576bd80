"""Packets lost on the way: every damaged picture is known as such, and the next key frame mends it."""

import time
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import Run, rtsp_server, running
from films import make_film
from lossy import Lossy
from lumaflow_service.camera.captured_frame import CapturedFrame
from lumaflow_service.camera.corruption import CorruptionTracker

RATE = 12.5
KEY_FRAMES = 12
CODECS = {
    "h264": ("libx264", {"crf": "10", "g": "12", "bf": "0"}),
    "h265": ("libx265", {"crf": "10", "x265-params": "log-level=none:keyint=12:bframes=0"}),
}
FRAMES = 150


@pytest.mark.faults
@pytest.mark.parametrize("loss", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("codec", CODECS)
def test_a_camera_behind_a_bad_network(tmp_path: Path, codec: str, loss: float) -> None:
    lose(tmp_path, codec, loss, seconds=6)


def test_a_camera_behind_a_bad_network_for_a_moment(tmp_path: Path) -> None:
    lose(tmp_path, "h264", 0.2, seconds=2)


def lose(folder: Path, codec: str, loss: float, seconds: float) -> None:
    """Lose packets for so long; compare what came with what was sent, picture by picture."""
    encoder, options = CODECS[codec]
    film = make_film(folder / "a.mp4", FRAMES, (640, 480), codec=encoder, options=options)
    with av.open(str(film)) as container:
        sent = [frame.to_ndarray() for frame in container.decode(video=0)]
    with rtsp_server([f"/a={codec}:{film}"]) as server:
        proxy = Lossy(server.port, seed=7)
        with running(server.url("a", port=proxy.port), transport="udp") as run:
            run.until_shots(5)
            proxy.loss = loss
            time.sleep(seconds)
            proxy.loss = 0.0
            healed = len(run.shots)
            run.until_shots(healed + 2 * KEY_FRAMES, 10)
            status = run.camera.status
            assert not status.reconnects
        proxy.close()
    assert proxy.lost
    numbers = [numbered(run, shot) for shot in run.shots]
    damaged = {
        shot.number: not np.array_equal(sent[number], shot.frame.to_ndarray())
        for number, shot in zip(numbers, run.shots, strict=True)
    }
    print(
        f"{codec}, {loss:.0%}: {proxy.lost} packets lost, {sum(damaged.values())} of {len(damaged)} damaged"
    )
    assert any(damaged.values())
    assert not [shot.number for shot in run.shots if damaged[shot.number] and not shot.corrupt]
    assert status.corrupt >= sum(damaged.values())
    assert not any(shot.corrupt for shot in run.shots[healed + KEY_FRAMES + 2 : healed + 2 * KEY_FRAMES])


def numbered(run: Run, shot: CapturedFrame) -> int:
    """Which picture of the film a shot shows: the first one that came was the first one sent."""
    return round(float(shot.pts * shot.time_base - run.shots[0].pts * run.shots[0].time_base) * RATE)


class Decoded:
    """What a decoder says of a picture."""

    def __init__(self, pts: int | None, is_corrupt: bool = False) -> None:
        self.pts, self.is_corrupt = pts, is_corrupt


def test_doubt_ends_with_the_picture_of_a_key_frame_not_with_its_packet() -> None:
    doubt = CorruptionTracker()
    doubt.mark()
    doubt.key_frame(5)
    assert [doubt.is_corrupt(Decoded(pts)) for pts in (3, 4, 5, 6)] == [True, True, False, False]  # type: ignore[arg-type]


def test_damage_behind_a_key_frame_outlasts_it() -> None:
    doubt = CorruptionTracker()
    doubt.key_frame(5)
    doubt.mark()
    assert [doubt.is_corrupt(Decoded(pts)) for pts in (5, 6)] == [True, True]  # type: ignore[arg-type]
    doubt.key_frame(7)
    assert not doubt.is_corrupt(Decoded(7))  # type: ignore[arg-type]


def test_a_damaged_picture_makes_those_after_it_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    from lumaflow_service.camera import corruption as module

    doubt, clock = CorruptionTracker(), [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    assert doubt.is_corrupt(Decoded(1, is_corrupt=True))  # type: ignore[arg-type]
    assert doubt.is_corrupt(Decoded(2))  # type: ignore[arg-type]
    clock[0] = module.MAX_SECONDS + 0.1  # a camera without key frames
    assert not doubt.is_corrupt(Decoded(3))  # type: ignore[arg-type]
