"""Those who look by WebRTC: taken by their offer, kept under an id, let go when they leave."""

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


def available() -> bool:
    """Whether the extra is installed; nothing of it is loaded before the first offer."""
    return find_spec("aiortc") is not None


class WebRtcPeers:
    """The viewers' connections, by ids that cannot be guessed."""

    def __init__(self, pictures: ViewCache, most: int) -> None:
        self._pictures = pictures
        self._most = most
        self._peers: dict[str, WebRtcPeer] = {}
        self._lives: set[asyncio.Task[None]] = set()

    async def take(self, source: Source, view: View, offer: str) -> tuple[str, str]:
        """The id of a new viewer, and the answer (SDP) to its offer.

        Raises MissingExtraError, BadOfferError, and BusyError when there are too many viewers.
        """
        if not available():
            raise MissingExtraError(
                "WebRTC is not installed here; in the folder of lumaflow type: .venv/bin/pip install -e"
                " '.[webrtc]', or look by WebSocket"
            )
        if len(self._peers) >= self._most:
            raise BusyError(
                f"{len(self._peers)} viewers are watching, the most there may be; try again later"
            )
        from lumaflow_service.webrtc.peer import WebRtcPeer

        name, peer = secrets.token_urlsafe(16), WebRtcPeer(self._pictures.watch(source, view))
        self._peers[name] = peer
        life = asyncio.create_task(self._keep(name, peer))
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)
        try:
            return name, await peer.answer(offer)
        except Exception:
            peer.leave()
            raise

    def drop(self, name: str) -> None:
        """Let go of a viewer. Raises UnknownPeerError."""
        peer = self._peers.get(name)
        if peer is None:
            raise UnknownPeerError(f"there is no viewer {name!r}; it left, or never came")
        peer.leave()

    async def close(self) -> None:
        """Let go of all, and wait until they are gone."""
        for peer in self._peers.values():
            peer.leave()
        await asyncio.gather(*self._lives)

    async def _keep(self, name: str, peer: "WebRtcPeer") -> None:
        try:
            await peer.last()
        finally:
            del self._peers[name]
