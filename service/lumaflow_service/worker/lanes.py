"""The lanes of one device, one a source, each with copies of the last frame and all that came of it."""

import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.backend import open_lane
from lumaflow.frame import Enhanced, Frame
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane
from lumaflow.options import LaneConfig
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.errors import not_kept
from lumaflow_service.ipc.geometry_json import GeometryJson

Arrays = dict[str, NDArray[Any]]


class SourceLane:
    """A source's lane and its latest frame: `raw` and `shown` as it came and went, `figures` for the reply.

    arrays : bins, lut, hog, lbp, heatmap_deviation and heatmap_distance as in `Enhanced`. Everything is
        copied into the same memory frame after frame.
    """

    def __init__(self, device: str, geometry: Geometry, options: dict[str, Any]) -> None:
        self.geometry = geometry
        self.options = options
        wanted = SourceOptions.model_validate(options).to_pipeline()
        self.lane: Lane = open_lane(device, geometry, wanted, LaneConfig(slots=1))
        self.raw, self.shown = Frame.empty(geometry), Frame.empty(self.lane.output)
        self.arrays: Arrays = {}
        self.figures: dict[str, Any] = {}
        self.used = time.monotonic()

    def fits(self, geometry: Geometry, options: dict[str, Any]) -> bool:
        """Whether it can take a frame: not after one that a fault of the device kept."""
        return self.geometry == geometry and self.options == options and not self.lane.in_flight

    def step(self, sequence: int, frame: Frame, out: Frame) -> Frame:
        """Enhance one frame into `out` and keep all but the pictures; returns it with its tags."""
        started = time.perf_counter()
        self.lane.submit(frame, out)
        enhanced = self.lane.collect()
        seconds = time.perf_counter() - started
        self._keep(results(enhanced))
        self.figures = {
            "sequence": sequence,
            "lut": str(enhanced.lut_kind),
            "lut_age": enhanced.lut_age,
            "clamped": enhanced.clamped,
            "stage_seconds": {str(stage): time_ for stage, time_ in enhanced.stage_seconds.items()},
            "frame_seconds": seconds,
            "geometry": GeometryJson.of(self.geometry, frame.color.matrix),
            "output": GeometryJson.of(self.lane.output, frame.color.matrix),
            "output_text": str(self.lane.output),
            "device": self.lane.device,
        }
        return enhanced.frame

    def keep_pictures(self, frame: Frame, shown: Frame) -> None:
        """Copy the pictures of the last step, for views that are asked for later."""
        self.raw, self.shown = copied(frame, self.raw), copied(shown, self.shown)

    def _keep(self, arrays: Arrays) -> None:
        for name, array in arrays.items():
            kept = self.arrays.get(name)
            if kept is None or kept.shape != array.shape:
                self.arrays[name] = array.copy()
            else:
                np.copyto(kept, array)


def copied(frame: Frame, into: Frame) -> Frame:
    """The same frame in the memory of another one of its geometry."""
    for plane, place in zip(frame.planes, into.planes, strict=True):
        np.copyto(place, plane)
    return replace(into, color=frame.color)


def results(enhanced: Enhanced) -> Arrays:
    """The arrays of a result by the names they have in an npz file; the picture itself is not among them."""
    heatmap = enhanced.heatmap
    arrays: dict[str, NDArray[Any] | None] = {
        "bins": enhanced.bins,
        "lut": enhanced.lut,
        "hog": enhanced.hog,
        "lbp": enhanced.lbp,
        "heatmap_deviation": heatmap.deviation if heatmap else None,
        "heatmap_distance": heatmap.distance if heatmap else None,
    }
    return {name: array for name, array in arrays.items() if array is not None}


class Lanes:
    """Opens lanes as frames come, closes the least recent beyond `most` and those long idle."""

    def __init__(self, device: str, most: int, idle_seconds: float) -> None:
        self.device = device
        self._most = most
        self._idle_seconds = idle_seconds
        self._lanes: OrderedDict[str, SourceLane] = OrderedDict()

    def __len__(self) -> int:
        return len(self._lanes)

    def of(self, source: str, geometry: Geometry, options: dict[str, Any]) -> SourceLane:
        """The source's lane; a new one when the geometry or an option differs from the last frame's."""
        self.close_idle()
        lane = self._lanes.get(source)
        if lane is None or not lane.fits(geometry, options):
            self.forget(source)
            while len(self._lanes) >= self._most:
                self.forget(next(iter(self._lanes)))
            lane = self._lanes[source] = SourceLane(self.device, geometry, options)
        lane.used = time.monotonic()
        self._lanes.move_to_end(source)
        return lane

    def latest(self, source: str) -> SourceLane:
        """The source's lane with the results of its last frame. Raises UnknownSourceError without one."""
        lane = self._lanes.get(source)
        if lane is None or not lane.figures:
            raise not_kept(source, self._idle_seconds)
        return lane

    def forget(self, source: str) -> None:
        """Close the source's lane, if it has one."""
        lane = self._lanes.pop(source, None)
        if lane is not None:
            lane.lane.close()

    def close_idle(self) -> None:
        """Close all lanes that had no frame for long."""
        limit = time.monotonic() - self._idle_seconds
        while self._lanes and next(iter(self._lanes.values())).used < limit:
            self.forget(next(iter(self._lanes)))
