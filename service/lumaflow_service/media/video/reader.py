"""Decoding of the main video stream of an open container, for files and for cameras."""

from __future__ import annotations

from typing import Any, TypeAlias

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

AnyPacket: TypeAlias = "Packet[Any]"


class VideoDecoder:
    """Decodes the main video stream, `stream`, of a container that has one.

    `damaged` counts the packets that could not be decoded.
    """

    def __init__(self, container: InputContainer) -> None:
        self.stream = main_video_stream(container)
        # Frame threads would delay frames, and lose good frames near a damaged one.
        self.stream.thread_type = "SLICE"
        self.damaged = 0

    def decode(self, packet: AnyPacket | None) -> list[VideoFrame]:
        """The frames of a packet, or with None those that the decoder still holds.

        Raises FFmpegError when the packet cannot be decoded; the next packet may be.
        """
        try:
            return self.stream.decode(packet)
        except av.EOFError:
            return []
        except av.FFmpegError:
            self.damaged += 1
            raise


def main_video_stream(container: InputContainer) -> VideoStream:
    """The first video stream that is not an attached picture (cover art); without one, the first."""
    streams = container.streams.video
    attached = Disposition.attached_pic
    return next((stream for stream in streams if not stream.disposition & attached), streams[0])


def stream_types(container: InputContainer) -> str:
    """The types of the container's streams for a message: "audio and subtitle"."""
    return " and ".join(sorted({stream.type for stream in container.streams})) or "nothing"
