"""The operations of the worker. They run on the lane thread and leave slow encoding to the codec threads."""

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
from lumaflow_service.media.codec import display_pixels, encode_jpeg, encode_png, lossless_pixels, pack_npz
from lumaflow_service.worker.canary import Canary
from lumaflow_service.worker.lanes import Lanes, SourceLane, copy_frame
from lumaflow_service.worker.overlays import OVERLAYS
from lumaflow_service.worker.responses import FEATURE_ARRAYS, histogram_json, named_planes, select_features
from lumaflow_service.worker.source_queue import QueuedJob
from lumaflow_service.worker.views import encode_view


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job.

    fields : of the `Reply`
    buffer, length : the slot's buffer that holds the response, and its length in bytes
    encode : creates the response for `buffer`, on a codec thread
    copy_frames : copies frames out of the slot for later views; may run beside `encode`, but before the reply
    """

    fields: dict[str, Any] = field(default_factory=dict)
    buffer: str = "answer"
    length: int = 0
    encode: Callable[[], bytes] | None = None
    copy_frames: Callable[[], None] = lambda: None


def frame_in(memory: SlotMemory, job: Job, name: str, geometry: Geometry) -> Frame:
    """A buffer of the job's slot as a frame of this geometry. Raises TooLargeError when it does not fit."""
    return Frame.from_buffer(memory.buffer(job.slot, name, geometry.frame_bytes), geometry)


class Operations:
    """One method for each operation."""

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
            Op.CANARY: self._run_canary,
        }

    def run(self, queued: QueuedJob) -> JobResult:
        """Run a job. Raises LumaflowError."""
        return self._by_op[queued.job.op](queued)

    def _frame(self, queued: QueuedJob) -> JobResult:
        """Enhance a frame from the slot's frame buffer into its enhanced buffer."""
        job, frame = queued.job, queued.frame
        assert frame is not None  # decoded by a codec thread
        lane = self._lanes.open(job.source, frame.geometry, job.options)
        out = frame_in(self._memory, job, "enhanced", lane.lane.output)
        enhanced = lane.enhance(job.sequence, frame, out)
        copy_frames = partial(lane.store_frames, frame, enhanced)
        if job.answer == MediaType.RAW:
            return JobResult(
                lane.reply_fields, "enhanced", lane.lane.output.frame_bytes, copy_frames=copy_frames
            )
        return JobResult(
            lane.reply_fields, encode=self._encoder(job, lane, enhanced), copy_frames=copy_frames
        )

    def _encoder(self, job: Job, lane: SourceLane, enhanced: Frame) -> Callable[[], bytes] | None:
        match job.answer:
            case MediaType.JPEG:
                return lambda: encode_jpeg(display_pixels(enhanced), self._answer_quality)
            case MediaType.PNG:
                return lambda: encode_png(lossless_pixels(enhanced))
            case MediaType.NPZ:
                arrays = select_features(lane.arrays, job.features)
                return lambda: pack_npz({**named_planes(enhanced), **arrays})
        return None

    def _snapshot(self, queued: QueuedJob) -> JobResult:
        """The last frame as JPEG: copied here and encoded later, so the next frame does not wait."""
        job, lane = queued.job, self._lanes.get(queued.job.source)
        raw = enhanced = None
        if job.view not in (View.ENHANCED, View.THUMBNAIL):
            raw = copy_frame(lane.raw, frame_in(self._memory, job, "frame", lane.geometry))
        if job.view != View.RAW:
            enhanced = copy_frame(lane.enhanced, frame_in(self._memory, job, "enhanced", lane.lane.output))
        orientation = Orientation(lane.options.get("orientation", Orientation.NONE))
        return JobResult(
            lane.reply_fields,
            encode=lambda: encode_view(job.view, raw, enhanced, orientation, self._view_quality),
        )

    def _features(self, queued: QueuedJob) -> JobResult:
        lane = self._lanes.get(queued.job.source)
        arrays = select_features(lane.arrays, queued.job.features)
        return JobResult(lane.reply_fields, encode=lambda: pack_npz(arrays))

    def _histogram(self, queued: QueuedJob) -> JobResult:
        lane = self._lanes.get(queued.job.source)
        enhanced = copy_frame(lane.enhanced, frame_in(self._memory, queued.job, "enhanced", lane.lane.output))
        fields, arrays = lane.reply_fields, select_features(lane.arrays, [Feature.HISTOGRAM])
        color = ColorMode(lane.options.get("color", ColorMode.VALUE))
        return JobResult(fields, encode=lambda: histogram_json(fields, arrays, enhanced, color))

    def _overlay(self, queued: QueuedJob) -> JobResult:
        """A feature of the last frame as a PNG overlay."""
        lane, feature = self._lanes.get(queued.job.source), Feature(queued.job.op)
        name = FEATURE_ARRAYS[feature][0]
        if name not in lane.arrays:
            raise FeatureOffError(
                f"{queued.job.source!r} does not extract {feature}; add it to the features of its options"
            )
        array, draw = lane.arrays[name].copy(), OVERLAYS[feature]
        return JobResult(lane.reply_fields, encode=lambda: draw(array))

    def _forget(self, queued: QueuedJob) -> JobResult:
        self._lanes.close(queued.job.source)
        return JobResult()

    def _run_canary(self, queued: QueuedJob) -> JobResult:
        return JobResult({"device": self._canary.run()})
