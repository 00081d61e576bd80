"""WebRTC (WHEP): a real peer receives moving enhanced frames; everything is freed afterwards."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from browser import sending_frames
from conftest import RunningService
from lumaflow_service.api.app import STATUS
from lumaflow_service.errors import MissingExtraError
from lumaflow_service.webrtc import peers

aiortc = pytest.importorskip("aiortc", reason="the extra is missing; type: pip install -e '.[webrtc]'")

SOURCE = "yard"
TIMEOUT_SECONDS = 20.0
SDP = {"Content-Type": "application/sdp"}


@pytest.fixture(scope="module")
def shown(open_service: Callable[..., RunningService]) -> Iterator[RunningService]:
    """A service with a source that moves, and room for two viewers."""
    service = open_service(max_viewers=2)
    service.wait_ready()
    with sending_frames(str(service.client.base_url), SOURCE):
        while service.client.get(f"/v1/sources/{SOURCE}").json().get("sequence") is None:
            time.sleep(0.05)
        yield service


@asynccontextmanager
async def watching(
    client: httpx.Client, source: str = SOURCE, view: str = "enhanced"
) -> AsyncIterator[tuple[Any, httpx.Response]]:
    """A viewer's end, offered and answered: the track it receives, and the answer to its offer."""
    viewer = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))
    viewer.addTransceiver("video", direction="recvonly")
    tracks: asyncio.Queue[Any] = asyncio.Queue()
    viewer.on("track", tracks.put_nowait)
    try:
        await viewer.setLocalDescription(await viewer.createOffer())
        answer = await asyncio.to_thread(post, client, viewer.localDescription.sdp, source, view)
        assert answer.status_code == 201, answer.text
        await viewer.setRemoteDescription(aiortc.RTCSessionDescription(answer.text, "answer"))
        yield await tracks.get(), answer
    finally:
        await viewer.close()


def post(client: httpx.Client, offer: str, source: str = SOURCE, view: str = "enhanced") -> httpx.Response:
    """The answer to an offer."""
    return client.post(f"/v1/sources/{source}/whep", params={"view": view}, content=offer, headers=SDP)


async def seen(track: Any, number: int) -> list[NDArray[np.uint8]]:
    """The next frames, as luma."""
    frames = [await asyncio.wait_for(track.recv(), TIMEOUT_SECONDS) for _ in range(number)]
    return [frame.to_ndarray(format="gray") for frame in frames]


def test_a_viewer_receives_enhanced_frames_that_move(shown: RunningService) -> None:
    async def look(view: str) -> list[NDArray[np.uint8]]:
        async with watching(shown.client, view=view) as (track, _):
            return await seen(track, 8)

    raw, enhanced = asyncio.run(look("raw")), asyncio.run(look("enhanced"))
    assert {frame.shape for frame in enhanced} == {(180, 320)}
    differences = [np.abs(a.astype(int) - b).max() for a, b in pairwise(enhanced)]
    assert sum(difference > 20 for difference in differences) >= 4  # the square wanders
    assert np.mean(enhanced) > np.mean(raw) + 5


def test_frames_follow_each_other_in_real_time(shown: RunningService) -> None:
    async def look() -> list[float]:
        async with watching(shown.client) as (track, _):
            return [float(frame.pts * frame.time_base) for frame in [await track.recv() for _ in range(12)]]

    times = asyncio.run(look())
    assert all(later > earlier for earlier, later in pairwise(times))
    assert times[-1] - times[0] > 0.3


def test_a_frame_of_odd_size_becomes_an_even_one(shown: RunningService) -> None:
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/json"}
    query = {"format": "gray8", "width": 33, "height": 21}

    async def look() -> tuple[int, ...]:
        async with watching(shown.client, "odd") as (track, _):
            return (await seen(track, 1))[0].shape

    shown.client.post("/v1/sources/odd/frames", params=query, content=bytes(33 * 21), headers=headers)
    assert asyncio.run(look()) == (22, 34)


async def until_gone(client: httpx.Client, location: str) -> None:
    """Wait until a viewer is not there any more."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while client.delete(location).status_code != 404:
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


def test_delete_of_the_location_disconnects_the_viewer(shown: RunningService) -> None:
    async def look() -> None:
        async with watching(shown.client) as (track, answer):
            await seen(track, 1)
            location = answer.headers["Location"]
            assert shown.client.delete(location).status_code == 200
            await until_gone(shown.client, location)

    for _ in range(3):  # more than there is room for at once
        asyncio.run(look())


def test_the_track_ends_with_its_source(shown: RunningService) -> None:
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/json"}
    query = {"format": "gray8", "width": 64, "height": 48}
    shown.client.post("/v1/sources/ending/frames", params=query, content=bytes(64 * 48), headers=headers)

    async def look() -> None:
        async with watching(shown.client, "ending") as (track, answer):
            await seen(track, 1)
            shown.client.delete("/v1/sources/ending")
            await until_gone(shown.client, answer.headers["Location"])

    asyncio.run(look())


def test_a_viewer_over_the_limit_is_a_429(shown: RunningService) -> None:
    async def look() -> httpx.Response:
        async with watching(shown.client) as (one, _), watching(shown.client) as (other, answer):
            await asyncio.gather(seen(one, 1), seen(other, 1))  # connected: one that leaves now is noticed
            return await asyncio.to_thread(post, shown.client, answer.text)

    answer = asyncio.run(look())
    assert answer.status_code == 429
    assert "2 viewers are connected" in answer.json()["detail"]


OFFER = """v=0
o=- 1 1 IN IP4 0.0.0.0
s=-
t=0 0
m={kind} 9 UDP/TLS/RTP/SAVPF {payload}
c=IN IP4 0.0.0.0
a=mid:0
a=ice-ufrag:abcd
a=ice-pwd:0123456789012345678901
a=fingerprint:sha-256 {print}
a=setup:actpass
a=recvonly
a=rtcp-mux
a=rtpmap:{payload} {codec}/{rate}
"""
GOOD = {"kind": "video", "payload": 96, "codec": "VP8", "rate": 90000, "print": ":".join(["AB"] * 32)}


@pytest.mark.parametrize(
    "offer",
    [
        "",
        "hello",
        "v=0\n",
        OFFER.format(**{**GOOD, "kind": "audio", "codec": "PCMU", "payload": 0, "rate": 8000}),
        OFFER.format(**{**GOOD, "codec": "VP99"}),
        OFFER.format(**{**GOOD, "payload": "x"}),
        OFFER.format(**GOOD).replace("a=ice-ufrag:abcd\n", ""),
        OFFER.format(**GOOD).replace("a=fingerprint", "a=nothing"),
        OFFER.format(**GOOD).replace("m=video 9", "m=video \0"),
    ],
)
def test_an_invalid_offer_is_a_400_that_says_what_to_send(shown: RunningService, offer: str) -> None:
    answer = post(shown.client, offer)
    assert answer.status_code == 400, answer.text
    assert "a video section for VP8 or H.264" in answer.json()["detail"]


def test_a_request_without_an_sdp_offer_is_refused(shown: RunningService) -> None:
    path = f"/v1/sources/{SOURCE}/whep"
    assert shown.client.post(path, content="v=0").status_code == 415
    assert shown.client.post(path, content=b"v" * 70_000, headers=SDP).status_code == 413
    assert post(shown.client, OFFER.format(**GOOD), "nobody").status_code == 404
    assert shown.client.delete(f"{path}/nobody").status_code == 404
    assert shown.client.patch(path, content="x", headers=SDP).status_code == 405


def test_without_the_extra_it_is_a_501_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    taken = peers.WebRtcPeers(view_cache=None, max_peers=1)  # type: ignore[arg-type]
    with pytest.raises(MissingExtraError, match=r"pip install -e '\.\[webrtc\]'"):
        asyncio.run(taken.add(None, None, ""))  # type: ignore[arg-type]
    assert STATUS[MissingExtraError] == 501


def test_the_extra_is_reported_and_loaded_with_the_first_offer(
    client: httpx.Client, service: RunningService
) -> None:
    assert client.get("/v1/about").json()["webrtc"] is True
    maps = Path(f"/proc/{service.process.pid}/maps").read_text()
    assert "libavcodec" not in maps


def test_sigterm_disconnects_viewers_and_exits_with_status_0(
    open_service: Callable[..., RunningService],
) -> None:
    ending = open_service()
    ending.wait_ready()

    async def look() -> int:
        async with watching(ending.client) as (track, _):
            await seen(track, 1)
            ending.process.send_signal(signal.SIGTERM)
            return await asyncio.to_thread(ending.process.wait, TIMEOUT_SECONDS)

    with sending_frames(str(ending.client.base_url), SOURCE) as film:
        while ending.client.get("/v1/sources").json()["sources"] == []:
            time.sleep(0.05)
        film.stop()
        assert asyncio.run(look()) == 0
