"""Drives lanes with frames that are already in their slots, so that no copy on the host is measured."""

from collections.abc import Sequence
from itertools import cycle
from time import perf_counter

import numpy as np

from lumaflow.frame import Frame
from lumaflow.lane import Lane
from lumaflow.options import Hog, LaneConfig, Lbp, Options

OPTIONS = Options(hog=Hog(), lbp=Lbp())
"""CLAHE 8x8, HOG in OpenCV's layout, uniform LBP."""

CUDA_CONFIGS = {
    "descriptors on the device": LaneConfig(timing_every=16, features_on_device=True),
    "descriptors downloaded": LaneConfig(timing_every=16),
}


def load_config(device: str) -> LaneConfig:
    """The configuration for measurements of many lanes or many frames."""
    return LaneConfig() if device == "cpu" else CUDA_CONFIGS["descriptors on the device"]


def fill_slots(lane: Lane, images: Sequence[Frame]) -> None:
    """Write an image into each slot. Every slot is used twice, so everything is compiled and captured."""
    for _, image in zip(range(2 * lane.config.slots), cycle(images), strict=False):
        for plane, source in zip(lane.next_input().planes, image.planes, strict=True):
            np.copyto(plane, source)
        submit_slot(lane)
        lane.collect()


def submit_slot(lane: Lane) -> None:
    """Submit the frame that is already in the next slot."""
    lane.submit(lane.next_input())


def seconds_per_frame(lanes: Sequence[Lane], count: int) -> float:
    """Seconds per frame of `count` frames in each lane, submitted to the lanes in turn without pauses."""
    start = perf_counter()
    for _ in range(count):
        for lane in lanes:
            if lane.in_flight == lane.config.slots:
                lane.collect()
            submit_slot(lane)
    for lane in lanes:
        while lane.in_flight:
            lane.collect()
    return (perf_counter() - start) / count / len(lanes)
