"""Chromium for tests of the page, and clients that send frames."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, sync_playwright

from lumaflow_service.media.codec import encode_jpeg

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--allow-loopback-in-peer-connection",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
]
needs_chromium = pytest.mark.skipif(
    not os.access(CHROMIUM, os.X_OK), reason="chromium is missing; type: sudo apt-get install chromium"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def scene(number: int, width: int = 320, height: int = 180) -> NDArray[np.uint8]:
    """(H, W, 3) BGR: a dim striped background with a brighter square that moves."""
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = np.linspace(4, 40, width).astype(np.uint8)[None, :, None]
    picture[::8] //= 2
    picture[:, ::24] //= 3
    left = number * 5 % (width - 40)
    picture[height // 3 : height // 3 + 40, left : left + 40] = (50, 90, 110)
    return picture


class FrameSender:
    """A client that sends images to a source in a loop until it is stopped.

    raw : query with the format, for raw frames
    """

    def __init__(
        self,
        address: str,
        source: str,
        pictures: list[bytes],
        frames_per_second: float = 15.0,
        token: str = "",
        raw: str = "",
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=address, timeout=30, headers=headers)
        self._path = f"/v1/sources/{source}/frames?{raw}"
        self._media = "application/octet-stream" if raw else "image/jpeg"
        self._pause = 1 / frames_per_second
        self._pictures = pictures
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        headers = {"Content-Type": self._media, "Accept": "application/json"}
        while not self._stop.wait(self._pause):
            self._client.post(
                self._path, content=self._pictures[number % len(self._pictures)], headers=headers
            )
            number += 1

    def stop(self) -> None:
        """Stop sending."""
        self._stop.set()
        self._thread.join()
        self._client.close()


@contextmanager
def sending_frames(
    address: str, source: str, pictures: list[bytes] | None = None, token: str = "", raw: str = ""
) -> Iterator[FrameSender]:
    """Sends images to a source inside the `with` block; by default those of `scene`."""
    sent = pictures or [encode_jpeg(scene(number)) for number in range(32)]
    sender = FrameSender(address, source, sent, token=token, raw=raw)
    try:
        yield sender
    finally:
        sender.stop()
