"""Reading of a video file: its frames in order, and the packets of its other streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import av
import numpy as np
from av.container import InputContainer
from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame

from lumaflow.frame import Frame
from lumaflow.options import Orientation
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.file_kind import READABLE_IMAGES
from lumaflow_service.files.frame_planes import FramePlanes, working_format
from lumaflow_service.files.worker_threads import read_ahead
from lumaflow_service.media.color import ColorTags
from lumaflow_service.media.pixel_format import bit_depth
from lumaflow_service.media.video.reader import AnyPacket, VideoDecoder, stream_types

PacketOrFrame: TypeAlias = "AnyPacket | VideoFrame"
COPIED_TYPES = ("audio", "subtitle")
"""Types of streams that are copied without decoding."""
READ_AHEAD = 8
"""Decoded frames, and packets of copied streams, that wait for the lane at most."""
_BOTTOM_FIELD_FIRST = (3, 5)


@contextmanager
def open_video(
    path: Path, orientation: Orientation | None = None, with_chroma: bool = False
) -> Iterator[VideoReader]:
    """Open a video and decode its first frame.

    `orientation` reorients every frame, and the display matrix of the file is ignored. `with_chroma`: the
    lane enhances chroma too. Raises UsageError when the file is not a video or has no video stream,
    BadFileError when no frame of it can be decoded.
    """
    try:
        container = av.open(str(path.resolve()), container_options={"protocol_whitelist": "file"})
    except (av.FFmpegError, ValueError) as error:
        raise UsageError(
            f"{path} is neither a video nor a readable image; expected a video or one of {READABLE_IMAGES}"
        ) from error
    with container:
        if not container.streams.video:
            raise UsageError(f"{path} has no video stream, only {stream_types(container)}; give a video")
        yield VideoReader(path, container, orientation, with_chroma)


class VideoReader:
    """An open video file. `first` is its first frame as decoded, `tags` are its colour tags.

    It counts `corrupt` frames, and `restamped` ones whose pts is missing or not larger than the previous one.
    """

    def __init__(
        self, path: Path, container: InputContainer, orientation: Orientation | None, with_chroma: bool
    ) -> None:
        self.container = container
        self.copied: list[Stream] = [one for one in container.streams if one.type in COPIED_TYPES]
        self.corrupt = self.restamped = 0
        self._decoder = VideoDecoder(container)
        self.video = self._decoder.stream
        self._planes: dict[int, tuple[FramePlanes, int]] = {}
        self._packets_and_frames = self._read()
        self._before_first: list[PacketOrFrame] = []
        self.first = self._find_first_frame(path)
        self.tags = ColorTags.of(self.first)
        self.orientation = orientation or Orientation.NONE
        self._keeps_display_matrix = orientation is None
        self.pixel_format = working_format(self.first, self.orientation, with_chroma)
        self.time_base: Fraction = self.video.time_base or Fraction(1, 90_000)
        self._last_pts: int | None = None
        self._end = 0

    @property
    def expected_frames(self) -> int | None:
        """Number of frames by the header of the file, None when it does not tell it."""
        return self.video.frames or None

    @property
    def damaged(self) -> int:
        """Number of packets that could not be decoded."""
        return self._decoder.damaged

    @property
    def truncated(self) -> str | None:
        """After all frames: where a video ends that is shorter than its header tells, as text, else None."""
        start, expected = self.video.start_time or 0, self.video.duration
        if not expected or self._last_pts is None or self._end - start >= 0.9 * expected:
            return None
        found, duration = (float(ticks * self.time_base) for ticks in (self._end - start, expected))
        return f"after {found:.1f} s of {duration:.1f} s"

    @property
    def field_order(self) -> str | None:
        """x264's "tff" or "bff"; None for progressive video, and for an orientation that moves rows."""
        if not self.first.interlaced_frame:
            return None
        if self.orientation not in (Orientation.NONE, Orientation.FLIP_X):
            return None
        return "bff" if self.video.codec_context.field_order in _BOTTOM_FIELD_FIRST else "tff"

    @property
    def bits(self) -> int:
        """Bits of a decoded sample."""
        return bit_depth(self.first)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the first frame, reoriented."""
        width, height = self.first.width, self.first.height
        return (height, width) if self.orientation.swaps_sides else (width, height)

    @property
    def sample_aspect_ratio(self) -> Fraction | None:
        """Width of a pixel over its height, reoriented; None when the file does not tell it."""
        ratio = self.video.sample_aspect_ratio
        return 1 / ratio if ratio and self.orientation.swaps_sides else ratio

    @property
    def left_out(self) -> int:
        """Number of streams that are neither enhanced nor copied: more videos, data, attachments."""
        return len(self.container.streams) - 1 - len(self.copied)

    @property
    def display_matrix(self) -> tuple[int, ...] | None:
        """The nine numbers of FFmpeg's display matrix, by which a player rotates or mirrors, or None."""
        if not self._keeps_display_matrix:
            return None
        data: Any = self.first.side_data.get("DISPLAYMATRIX")
        return None if data is None else tuple(np.frombuffer(bytes(data), np.int32, 9).tolist())

    def frames(self, on_packet: Callable[[AnyPacket], None]) -> Iterator[Frame]:
        """A frame for the lane of every decoded frame. Packets of copied streams go to `on_packet`."""
        first, self._before_first = self._before_first, []
        with closing(read_ahead(chain(first, self._packets_and_frames), READ_AHEAD)) as items:
            for item in items:
                if isinstance(item, Packet):
                    on_packet(item)
                else:
                    yield self._lane_frame(item)

    def pop_planes(self, frame: Frame) -> tuple[FramePlanes, int]:
        """All planes of a frame from `frames`, and its duration in units of `time_base`; once a frame."""
        assert frame.pts is not None
        return self._planes.pop(frame.pts)

    def _find_first_frame(self, path: Path) -> VideoFrame:
        for item in self._packets_and_frames:
            self._before_first.append(item)
            if isinstance(item, VideoFrame):
                return item
        raise BadFileError(f"{path} is damaged: no frame of its video can be decoded")

    def _read(self) -> Iterator[PacketOrFrame]:
        packets = self.container.demux([self.video, *self.copied])
        while True:
            try:
                packet = next(packets)
            except (StopIteration, av.FFmpegError):  # the end, or where the file is truncated
                break
            if packet.stream is self.video:
                yield from self._decode(packet)
            elif packet.dts is not None:
                yield packet
        yield from self._decode(None)

    def _decode(self, packet: AnyPacket | None) -> list[VideoFrame]:
        try:
            return self._decoder.decode(packet)
        except av.FFmpegError:
            return []

    def _lane_frame(self, frame: VideoFrame) -> Frame:
        self.corrupt += frame.is_corrupt
        pts = self._next_pts(frame)
        planes = FramePlanes.of(frame, self.tags, self.pixel_format, self.orientation)
        self._planes[pts] = planes, frame.duration or 0
        return planes.lane_frame(self.tags, pts, self.time_base, frame.is_corrupt)

    def _next_pts(self, frame: VideoFrame) -> int:
        """The pts of the frame; one that is missing or does not increase follows the previous one."""
        pts, last = frame.pts, self._last_pts
        if pts is None or (last is not None and pts <= last):
            self.restamped += 1
            pts = 0 if last is None else last + max(1, frame.duration or 1)
        self._last_pts, self._end = pts, pts + (frame.duration or 0)
        return pts
