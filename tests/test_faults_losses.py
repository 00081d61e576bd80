"""Packet loss: every damaged frame is marked as corrupt until the next key frame."""

import time
from pathlib import Path

import av
import numpy as np
import pytest

from cameras import CameraRun, rtsp_server, running_camera
from lossy_udp import LossyUdpProxy
from lumaflow_service.camera.captured_frame import CapturedFrame
from make_video import make_video

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
def test_every_damaged_frame_is_marked_during_packet_loss(tmp_path: Path, codec: str, loss: float) -> None:
    read_with_packet_loss(tmp_path, codec, loss, seconds=6)


def test_every_damaged_frame_is_marked_during_short_packet_loss(tmp_path: Path) -> None:
    read_with_packet_loss(tmp_path, "h264", 0.2, seconds=2)


def read_with_packet_loss(folder: Path, codec: str, loss: float, seconds: float) -> None:
    """Lose packets for `seconds`; compare the received frames with the sent ones."""
    encoder, options = CODECS[codec]
    video = make_video(folder / "a.mp4", FRAMES, (640, 480), codec=encoder, options=options)
    with av.open(str(video)) as container:
        sent = [frame.to_ndarray() for frame in container.decode(video=0)]
    with rtsp_server([f"/a={codec}:{video}"]) as server:
        proxy = LossyUdpProxy(server.port, seed=7)
        with running_camera(server.url("a", port=proxy.port), transport="udp") as run:
            run.wait_for_frames(5)
            proxy.loss = loss
            time.sleep(seconds)
            proxy.loss = 0.0
            recovered = len(run.frames)
            run.wait_for_frames(recovered + 2 * KEY_FRAMES, 10)
            status = run.camera.status
            assert not status.reconnects
        proxy.close()
    assert proxy.lost
    numbers = [sent_index(run, captured) for captured in run.frames]
    damaged = {
        captured.number: not np.array_equal(sent[number], captured.frame.to_ndarray())
        for number, captured in zip(numbers, run.frames, strict=True)
    }
    print(
        f"{codec}, {loss:.0%}: {proxy.lost} packets lost, {sum(damaged.values())} of {len(damaged)} damaged"
    )
    assert any(damaged.values())
    assert not [
        captured.number for captured in run.frames if damaged[captured.number] and not captured.corrupt
    ]
    assert status.corrupt >= sum(damaged.values())
    assert not any(
        captured.corrupt for captured in run.frames[recovered + KEY_FRAMES + 2 : recovered + 2 * KEY_FRAMES]
    )


def sent_index(run: CameraRun, captured: CapturedFrame) -> int:
    """The index of a received frame in the video, whose first frame is received first."""
    return round(
        float(captured.pts * captured.time_base - run.frames[0].pts * run.frames[0].time_base) * RATE
    )
