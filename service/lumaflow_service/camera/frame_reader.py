"""The frames of one open container, decoded: with what is doubtful marked, and sound passed on beside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from lumaflow_service.camera.corruption import CorruptionTracker
from lumaflow_service.camera.deinterlace import Deinterlacer
from lumaflow_service.camera.packet_loss import PacketLossMonitor
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode

AnyPacket: TypeAlias = "Packet[Any]"
NO_TIME_BASE = Fraction(1, 90_000)
"""Where a container does not say."""
KEY_SECONDS = 8.0
"""How long to wait for the first key frame."""
MOST_UNDECODED = 500
"""So many packets in a row without a picture, and it is not video that this decoder knows."""


@dataclass(frozen=True, slots=True)
class DecodedFrame:
    """A decoded picture, and when its packet arrived, on the monotonic clock.

    `corrupt` says that the decoder doubts it, or that it builds on one it doubts.
    """

    frame: VideoFrame
    corrupt: bool
    arrived: float


class FrameReader:
    """Reads an open container.

    `damaged` counts packets that gave no picture, `skipped` those before the first key frame; whoever reads
    them may set them to 0.
    """

    def __init__(self, container: InputContainer, watchdog: Watchdog, deinterlace: bool, waits: bool) -> None:
        self.container = container
        self.video = _main_video(container)
        self.audio = next(iter(container.streams.audio), None)
        self.damaged = self.skipped = 0
        self._watchdog = watchdog
        self._deinterlacer = Deinterlacer(self.video.time_base or NO_TIME_BASE) if deinterlace else None
        self._waits = waits
        self._losses = PacketLossMonitor()
        self._doubt = CorruptionTracker()
        self._before_was_doubtful = False
        self._fruitless = 0
        self._started = False
        self._began = time.monotonic()
        self.video.thread_type = (
            "SLICE"  # frame threads would hold frames back, and lose good ones near a bad one
        )

    def pictures(self, on_audio: Callable[[AnyPacket], None]) -> Iterator[DecodedFrame]:
        """Every picture until the end. Raises CameraError when it stalls or breaks off."""
        wanted = [self.video] if self.audio is None else [self.video, self.audio]
        for packet in self._packets(wanted):
            if packet.stream is not self.video:
                on_audio(packet)
            elif self._wanted(packet):
                yield from self._decode(packet)
            if self._waits and self._watchdog.overdue:
                raise CameraError(CameraErrorCode.STALLED, "data comes, but no picture")
        yield from self._decode(None)

    def _packets(self, wanted: list[Any]) -> Iterator[AnyPacket]:
        """Packet after packet, up to the end. Raises CameraError."""
        while True:
            try:
                packet = self._packet(wanted)
            except (av.ExitError, TimeoutError):
                seconds = self._watchdog.limit_seconds
                raise CameraError(CameraErrorCode.STALLED, f"nothing came for {seconds:.1f} s") from None
            except av.EOFError:
                return
            except av.FFmpegError as error:
                if not self._waits:
                    self.damaged += 1
                    return  # where a file is cut off
                raise CameraError(
                    CameraErrorCode.EOF, f"the connection broke: {error.strerror or 'no reason'}"
                ) from None
            if packet is None or (packet.dts is None and packet.size == 0):
                return
            yield packet

    def _packet(self, wanted: list[Any]) -> AnyPacket | None:
        """The next packet, asked for anew each time, so that the deadline follows the camera's pace.

        It has to be closed: what PyAV 18.1 holds meanwhile, 236 bytes a packet, stays for ever when its
        generator is only dropped.
        """
        packets: Any = self.container.demux(wanted)
        with self._watchdog.waiting(self._watchdog.limit_seconds), closing(packets), self._losses.heard():
            return next(packets, None)

    def _wanted(self, packet: AnyPacket) -> bool:
        """Whether to decode this packet: at first only from a key frame on, where one comes in time.

        A camera that refreshes line by line never sends one; its decoder then says what is corrupt.
        """
        if packet.is_corrupt or self._losses.missed:
            self._losses.missed = False
            self._doubt.arise()
        elif packet.is_keyframe:
            self._doubt.key(packet.pts)
        self._started = self._started or packet.is_keyframe or time.monotonic() - self._began > KEY_SECONDS
        self.skipped += not self._started
        return self._started

    def _decode(self, packet: AnyPacket | None) -> Iterator[DecodedFrame]:
        arrived = time.monotonic()
        try:
            frames = self.video.decode(packet)
        except av.EOFError:
            return
        except av.FFmpegError as error:
            self.damaged += 1
            self._doubt.arise()
            self._fruitless += 1
            if isinstance(error, NotImplementedError) or self._fruitless > MOST_UNDECODED:
                raise CameraError(
                    CameraErrorCode.CODEC, "its video cannot be decoded; choose another codec"
                ) from None
            return
        self._fruitless = 0 if frames else self._fruitless
        for frame in frames:
            doubtful = self._doubt.of(frame)
            if self._deinterlacer is None:
                yield DecodedFrame(frame, doubtful, arrived)
            elif (whole := self._deinterlacer(frame)) is not None:
                yield DecodedFrame(whole, doubtful or self._before_was_doubtful, arrived)
            self._before_was_doubtful = doubtful


def _main_video(container: InputContainer) -> VideoStream:
    """The first stream that moves; a cover picture only when there is nothing else."""
    streams = container.streams.video
    if not streams:
        kinds = " and ".join(sorted({stream.type for stream in container.streams})) or "nothing"
        raise CameraError(CameraErrorCode.CODEC, f"there is no video in it, only {kinds}")
    moving = [one for one in streams if not one.disposition & Disposition.attached_pic]
    return (moving or list(streams))[0]
