"""What a worker does for each kind of job, on the lane thread; slow encoding is left to the codec threads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import ColorMode, Orientation
from lumaflow_service.config.options import Feature
from lumaflow_service.errors import FeatureOffError
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, View
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.media.codec import displayed, encode_jpeg, encode_png, kept, pack_npz
from lumaflow_service.worker.canary import Canary
from lumaflow_service.worker.lanes import Lanes, SourceLane, copied
from lumaflow_service.worker.overlays import OVERLAYS
from lumaflow_service.worker.responses import NAMES, histogram_json, planes, select_features
from lumaflow_service.worker.source_queue import QueuedJob
from lumaflow_service.worker.views import encoded


@dataclass(frozen=True, slots=True)
class JobResult:
    """Figures for the reply, and where the answer lies: in `buffer`, or made for it by `encode`.

    `keep` copies what lies in the slot and is needed later; it may run beside `encode`, not after the reply.
    """

    figures: dict[str, Any] = field(default_factory=dict)
    buffer: str = "answer"
    length: int = 0
    encode: Callable[[], bytes] | None = None
    keep: Callable[[], None] = lambda: None


def frame_in(memory: SlotMemory, job: Job, name: str, geometry: Geometry) -> Frame:
    """One of the job's buffers as a frame of this geometry. Raises TooLargeError when it has less room."""
    return Frame.from_buffer(memory.buffer(job.slot, name, geometry.frame_bytes), geometry)


class Operations:
    """The work itself, one method a kind of job."""

    def __init__(self, memory: SlotMemory, lanes: Lanes, answer_quality: int, view_quality: int) -> None:
        self._memory = memory
        self._lanes = lanes
        self._answer_quality = answer_quality
        self._view_quality = view_quality
        self._canary = Canary(lanes.device)
        self._by_op: dict[str, Callable[[QueuedJob], JobResult]] = {
            Op.FRAME: self._frame,
            Op.SNAPSHOT: self._snapshot,
            Op.FEATURES: self._features,
            Op.HISTOGRAM: self._histogram,
            Op.HEATMAP: self._overlay,
            Op.HOG: self._overlay,
            Op.LBP: self._overlay,
            Op.FORGET: self._forget,
            Op.CANARY: self._prove,
        }

    def run(self, task: QueuedJob) -> JobResult:
        """Do the task's job."""
        return self._by_op[task.job.op](task)

    def _frame(self, task: QueuedJob) -> JobResult:
        """Enhance one frame from the slot's frame buffer into its enhanced buffer."""
        job, frame = task.job, task.frame
        assert frame is not None  # prepared by the codec threads or the receive loop
        lane = self._lanes.of(job.source, frame.geometry, job.options)
        out = frame_in(self._memory, job, "enhanced", lane.lane.output)
        shown = lane.step(job.sequence, frame, out)
        keep = partial(lane.keep_pictures, frame, shown)
        if job.answer == MediaType.RAW:
            return JobResult(lane.figures, "enhanced", lane.lane.output.frame_bytes, keep=keep)
        return JobResult(lane.figures, encode=self._encoder(job, lane, shown), keep=keep)

    def _encoder(self, job: Job, lane: SourceLane, shown: Frame) -> Callable[[], bytes] | None:
        match job.answer:
            case MediaType.JPEG:
                return lambda: encode_jpeg(displayed(shown), self._answer_quality)
            case MediaType.PNG:
                return lambda: encode_png(kept(shown))
            case MediaType.NPZ:
                arrays = select_features(lane.arrays, job.features)
                return lambda: pack_npz({**planes(shown), **arrays})
        return None

    def _snapshot(self, task: QueuedJob) -> JobResult:
        """The last frame as JPEG: copied here, encoded later, so that the next frame may come meanwhile."""
        job, lane = task.job, self._lanes.latest(task.job.source)
        raw = enhanced = None
        if job.view not in (View.ENHANCED, View.THUMBNAIL):
            raw = copied(lane.raw, frame_in(self._memory, job, "frame", lane.geometry))
        if job.view != View.RAW:
            enhanced = copied(lane.shown, frame_in(self._memory, job, "enhanced", lane.lane.output))
        orientation = Orientation(lane.options.get("orientation", Orientation.NONE))
        return JobResult(
            lane.figures,
            encode=lambda: encoded(job.view, raw, enhanced, orientation, self._view_quality),
        )

    def _features(self, task: QueuedJob) -> JobResult:
        lane = self._lanes.latest(task.job.source)
        arrays = select_features(lane.arrays, task.job.features)
        return JobResult(lane.figures, encode=lambda: pack_npz(arrays))

    def _histogram(self, task: QueuedJob) -> JobResult:
        lane = self._lanes.latest(task.job.source)
        shown = copied(lane.shown, frame_in(self._memory, task.job, "enhanced", lane.lane.output))
        figures, arrays = lane.figures, select_features(lane.arrays, [Feature.HISTOGRAM])
        color = ColorMode(lane.options.get("color", ColorMode.VALUE))
        return JobResult(figures, encode=lambda: histogram_json(figures, arrays, shown, color))

    def _overlay(self, task: QueuedJob) -> JobResult:
        """A feature of the last frame as a picture to lay over it."""
        lane, feature = self._lanes.latest(task.job.source), Feature(task.job.op)
        name = NAMES[feature][0]
        if name not in lane.arrays:
            raise FeatureOffError(
                f"the source {task.job.source!r} makes no {feature}; add it to the features of its options"
            )
        array, draw = lane.arrays[name].copy(), OVERLAYS[feature]
        return JobResult(lane.figures, encode=lambda: draw(array))

    def _forget(self, task: QueuedJob) -> JobResult:
        self._lanes.forget(task.job.source)
        return JobResult()

    def _prove(self, task: QueuedJob) -> JobResult:
        return JobResult({"device": self._canary.run()})
