"""Packets that never came. FFmpeg writes a line about them, and decodes on as if nothing were missing."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import av.logging

MISSED = "RTP: missed"


class PacketLossMonitor:
    """Whether packets were missed; whoever reads `missed` may set it to False."""

    def __init__(self) -> None:
        self.missed = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Around a read, on the thread that reads."""
        with av.logging.Capture() as lines:
            yield
        if lines and any(MISSED in message for _, _, message in lines):
            self.missed = True


def monitor_packet_loss() -> None:
    """Let FFmpeg's warnings through, every one of them, and no further than to `PacketLossMonitor`."""
    if av.logging.get_level() is None:
        logging.getLogger("libav").setLevel(logging.CRITICAL + 1)
        av.logging.set_skip_repeated(False)
        av.logging.set_level(av.logging.WARNING)
