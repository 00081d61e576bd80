"""The reading side of a video: its frames in order, and what travels beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from av.video.stream import VideoStream

from lumaflow.frame import Frame
from lumaflow.options import Orientation
from lumaflow_service.files.errors import BadFileError, UsageError
from lumaflow_service.files.file_kind import READ
from lumaflow_service.files.picture import MediaPicture, bits_of, worked_as
from lumaflow_service.media.color import YuvConversion

AnyPacket: TypeAlias = "Packet[Any]"
Item: TypeAlias = "AnyPacket | VideoFrame"
_BOTTOM_FIRST = (3, 5)
PASSENGERS = ("audio", "subtitle")
"""Kinds of stream that are copied as they are."""


@contextmanager
def open_film(path: Path, orientation: Orientation | None = None) -> Iterator[VideoReader]:
    """Open a video and decode its first frame.

    With an `orientation` its pictures are turned that way, and the turn that the file asks for is forgotten.
    Raises UsageError when it is none or has no picture, BadFileError when nothing in it can be decoded.
    """
    try:
        container = av.open(str(path.resolve()), container_options={"protocol_whitelist": "file"})
    except (av.FFmpegError, ValueError) as error:
        raise UsageError(
            f"{path} is neither a video nor an image that is read; the images are {READ}"
        ) from error
    with container:
        if not container.streams.video:
            raise UsageError(f"{path} has no video in it, only {_kinds(container)}")
        yield VideoReader(path, container, orientation)


def _kinds(container: InputContainer) -> str:
    return " and ".join(sorted({stream.type for stream in container.streams})) or "nothing"


class VideoReader:
    """An open video. `first` is its first frame as decoded, `size` that of its pictures as they are turned.

    It counts what went wrong on the way: `damaged` packets that gave no frame, `corrupt` frames, and
    `restamped` ones whose time was missing or ran backward.
    """

    def __init__(self, path: Path, container: InputContainer, orientation: Orientation | None) -> None:
        self.container = container
        self.video: VideoStream = _main_video(container)
        self.video.thread_type = "SLICE"  # frame threads lose the good frames around a damaged one
        self.passengers: list[Stream] = [one for one in container.streams if one.type in PASSENGERS]
        self.damaged = self.corrupt = self.restamped = 0
        self._pictures: dict[int, tuple[MediaPicture, int]] = {}
        self._items = self._read()
        self._held: list[Item] = []
        self.first = self._find_first(path)
        self.color = YuvConversion.of(self.first)
        self.turn = orientation or Orientation.NONE
        self._keeps_matrix = orientation is None
        self.format = worked_as(self.first, self.turn)
        self.time_base: Fraction = self.video.time_base or Fraction(1, 90_000)
        self._last_pts: int | None = None
        self._end = 0

    @property
    def frames_announced(self) -> int | None:
        """Number of frames the file says it has, None when it does not say."""
        return self.video.frames or None

    @property
    def cut_off(self) -> str | None:
        """Where a film that announces more ends, in words; None when all of it was there."""
        start, announced = self.video.start_time or 0, self.video.duration
        if not announced or self._last_pts is None or self._end - start >= 0.9 * announced:
            return None
        seen, whole = (float(ticks * self.time_base) for ticks in (self._end - start, announced))
        return f"after {seen:.1f} s of {whole:.1f} s"

    @property
    def interlaced(self) -> str | None:
        """ "tff" or "bff", whichever field comes first; None for whole frames, and where lines are turned."""
        if not self.first.interlaced_frame or self.turn not in (Orientation.NONE, Orientation.FLIP_X):
            return None
        return "bff" if self.video.codec_context.field_order in _BOTTOM_FIRST else "tff"

    @property
    def bits(self) -> int:
        """Bits of a decoded sample."""
        return bits_of(self.first)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the first picture, turned."""
        width, height = self.first.width, self.first.height
        return (height, width) if self.turn.swaps_sides else (width, height)

    @property
    def sample_aspect_ratio(self) -> Fraction | None:
        """Width of a pixel over its height, turned; None when the file does not say."""
        ratio = self.video.sample_aspect_ratio
        return 1 / ratio if ratio and self.turn.swaps_sides else ratio

    @property
    def left_out(self) -> int:
        """Streams that are neither enhanced nor copied: further videos, data, attachments."""
        return len(self.container.streams) - 1 - len(self.passengers)

    @property
    def display_matrix(self) -> tuple[int, ...] | None:
        """The nine numbers by which a player is to turn or mirror the picture, None when it is not to."""
        if not self._keeps_matrix:
            return None
        data: Any = self.first.side_data.get("DISPLAYMATRIX")
        return None if data is None else tuple(np.frombuffer(bytes(data), np.int32, 9).tolist())

    def frames(self, take: Callable[[AnyPacket], None]) -> Iterator[Frame]:
        """What is to be enhanced of every picture that can be decoded; packets of passengers go to `take`."""
        held, self._held = self._held, []
        for item in chain(held, self._items):
            if isinstance(item, Packet):
                take(item)
            else:
                yield self._frame(item)

    def taken(self, frame: Frame) -> tuple[MediaPicture, int]:
        """The picture and the duration (in units of `time_base`) of a frame from `frames`; asked for once."""
        assert frame.pts is not None
        return self._pictures.pop(frame.pts)

    def _find_first(self, path: Path) -> VideoFrame:
        for item in self._items:
            self._held.append(item)
            if isinstance(item, VideoFrame):
                return item
        raise BadFileError(f"{path} is damaged: no frame of its video can be decoded")

    def _read(self) -> Iterator[Item]:
        packets = self.container.demux([self.video, *self.passengers])
        while True:
            try:
                packet = next(packets)
            except (StopIteration, av.FFmpegError):  # the end, or where the file is cut off
                break
            if packet.stream is self.video:
                yield from self._decode(packet)
            elif packet.dts is not None:
                yield packet
        yield from self._decode(None)

    def _decode(self, packet: AnyPacket | None) -> list[VideoFrame]:
        try:
            return self.video.decode(packet)
        except av.EOFError:
            return []
        except av.FFmpegError:
            self.damaged += 1
            return []

    def _frame(self, picture: VideoFrame) -> Frame:
        self.corrupt += picture.is_corrupt
        pts = self._stamp(picture)
        taken = MediaPicture.of(picture, self.color, self.format, self.turn)
        self._pictures[pts] = taken, picture.duration or 0
        return taken.frame(self.color, pts, self.time_base, picture.is_corrupt)

    def _stamp(self, picture: VideoFrame) -> int:
        """The frame's own pts; one that is missing or runs backward is put after the one before."""
        pts, last = picture.pts, self._last_pts
        if pts is None or (last is not None and pts <= last):
            self.restamped += 1
            pts = 0 if last is None else last + max(1, picture.duration or 1)
        self._last_pts, self._end = pts, pts + (picture.duration or 0)
        return pts


def _main_video(container: InputContainer) -> VideoStream:
    """The first stream that moves; a cover picture only when there is nothing else."""
    streams = container.streams.video
    cover = av.stream.Disposition.attached_pic
    return next((one for one in streams if not one.disposition & cover), streams[0])
