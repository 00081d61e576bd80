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
    MAX_QUEUED_FRAMES,
    MAX_QUEUED_LIVE_FRAMES,
    OutputSink,
    OutputThread,
)
from lumaflow_service.config.model import CameraConfig, OutputConfig
from lumaflow_service.media.video.reader import AnyPacket

LOST_SECONDS = 2.0
"""Time without a frame after which the camera is shown as lost."""
NO_SIGNAL_INTERVAL_SECONDS = 0.5


class OutputSet:
    """Passes frames and audio to all outputs, which do not wait for each other."""

    def __init__(self, outputs: list[OutputThread]) -> None:
        self._outputs = outputs
        self._audio_format: AudioFormat | None = None
        self._last: OutputFrame | None = None
        self._no_signal: OutputFrame | None = None
        self._lock = threading.Lock()
        if any(output.no_signal for output in outputs):
            threading.Thread(target=self._write_no_signal, name="no signal", daemon=True).start()

    def __bool__(self) -> bool:
        return bool(self._outputs)

    def connected(self, reader: FrameReader) -> None:
        """Set the audio format of a new connection."""
        if self._outputs:
            self._audio_format = AudioFormat(reader.audio) if reader.audio is not None else None
            for output in self._outputs:
                output.put(self._audio_format)

    def write(self, frame: OutputFrame) -> None:
        """Queue an enhanced frame for all outputs."""
        with self._lock:
            self._last, self._no_signal = frame, None
            for output in self._outputs:
                output.put(frame)

    def write_audio(self, packet: AnyPacket, offset: Fraction) -> None:
        """Queue an audio packet for all outputs; `offset` seconds are added to its time."""
        audio = AudioPacket.of(self._audio_format, packet, offset) if self._audio_format else None
        if audio is not None:
            for output in self._outputs:
                output.put(audio)

    def states(self) -> list[dict[str, Any]]:
        """Return state and counts of each output as JSON values."""
        return [output.report() for output in self._outputs]

    def close(self, seconds: float) -> None:
        """Finish all outputs, and wait at most this long for all of them."""
        end = time.monotonic() + seconds
        for output in self._outputs:
            output.finish()
        for output in self._outputs:
            output.join(max(0.0, end - time.monotonic()))

    def _write_no_signal(self) -> None:
        """While the camera is lost, write a `no signal` picture to the outputs that want one."""
        from lumaflow_service.camera.outputs.signal_lost import no_signal_frame

        while True:
            time.sleep(NO_SIGNAL_INTERVAL_SECONDS)
            with self._lock:
                last = self._last
                if last is None or time.monotonic() - last.arrived < LOST_SECONDS:
                    continue
                if self._no_signal is None:
                    self._no_signal = last.with_frame(no_signal_frame(last.frame, last.wall))
                frame = self._no_signal.at(time.monotonic())
                for output in self._outputs:
                    if output.no_signal:
                        output.put(frame)


def open_outputs(camera: CameraConfig, name: str, folder: Path, redact: Callable[[str], str]) -> OutputSet:
    """Start the outputs of a camera; each opens its file or connection at its first frame."""
    return OutputSet([_output_thread(camera, n, name, folder, redact) for n in range(len(camera.outputs))])


def _output_thread(
    camera: CameraConfig, index: int, name: str, folder: Path, redact: Callable[[str], str]
) -> OutputThread:
    output, lossless = camera.outputs[index], camera.delivery == "lossless"
    max_frames = MAX_QUEUED_LIVE_FRAMES if output.publish and not lossless else MAX_QUEUED_FRAMES
    sink = open_sink(output, name, folder)
    return OutputThread(
        f"{output.kind}-{index + 1}", sink, wants_no_signal(output), lossless, redact, max_frames
    )


def open_sink(output: OutputConfig, name: str, folder: Path) -> OutputSink:
    """Make the sink of an output. Imports only its module: importing OpenCV would delay the first frame."""
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


def wants_no_signal(output: OutputConfig) -> bool:
    """Return whether an output shows a picture while the camera is lost."""
    encoded = output.record or output.publish
    return encoded is not None and encoded.no_signal
