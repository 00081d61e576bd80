"""The lanes of one device, one for each source, with copies of its last frame and results."""

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
from lumaflow_service.errors import no_recent_frame
from lumaflow_service.ipc.geometry_json import GeometryJson

Arrays = dict[str, NDArray[Any]]


class SourceLane:
    """A source's lane, with copies of its last frame and results in memory that is reused for each frame.

    raw, enhanced : the last frame before and after
    arrays : bins, lut, hog, lbp, heatmap_deviation and heatmap_distance as in `Enhanced`
    reply_fields : fields of the `Reply` that describe the last frame
    """

    def __init__(self, device: str, geometry: Geometry, options: dict[str, Any]) -> None:
        self.geometry = geometry
        self.options = options
        lane_options = SourceOptions.model_validate(options).to_pipeline()
        self.lane: Lane = open_lane(device, geometry, lane_options, LaneConfig(slots=1))
        self.raw, self.enhanced = Frame.empty(geometry), Frame.empty(self.lane.output)
        self.arrays: Arrays = {}
        self.reply_fields: dict[str, Any] = {}
        self.last_used = time.monotonic()

    def accepts(self, geometry: Geometry, options: dict[str, Any]) -> bool:
        """True when the next frame can use this lane: a device error may have left a frame in flight."""
        return self.geometry == geometry and self.options == options and not self.lane.in_flight

    def enhance(self, sequence: int, frame: Frame, out: Frame) -> Frame:
        """Enhance a frame into `out` and store its results; returns `out` with the frame's metadata."""
        started = time.perf_counter()
        self.lane.submit(frame, out)
        enhanced = self.lane.collect()
        seconds = time.perf_counter() - started
        self._store_arrays(result_arrays(enhanced))
        self.reply_fields = {
            "sequence": sequence,
            "lut": str(enhanced.lut_kind),
            "lut_age": enhanced.lut_age,
            "clamped": enhanced.clamped,
            "tone": enhanced.tone,
            "stage_seconds": {str(stage): taken for stage, taken in enhanced.stage_seconds.items()},
            "frame_seconds": seconds,
            "geometry": GeometryJson.of(self.geometry, frame.color.matrix),
            "output": GeometryJson.of(self.lane.output, frame.color.matrix),
            "output_text": str(self.lane.output),
            "device": self.lane.device,
        }
        return enhanced.frame

    def store_frames(self, raw: Frame, enhanced: Frame) -> None:
        """Copy a frame before and after enhancement, for views that are requested later."""
        self.raw, self.enhanced = copy_frame(raw, self.raw), copy_frame(enhanced, self.enhanced)

    def _store_arrays(self, arrays: Arrays) -> None:
        for name, array in arrays.items():
            stored = self.arrays.get(name)
            if stored is None or stored.shape != array.shape:
                self.arrays[name] = array.copy()
            else:
                np.copyto(stored, array)


def copy_frame(frame: Frame, out: Frame) -> Frame:
    """Copy a frame into `out`, which has the same geometry; returns `out` with the frame's colour."""
    for source, target in zip(frame.planes, out.planes, strict=True):
        np.copyto(target, source)
    return replace(out, color=frame.color)


def result_arrays(enhanced: Enhanced) -> Arrays:
    """The arrays of a result, without its pixels, by their names in an npz file."""
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
    """Opens a lane for each source; closes the least recently used above `max_lanes`, and idle ones."""

    def __init__(self, device: str, max_lanes: int, idle_seconds: float) -> None:
        self.device = device
        self._max_lanes = max_lanes
        self._idle_seconds = idle_seconds
        self._lanes: OrderedDict[str, SourceLane] = OrderedDict()

    def __len__(self) -> int:
        return len(self._lanes)

    def open(self, source: str, geometry: Geometry, options: dict[str, Any]) -> SourceLane:
        """The source's lane; a new one when the geometry or an option has changed since the last frame."""
        self.close_idle()
        lane = self._lanes.get(source)
        if lane is None or not lane.accepts(geometry, options):
            self.close(source)
            while len(self._lanes) >= self._max_lanes:
                self.close(next(iter(self._lanes)))
            lane = self._lanes[source] = SourceLane(self.device, geometry, options)
        lane.last_used = time.monotonic()
        self._lanes.move_to_end(source)
        return lane

    def get(self, source: str) -> SourceLane:
        """The source's lane with the results of its last frame. Raises UnknownSourceError without a frame."""
        lane = self._lanes.get(source)
        if lane is None or not lane.reply_fields:
            raise no_recent_frame(source, self._idle_seconds)
        return lane

    def close(self, source: str) -> None:
        """Close the source's lane, if it has one."""
        lane = self._lanes.pop(source, None)
        if lane is not None:
            lane.lane.close()

    def close_idle(self) -> None:
        """Close all lanes without a frame in the last `idle_seconds`."""
        limit = time.monotonic() - self._idle_seconds
        while self._lanes and next(iter(self._lanes.values())).last_used < limit:
            self.close(next(iter(self._lanes)))
