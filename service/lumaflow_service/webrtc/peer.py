"""One viewer by WebRTC: newest pictures out as video, each as late as it is sent."""

import asyncio
import time
from collections.abc import AsyncGenerator
from fractions import Fraction

from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import Packet
from av.codec import CodecContext
from av.video.frame import VideoFrame

from lumaflow_service.control.view_cache import EncodedView
from lumaflow_service.errors import BadOfferError

CONNECT_SECONDS = 15.0
"""A viewer that is not connected by then is let go."""
CLOCK_RATE = 90_000
OVER = ("failed", "closed")


class WebRtcPeer:
    """A viewer's connection; `last` owns it until it is over."""

    def __init__(self, watched: AsyncGenerator[EncodedView, None]) -> None:
        self._watched = watched
        self._track = PictureTrack(watched)
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))  # asks nobody for addresses
        self._connected, self._over = asyncio.Event(), asyncio.Event()
        self._connection.on("connectionstatechange", self._look)
        self._track.on("ended", self._over.set)

    async def answer(self, offer: str) -> str:
        """The answer to an offer, both SDP. Raises BadOfferError."""
        connection = self._connection
        try:
            if "\na=fingerprint:" not in offer:
                raise ValueError("it has no fingerprint to know its sender by")
            await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            if not any(one.kind == "video" for one in connection.getTransceivers()):
                raise ValueError("it asks for no video")
            connection.addTrack(self._track)
            await connection.setLocalDescription(await connection.createAnswer())
        except Exception as error:  # whatever the parser stumbles over
            raise BadOfferError(
                f"an offer came that cannot be answered ({type(error).__name__}: {error}); send SDP that asks"
                " for video as VP8 or H.264"
            ) from error
        return str(connection.localDescription.sdp)

    def leave(self) -> None:
        """Let `last` end."""
        self._connected.set()
        self._over.set()

    async def last(self) -> None:
        """Return when the viewer has left, never came, or the source is no more; nothing is left then."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connected.wait()
            await self._over.wait()
        except TimeoutError:
            pass
        finally:
            await self._connection.close()
            await self._watched.aclose()

    def _look(self) -> None:
        if self._connection.connectionState in OVER:
            self.leave()
        elif self._connection.connectionState == "connected":
            self._connected.set()


class PictureTrack(MediaStreamTrack):
    """Picture after picture as frames of video; a slow line skips some."""

    kind = "video"

    def __init__(self, watched: AsyncGenerator[EncodedView, None]) -> None:
        super().__init__()
        self._watched = watched

    async def recv(self) -> VideoFrame:
        """The next frame. Raises MediaStreamError when the source is no more."""
        picture = await anext(self._watched, None)
        if picture is None:
            self.stop()
            raise MediaStreamError("the source was deleted, or the service stops")
        frame = await asyncio.to_thread(decoded, picture.jpeg)
        frame.pts, frame.time_base = int(time.monotonic() * CLOCK_RATE), Fraction(1, CLOCK_RATE)
        return frame


def decoded(jpeg: bytes) -> VideoFrame:
    """A picture of ours as 4:2:0 of limited range and even size, as video has it."""
    (frame,) = CodecContext.create("mjpeg", "r").decode(Packet(jpeg))
    assert isinstance(frame, VideoFrame)
    return frame.reformat(frame.width + frame.width % 2, frame.height + frame.height % 2, "yuv420p")
