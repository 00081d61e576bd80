"""`lumaflow bench lanes`: cost of a frame and memory, over many frames and over many lanes."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter

from lumaflow.backend import memory_usage, open_lane
from lumaflow.geometry import Geometry
from lumaflow_service.bench.figure import Entry, Figure, Limit
from lumaflow_service.bench.images import ImageKind, frames
from lumaflow_service.bench.lane_driver import OPTIONS, fill_slots, load_config, seconds_per_frame

GROWTH_GOAL = 1.1
LANES = (1, 4, 16, 64)


def measure_memory_growth(device: str, geometry: Geometry, count: int) -> Iterator[Entry]:
    """Yield the time per frame of the first and last tenth of `count` frames, and the growth of memory."""
    subject = f"{count} frames of {geometry} on {device}"
    config = load_config(device)
    with open_lane(device, geometry, OPTIONS, config) as lane:
        fill_slots(lane, frames(ImageKind.PHOTOGRAPH, geometry, config.slots))
        tenth = max(count // 10, 1)
        seconds_per_frame([lane], tenth)
        before = memory_usage(device)
        first = seconds_per_frame([lane], tenth)
        seconds_per_frame([lane], count - 2 * tenth)
        last, after = seconds_per_frame([lane], tenth), memory_usage(device)
    limit = Limit("the first tenth", first, GROWTH_GOAL)
    yield Figure(subject, "a frame, first tenth", "s", first)
    yield Figure(subject, "a frame, last tenth", "s", last, limit=limit)
    yield Figure(subject, "device memory taken", "bytes", float(after.device_bytes - before.device_bytes))
    yield Figure(subject, "pinned memory taken", "bytes", float(after.pinned_bytes - before.pinned_bytes))


def measure_lane_scaling(
    device: str, geometry: Geometry, count: int, lanes: Sequence[int] = LANES
) -> Iterator[Entry]:
    """Yield time per frame, time to open and memory of a lane, for each number of concurrent lanes.

    count : frames in all lanes together
    """
    subject = f"{geometry} on {device}, lanes beside each other"
    config = replace(load_config(device), slots=2)
    images = frames(ImageKind.PHOTOGRAPH, geometry, config.slots)
    limit = None
    for number in lanes:
        with ExitStack() as stack:
            before, start = memory_usage(device), perf_counter()
            opened = [
                stack.enter_context(open_lane(device, geometry, OPTIONS, config)) for _ in range(number)
            ]
            opening, after = perf_counter() - start, memory_usage(device)
            for lane in opened:
                fill_slots(lane, images)
            seconds = seconds_per_frame(opened, max(count // number, 1))
        yield Figure(subject, f"a frame, {number} lanes", "s", seconds, limit=limit)
        yield Figure(subject, f"to open one of {number}", "s", opening / number)
        memory = (after.device_bytes - before.device_bytes) / number
        yield Figure(subject, f"memory of one of {number}", "bytes", memory)
        limit = limit or Limit("one lane's", seconds, GROWTH_GOAL)
