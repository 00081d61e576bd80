"""The demo source: `python -m lumaflow_service.camera.demo CONNECTION MEMORY SLOTS` (ring size as JSON)."""

import json
import signal
import socket
import sys
import time
from itertools import count

import numpy as np

from lumaflow_service.demo.scene import FRAMES_PER_SECOND, Scene
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import FrameReady, SlotGranted
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import receive, send

GEOMETRY = GeometryJson(640, 360, "bgr24")
EVERY = 2
"""Every second frame of the scene is shown: as quick as filmed, at half the work."""


def main(arguments: list[str]) -> None:
    """Lay one frame of the scene into each slot that is lent, at the pace of the scene."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    connection = socket.socket(fileno=int(arguments[0]))
    memory = SlotMemory(int(arguments[1]), **json.loads(arguments[2]))
    scene = Scene(GEOMETRY.width, GEOMETRY.height)
    due = time.monotonic()
    for number, grant in zip(count(0, EVERY), receive(connection), strict=False):
        assert isinstance(grant, SlotGranted)
        picture = scene.frame(number)
        due = wait_until(due) + EVERY / FRAMES_PER_SECOND
        memory.check(grant.slot, grant.generation)
        buffer = np.frombuffer(memory.buffer(grant.slot, "frame", picture.nbytes), np.uint8)
        np.copyto(buffer, picture.reshape(-1))
        send(connection, FrameReady(grant.slot, grant.generation, GEOMETRY))


def wait_until(due: float) -> float:
    """Sleep until `due` on the monotonic clock; returns it, or now when it has passed."""
    left = due - time.monotonic()
    if left > 0:
        time.sleep(left)
        return due
    return due - left


if __name__ == "__main__":
    main(sys.argv[1:])
