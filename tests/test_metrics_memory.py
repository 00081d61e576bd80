"""The memory metric of a device counts the memory of a lane until it is closed."""

import gc
import subprocess
import sys

import pytest

from lumaflow.backend import memory_usage, open_lane
from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry

FRAME = Geometry(1280, 720, PixelFormat.GRAY8)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)  # for the CPU see the test below
def test_memory_of_a_lane_is_counted_while_it_is_open(device: str) -> None:
    before = memory_usage(device)
    with open_lane(device, FRAME):
        during = memory_usage(device)
    gc.collect()
    assert during.device_bytes - before.device_bytes >= 2 * FRAME.frame_bytes
    assert during.pinned_bytes - before.pinned_bytes >= 2 * FRAME.frame_bytes
    assert memory_usage(device) == before


GROW = """
import numpy as np
from lumaflow.backend import memory_usage
before = memory_usage("cpu")
used = np.ones(64 << 20, np.uint8)
print(memory_usage("cpu").device_bytes - before.device_bytes, before.pinned_bytes)
"""


def test_on_the_cpu_the_memory_of_the_process_is_counted() -> None:
    # In a separate process: memory freed by earlier tests would reduce the difference.
    printed = subprocess.run([sys.executable, "-c", GROW], capture_output=True, text=True, check=True).stdout
    grown, pinned = map(int, printed.split())
    assert (64 << 20) * 0.9 < grown < (64 << 20) * 1.5
    assert pinned == 0
