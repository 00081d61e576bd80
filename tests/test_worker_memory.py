"""The memory limit of the worker: a frame that needs too much memory fails, and the worker continues."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import RunningService

SIDE = 4096
FRAME = bytes(range(256)) * (SIDE * SIDE * 3 // 256)
BOMB = """
import struct, sys, zlib
import numpy as np
from lumaflow_service.media.codec.opencv import cv2
from lumaflow_service.worker.memory_limit import limit_memory

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(side):
    rows = zlib.compress(bytes((side + 7) // 8 + 1) * side, 9)
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")

def decoded(side):
    try:
        return cv2.imdecode(np.frombuffer(png(side), np.uint8), cv2.IMREAD_COLOR) is not None
    except cv2.error:
        return False

assert decoded(64)
limit_memory(int(sys.argv[1]))
print(decoded(16000), decoded(64))
"""
"""A script that decodes a PNG of 31 KB with 768 MB of pixels, without the header check."""


def bomb(room_bytes: int) -> str:
    """Whether the bomb, and then a small image, were decoded with this limit."""
    command = [sys.executable, "-c", BOMB, str(room_bytes)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_decoder_over_the_limit_fails_and_the_process_continues() -> None:
    assert bomb(400 << 20) == "False True"


def test_without_the_limit_the_image_is_decoded() -> None:
    assert bomb(8 << 30) == "True True"


def test_the_limit_is_at_most_the_physical_memory_above_the_current_use() -> None:
    program = (
        "import resource; from lumaflow_service.worker.memory_limit import limit_memory;"
        "limit_memory(1 << 50);"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0])"
    )
    limit = int(subprocess.check_output([sys.executable, "-c", program]))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory < limit < memory + (4 << 30)


def test_a_source_over_the_memory_limit_is_a_503_and_the_others_continue(
    open_service: Callable[..., RunningService],
) -> None:
    tight = open_service(worker_bytes=1 << 30, slots=4)
    tight.wait_ready()

    def send(source: str) -> int:
        answer = tight.client.post(
            f"/v1/sources/{source}/frames",
            params={"format": "bgr24", "width": SIDE, "height": SIDE},
            content=FRAME,
            headers={"Content-Type": "application/octet-stream", "Accept": "application/json"},
        )
        if answer.status_code == 503:
            assert "LUMAFLOW_WORKER_BYTES" in answer.json()["detail"]
        return answer.status_code

    worker = tight.worker
    assert not re.search(r"Max address space +unlimited", Path(f"/proc/{worker}/limits").read_text())
    answers = [send(f"large{number}") for number in range(6)]
    assert answers[0] == 200
    assert set(answers) == {200, 503}
    assert send("large0") == 200
    assert tight.worker == worker
    assert tight.client.get("/readyz").status_code == 200
