"""Decodes the frames of an open camera or file, marks corrupt ones, and passes audio packets on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
from av.container import InputContainer
from av.video.frame import VideoFrame

from lumaflow_service.camera.corruption import CorruptionTracker
from lumaflow_service.camera.deinterlace import Deinterlacer
from lumaflow_service.camera.packet_loss import PacketLossMonitor
from lumaflow_service.camera.watchdog import Watchdog
from lumaflow_service.config.camera_errors import CameraError, CameraErrorCode
from lumaflow_service.media.video.reader import AnyPacket, VideoDecoder, stream_types

DEFAULT_TIME_BASE = Fraction(1, 90_000)
"""For a container that does not tell its time base."""
KEY_FRAME_SECONDS = 8.0
"""Longest wait for the first key frame."""
MAX_UNDECODABLE = 500
"""Packets in a row without a frame, after which the decoder is taken not to know this video."""


@dataclass(frozen=True, slots=True)
class DecodedFrame:
    """A decoded frame, and the arrival of its packet by the monotonic clock, in seconds.

    `corrupt`: the decoder reports damage, or the frame refers to a corrupt one.
    """

    frame: VideoFrame
    corrupt: bool
    arrived: float


class FrameReader:
    """Reads an open container. `live`: a read error or a stall is an error, not the end of the file.

    `skipped` counts the packets before the first key frame. The reader of the counts may set them to 0.
    Raises CameraError when the container has no video stream.
    """

    def __init__(self, container: InputContainer, watchdog: Watchdog, deinterlace: bool, live: bool) -> None:
        if not container.streams.video:
            types = stream_types(container)
            raise CameraError(CameraErrorCode.CODEC, f"expected a video stream, got only {types}")
        self.container = container
        self.decoder = VideoDecoder(container)
        self.video = self.decoder.stream
        self.audio = next(iter(container.streams.audio), None)
        self.skipped = 0
        self._watchdog = watchdog
        self._deinterlacer = Deinterlacer(self.video.time_base or DEFAULT_TIME_BASE) if deinterlace else None
        self._live = live
        self._losses = PacketLossMonitor()
        self._corruption = CorruptionTracker()
        self._previous_corrupt = False
        self._undecodable = 0
        self._started = False
        self._opened_at = time.monotonic()

    def frames(self, on_audio: Callable[[AnyPacket], None]) -> Iterator[DecodedFrame]:
        """Every frame until the end. Raises CameraError when the camera stalls or the connection breaks."""
        streams = [self.video] if self.audio is None else [self.video, self.audio]
        for packet in self._packets(streams):
            if packet.stream is not self.video:
                on_audio(packet)
            elif self._should_decode(packet):
                yield from self._decode(packet)
            if self._live and self._watchdog.overdue:
                raise CameraError(CameraErrorCode.STALLED, "expected a frame, got only packets without one")
        yield from self._decode(None)

    def _packets(self, streams: list[Any]) -> Iterator[AnyPacket]:
        """Packets until the end. Raises CameraError."""
        while True:
            try:
                packet = self._next_packet(streams)
            except (av.ExitError, TimeoutError):
                seconds = self._watchdog.limit_seconds
                raise CameraError(CameraErrorCode.STALLED, f"no data for {seconds:.1f} s") from None
            except av.EOFError:
                return
            except av.FFmpegError as error:
                if not self._live:
                    self.decoder.damaged += 1
                    return  # the file is truncated here
                raise CameraError(
                    CameraErrorCode.EOF, f"the connection broke: {error.strerror or 'unknown reason'}"
                ) from None
            if packet is None or (packet.dts is None and packet.size == 0):
                return
            yield packet

    def _next_packet(self, streams: list[Any]) -> AnyPacket | None:
        """The next packet, within a deadline that follows the frame rate of the camera.

        `closing` is needed: PyAV 18.1 leaks 236 bytes for each demux generator that is dropped unclosed.
        """
        packets: Any = self.container.demux(streams)
        with (
            self._watchdog.limit_call(self._watchdog.limit_seconds),
            closing(packets),
            self._losses.capture(),
        ):
            return next(packets, None)

    def _should_decode(self, packet: AnyPacket) -> bool:
        """Whether to decode this packet: from the first key frame on, or after KEY_FRAME_SECONDS.

        A camera with intra refresh never sends a key frame; its decoder reports which frames are corrupt.
        """
        if packet.is_corrupt or self._losses.missed:
            self._losses.missed = False
            self._corruption.mark()
        elif packet.is_keyframe:
            self._corruption.key_frame(packet.pts)
        waited = time.monotonic() - self._opened_at > KEY_FRAME_SECONDS
        self._started = self._started or packet.is_keyframe or waited
        self.skipped += not self._started
        return self._started

    def _decode(self, packet: AnyPacket | None) -> Iterator[DecodedFrame]:
        arrived = time.monotonic()
        try:
            frames = self.decoder.decode(packet)
        except av.FFmpegError as error:
            self._corruption.mark()
            self._undecodable += 1
            if isinstance(error, NotImplementedError) or self._undecodable > MAX_UNDECODABLE:
                raise CameraError(
                    CameraErrorCode.CODEC, "its video cannot be decoded; choose another codec"
                ) from None
            return
        self._undecodable = 0 if frames else self._undecodable
        for frame in frames:
            corrupt = self._corruption.is_corrupt(frame)
            if self._deinterlacer is None:
                yield DecodedFrame(frame, corrupt, arrived)
            elif (deinterlaced := self._deinterlacer(frame)) is not None:
                yield DecodedFrame(deinterlaced, corrupt or self._previous_corrupt, arrived)
            self._previous_corrupt = corrupt
