"""Enhanced frames and a fake sink, for tests of outputs."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from lumaflow.frame import Frame
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.media.color import ColorTags
from make_video import dim_frame

TIME_BASE = Fraction(1, 90_000)
WALL = 1_800_000_000.0
COLOR = ColorTags(6, 1, 6, 6, 64)


def output_frame(
    n: int, pts: int | None = None, size: tuple[int, int] = (96, 64), **changes: object
) -> OutputFrame:
    """Return enhanced frame `n` of a camera with 25 frames per second."""
    odd = size[0] % 2 or size[1] % 2
    frame = OutputFrame(
        frame=Frame.from_numpy(dim_frame(n, size)),
        pts=3600 * n if pts is None else pts,
        time_base=TIME_BASE,
        wall=WALL + n / 25,
        arrived=n / 25,
        sequence=n,
        lut="previous",
        epoch=1,
        corrupt=False,
        color=COLOR,
        encoder_format="yuv444p" if odd else "yuv420p",
    )
    return replace(frame, **changes)  # type: ignore[arg-type]


class FakeSink:
    """An OutputSink that fails for the first `failures` frames, and takes `seconds` for each.

    written : sequence numbers of the written frames
    delays : for each of them, the number of newer frames
    """

    note = ""
    free_bytes = None

    def __init__(self, failures: int = 0, seconds: float = 0.0) -> None:
        self.failures, self.seconds = failures, seconds
        self.written: list[int] = []
        self.delays: list[int] = []
        self.newest = self.closed = 0

    def set_audio_format(self, audio: AudioFormat | None) -> None: ...

    def write_audio(self, audio: AudioPacket) -> None: ...

    def write(self, frame: OutputFrame) -> bool:
        time.sleep(self.seconds)
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device", "/secret/path")
        self.written.append(frame.sequence)
        self.delays.append(self.newest - frame.sequence)
        return True

    def close(self) -> None:
        self.closed += 1


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
