"""A WebRTC peer connection that streams the newest views as video; a frame's pts is its send time."""

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
"""A peer that is not connected by then is closed."""
CLOCK_RATE = 90_000
CLOSED_STATES = ("failed", "closed")


class WebRtcPeer:
    """The connection of one viewer; `run_until_closed` owns it."""

    def __init__(self, views: AsyncGenerator[EncodedView, None]) -> None:
        self._views = views
        self._track = ViewTrack(views)
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))  # uses no STUN or TURN server
        self._connected, self._closed = asyncio.Event(), asyncio.Event()
        self._connection.on("connectionstatechange", self._on_state_change)
        self._track.on("ended", self._closed.set)

    async def answer(self, offer: str) -> str:
        """The SDP answer to an SDP offer. Raises BadOfferError."""
        connection = self._connection
        try:
            if "\na=fingerprint:" not in offer:
                raise ValueError("it contains no DTLS fingerprint")
            await connection.setRemoteDescription(RTCSessionDescription(offer, "offer"))
            if not any(transceiver.kind == "video" for transceiver in connection.getTransceivers()):
                raise ValueError("it contains no video section")
            connection.addTrack(self._track)
            await connection.setLocalDescription(await connection.createAnswer())
        except Exception as error:  # the SDP parser raises many types
            raise BadOfferError(
                f"the offer is not valid ({type(error).__name__}: {error});"
                " send SDP with a video section for VP8 or H.264"
            ) from error
        return str(connection.localDescription.sdp)

    def close(self) -> None:
        """Let `run_until_closed` return."""
        self._connected.set()
        self._closed.set()

    async def run_until_closed(self) -> None:
        """Wait until the viewer disconnects or the source is removed, then close the connection."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connected.wait()
            await self._closed.wait()
        except TimeoutError:
            pass
        finally:
            await self._connection.close()
            await self._views.aclose()

    def _on_state_change(self) -> None:
        if self._connection.connectionState in CLOSED_STATES:
            self.close()
        elif self._connection.connectionState == "connected":
            self._connected.set()


class ViewTrack(MediaStreamTrack):
    """A video track of views; a slow connection skips frames."""

    kind = "video"

    def __init__(self, views: AsyncGenerator[EncodedView, None]) -> None:
        super().__init__()
        self._views = views

    async def recv(self) -> VideoFrame:
        """The next frame. Raises MediaStreamError when the source is removed."""
        view = await anext(self._views, None)
        if view is None:
            self.stop()
            raise MediaStreamError("the source was removed, or the service stops")
        frame = await asyncio.to_thread(decode_view, view.jpeg)
        frame.pts, frame.time_base = int(time.monotonic() * CLOCK_RATE), Fraction(1, CLOCK_RATE)
        return frame


def decode_view(jpeg: bytes) -> VideoFrame:
    """Decode a view to yuv420p of limited range; odd sizes grow by one, because 4:2:0 needs even ones."""
    (frame,) = CodecContext.create("mjpeg", "r").decode(Packet(jpeg))
    assert isinstance(frame, VideoFrame)
    return frame.reformat(frame.width + frame.width % 2, frame.height + frame.height % 2, "yuv420p")
