"""What a worker does for each kind of job, on the lane thread; slow encoding is left to the codec threads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.frame import Geometry, PixelFormat
from pipeline.options import ColorMode
from service.codec import encode_jpeg, encode_png, pack_npz
from service.doorbell import Job, Media, Op, View
from service.errors import FeatureOffError
from service.options import Feature
from service.slots import SlotMemory
from service.worker.answers import NAMES, heatmap_png, histogram_json, picked
from service.worker.canary import Canary
from service.worker.lanes import Lanes, SourceLane
from service.worker.order import Pixels, Task


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures for the reply, and where the answer lies: in `buffer`, or made for it by `encode`."""

    figures: dict[str, Any] = field(default_factory=dict)
    buffer: str = "answer"
    length: int = 0
    encode: Callable[[], bytes] | None = None


def pixels_in(memory: SlotMemory, job: Job, name: str, geometry: Geometry) -> Pixels:
    """One of the job's buffers as a picture of this geometry. Raises TooLargeError when it has less room."""
    return np.frombuffer(memory.buffer(job.slot, name, geometry.frame_bytes), np.uint8).reshape(
        geometry.shape
    )


class Ops:
    """The work itself, one method a kind of job."""

    def __init__(self, memory: SlotMemory, lanes: Lanes, jpeg_quality: int) -> None:
        self._memory = memory
        self._lanes = lanes
        self._quality = jpeg_quality
        self._canary = Canary(lanes.device)
        self._by_op: dict[str, Callable[[Task], Outcome]] = {
            Op.FRAME: self._frame,
            Op.SNAPSHOT: self._snapshot,
            Op.FEATURES: self._features,
            Op.HISTOGRAM: self._histogram,
            Op.HEATMAP: self._heatmap,
            Op.FORGET: self._forget,
            Op.CANARY: self._prove,
        }

    def run(self, task: Task) -> Outcome:
        """Do the task's job."""
        return self._by_op[task.job.op](task)

    def _frame(self, task: Task) -> Outcome:
        """Enhance one frame from the slot's frame buffer into its enhanced buffer."""
        job, pixels = task.job, task.pixels
        assert pixels is not None  # prepared by the codec threads or the receive loop
        geometry = Geometry(
            pixels.shape[1], pixels.shape[0], PixelFormat.GRAY8 if pixels.ndim == 2 else PixelFormat.BGR24
        )
        out = pixels_in(self._memory, job, "enhanced", geometry)
        lane = self._lanes.of(job.source, geometry, job.options)
        lane.step(job.sequence, pixels, out)
        if job.answer == Media.RAW:
            return Outcome(lane.figures, "enhanced", out.nbytes)
        return Outcome(lane.figures, encode=self._encoder(job, lane, out))

    def _encoder(self, job: Job, lane: SourceLane, out: Pixels) -> Callable[[], bytes] | None:
        match job.answer:
            case Media.JPEG:
                return lambda: encode_jpeg(out, self._quality)
            case Media.PNG:
                return lambda: encode_png(out)
            case Media.NPZ:
                arrays = picked(lane.arrays, job.features)
                return lambda: pack_npz({"enhanced": out, **arrays})
        return None

    def _snapshot(self, task: Task) -> Outcome:
        """The last frame as JPEG: copied here, encoded later, so that the next frame may come meanwhile."""
        job, lane = task.job, self._lanes.latest(task.job.source)
        picture = pixels_in(self._memory, job, "frame", lane.geometry)
        np.copyto(picture, lane.arrays["enhanced" if job.view == View.ENHANCED else "raw"])
        if job.view == View.SPLIT:
            middle = lane.geometry.width // 2
            np.copyto(picture[:, middle:], lane.arrays["enhanced"][:, middle:])
        return Outcome(lane.figures, encode=lambda: encode_jpeg(picture, self._quality))

    def _features(self, task: Task) -> Outcome:
        lane = self._lanes.latest(task.job.source)
        arrays = picked(lane.arrays, task.job.features)
        return Outcome(lane.figures, encode=lambda: pack_npz(arrays))

    def _histogram(self, task: Task) -> Outcome:
        lane = self._lanes.latest(task.job.source)
        picture = pixels_in(self._memory, task.job, "frame", lane.geometry)
        np.copyto(picture, lane.arrays["enhanced"])
        figures, arrays = lane.figures, picked(lane.arrays, [Feature.HISTOGRAM])
        color = ColorMode(lane.options.get("color", ColorMode.VALUE))
        return Outcome(figures, encode=lambda: histogram_json(figures, arrays, picture, color))

    def _heatmap(self, task: Task) -> Outcome:
        lane = self._lanes.latest(task.job.source)
        name = NAMES[Feature.HEATMAP][0]
        if name not in lane.arrays:
            raise FeatureOffError(
                f"the source {task.job.source!r} makes no heat map; add it to the features of its options"
            )
        deviation = lane.arrays[name].copy()
        return Outcome(lane.figures, encode=lambda: heatmap_png(deviation))

    def _forget(self, task: Task) -> Outcome:
        self._lanes.forget(task.job.source)
        return Outcome()

    def _prove(self, task: Task) -> Outcome:
        return Outcome({"device": self._canary.run()})
