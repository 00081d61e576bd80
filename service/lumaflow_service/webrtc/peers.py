"""All WebRTC peers by id: added with an SDP offer, removed when the viewer disconnects."""

import asyncio
import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lumaflow_service.control.sources import Source
from lumaflow_service.control.view_cache import ViewCache
from lumaflow_service.errors import BusyError, MissingExtraError, UnknownPeerError
from lumaflow_service.ipc.messages import View

if TYPE_CHECKING:
    from lumaflow_service.webrtc.peer import WebRtcPeer


def webrtc_installed() -> bool:
    """True when the extra is installed. It is loaded with the first offer only."""
    return find_spec("aiortc") is not None


class WebRtcPeers:
    """The peers by unguessable ids."""

    def __init__(self, view_cache: ViewCache, max_peers: int) -> None:
        self._view_cache = view_cache
        self._max_peers = max_peers
        self._peers: dict[str, WebRtcPeer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, source: Source, view: View, offer: str) -> tuple[str, str]:
        """Connect a viewer; returns the id of its peer and the SDP answer to its offer.

        Raises MissingExtraError, BadOfferError, and BusyError when there are too many viewers.
        """
        if not webrtc_installed():
            raise MissingExtraError(
                "WebRTC is not installed here; in the folder of lumaflow type: .venv/bin/pip install -e"
                " '.[webrtc]', or watch over a WebSocket"
            )
        if len(self._peers) >= self._max_peers:
            raise BusyError(f"{len(self._peers)} viewers are connected, the maximum; try again later")
        from lumaflow_service.webrtc.peer import WebRtcPeer

        name, peer = secrets.token_urlsafe(16), WebRtcPeer(self._view_cache.watch(source, view))
        self._peers[name] = peer
        task = asyncio.create_task(self._run(name, peer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return name, await peer.answer(offer)
        except Exception:
            peer.close()
            raise

    def remove(self, name: str) -> None:
        """Disconnect a viewer. Raises UnknownPeerError."""
        peer = self._peers.get(name)
        if peer is None:
            raise UnknownPeerError(f"unknown viewer {name!r}; it has disconnected or never connected")
        peer.close()

    async def close(self) -> None:
        """Disconnect all viewers and wait until their connections are closed."""
        for peer in self._peers.values():
            peer.close()
        await asyncio.gather(*self._tasks)

    async def _run(self, name: str, peer: "WebRtcPeer") -> None:
        try:
            await peer.run_until_closed()
        finally:
            del self._peers[name]
