"""Detects lost RTP packets by FFmpeg's log: FFmpeg only logs a warning and decodes the rest."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import av.logging

RTP_MISSED = "RTP: missed"


class PacketLossMonitor:
    """`missed` becomes True when packets are lost; the reader of `missed` may set it to False."""

    def __init__(self) -> None:
        self.missed = False

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Capture FFmpeg's log during a read, on the thread that reads."""
        with av.logging.Capture() as lines:
            yield
        if lines and any(RTP_MISSED in message for _, _, message in lines):
            self.missed = True


def enable_packet_loss_log() -> None:
    """Let FFmpeg log every warning, for `PacketLossMonitor` only: none is written to the service's log."""
    if av.logging.get_level() is None:
        logging.getLogger("libav").setLevel(logging.CRITICAL + 1)
        av.logging.set_skip_repeated(False)
        av.logging.set_level(av.logging.WARNING)
