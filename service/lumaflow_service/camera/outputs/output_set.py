"""All outputs of one camera."""

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from lumaflow_service.camera.frame_reader import FrameReader
from lumaflow_service.camera.outputs.audio import AudioFormat, AudioPacket
from lumaflow_service.camera.outputs.output_frame import OutputFrame
from lumaflow_service.camera.outputs.output_thread import (
    FRESH_WAITING,
    MOST_WAITING,
    OutputSink,
    OutputThread,
)
from lumaflow_service.config.model import CameraConfig, OutputConfig
from lumaflow_service.media.video.reader import AnyPacket

LOST_SECONDS = 2.0
"""A camera that is gone for longer is shown as gone."""
STAND_IN_SECONDS = 0.5


class OutputSet:
    """Passes pictures and sound to every outlet; none waits for another."""

    def __init__(self, outlets: list[OutputThread]) -> None:
        self._outlets = outlets
        self._kind: AudioFormat | None = None
        self._last: OutputFrame | None = None
        self._stand_in: OutputFrame | None = None
        self._lock = threading.Lock()
        if any(outlet.no_signal for outlet in outlets):
            threading.Thread(target=self._watch, name="no signal", daemon=True).start()

    def __bool__(self) -> bool:
        return bool(self._outlets)

    def begin(self, feed: FrameReader) -> None:
        """A connection is made: its sound is of this kind from now on."""
        if self._outlets:
            self._kind = AudioFormat(feed.audio) if feed.audio is not None else None
            for outlet in self._outlets:
                outlet.offer(self._kind)

    def show(self, show: OutputFrame) -> None:
        """Give an enhanced picture to all."""
        with self._lock:
            self._last, self._stand_in = show, None
            for outlet in self._outlets:
                outlet.offer(show)

    def hear(self, packet: AnyPacket, offset: Fraction) -> None:
        """Give a packet of sound to all."""
        sound = AudioPacket.of(self._kind, packet, offset) if self._kind else None
        if sound is not None:
            for outlet in self._outlets:
                outlet.offer(sound)

    def states(self) -> list[dict[str, Any]]:
        """How each stands."""
        return [outlet.standing() for outlet in self._outlets]

    def close(self, seconds: float) -> None:
        """Finish all; those that are not done in time are left."""
        end = time.monotonic() + seconds
        for outlet in self._outlets:
            outlet.finish()
        for outlet in self._outlets:
            outlet.join(max(0.0, end - time.monotonic()))

    def _watch(self) -> None:
        """While the camera is gone, show that to those who want it."""
        from lumaflow_service.camera.outputs.signal_lost import lost_since

        while True:
            time.sleep(STAND_IN_SECONDS)
            with self._lock:
                last = self._last
                if last is None or time.monotonic() - last.arrived < LOST_SECONDS:
                    continue
                self._stand_in = self._stand_in or last.replaced(lost_since(last.frame, last.wall))
                picture = self._stand_in.at(time.monotonic())
                for outlet in self._outlets:
                    if outlet.no_signal:
                        outlet.offer(picture)


def open_outputs(camera: CameraConfig, name: str, folder: Path, clean: Callable[[str], str]) -> OutputSet:
    """The outputs of a camera's configuration; each opens its file or connection with its first picture."""
    return OutputSet([_outlet(camera, n, name, folder, clean) for n in range(len(camera.outputs))])


def _outlet(
    camera: CameraConfig, index: int, name: str, folder: Path, clean: Callable[[str], str]
) -> OutputThread:
    output, lossless = camera.outputs[index], camera.delivery == "lossless"
    room = FRESH_WAITING if output.publish and not lossless else MOST_WAITING
    sink = sink_of(output, name, folder)
    return OutputThread(f"{output.kind}-{index + 1}", sink, no_signal(output), lossless, clean, room)


def sink_of(output: OutputConfig, name: str, folder: Path) -> OutputSink:
    """What an output writes to. Imports only that: the first picture need not wait 0.1 s for OpenCV."""
    if output.record:
        from lumaflow_service.camera.outputs.recorder import Recorder

        return Recorder(output.record, folder)
    if output.publish:
        from lumaflow_service.camera.outputs.publisher import Publisher

        return Publisher(output.publish)
    if output.snapshot:
        from lumaflow_service.camera.outputs.snapshot import Snapshots

        return Snapshots(output.snapshot, folder)
    assert output.descriptors
    from lumaflow_service.camera.outputs.descriptors import DescriptorFiles

    return DescriptorFiles(output.descriptors, folder, name)


def no_signal(output: OutputConfig) -> bool:
    """Whether an output wants the picture that stands in for a lost camera."""
    encoded = output.record or output.publish
    return encoded is not None and encoded.no_signal
