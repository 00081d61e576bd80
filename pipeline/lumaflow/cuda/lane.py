"""The CUDA lane: enhances frame N with the LUT of frame N-1, while the LUT of frame N is computed."""

from contextlib import suppress
from typing import Any

import cupy

from lumaflow.adaptive import ToneReporter
from lumaflow.cuda import transfer
from lumaflow.cuda.adaptive import figures_of, uses_own_mapping
from lumaflow.cuda.autotune_cache import launch_config_for
from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch_config import LaunchConfig
from lumaflow.cuda.result import accessible_from_gpu, build_result, same_chroma
from lumaflow.cuda.slot import CudaSlot, InFlightFrame, Planes
from lumaflow.cuda.step import CudaStep
from lumaflow.cuda.streams import Streams, record_external, wait_external
from lumaflow.frame import Enhanced, Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.lane import Lane, RingBuffer, above_bit_depth, check_frame, output_geometry
from lumaflow.lut_selector import LutSelector
from lumaflow.options import LaneConfig, Options
from lumaflow.stage import Stage

FRAME_GRAPH_BYTES = 3 << 20
"""Frames up to this size are captured together with their copies. At 720p this takes 33 us per frame instead
of 44 us, because the host is the bottleneck. At 1080p both are equal; at 4K separate copies use PCIe 1 to 2 %
better (H200).
"""

ENQUEUING, WAITING = translate_cuda_errors("enqueuing a frame"), translate_cuda_errors("waiting for a frame")


class CudaLane(Lane):
    """A lane on one GPU: `submit` only enqueues work, `collect` waits for the oldest frame.

    The step of each slot is captured as two CUDA graphs: one enhances the frame; the other computes HOG and
    LBP, while the enhanced frame is downloaded. Copies are not captured, because the host memory of a frame
    can be any pinned memory. Frames that use their own LUT and corrupt frames run without a graph. A small
    frame in its slot, without `out` and without stage times, uses a third graph that includes the copies: a
    single launch.

    The GPU writes enhanced planes directly to an `out` in pinned or device memory; `collect` copies them to
    any other `out`. Planes on the device are read and written after the work on CuPy's current stream.

    A sample above the bit depth is detected on the GPU, so `collect` raises the FrameError. The rejected
    frame consumes no sequence number and its LUT is discarded. Exception: if it is the first frame, frames
    already in flight behind it use its LUT, computed from clamped samples.

    step, ring, streams : for `lumaflow.cuda.bench`; not part of the public API
    """

    def __init__(
        self,
        index: int,
        geometry: Geometry,
        options: Options,
        config: LaneConfig,
        launch_config: LaunchConfig | None = None,
    ) -> None:
        self.device = f"cuda:{index}"
        self.geometry = geometry
        self.output = output_geometry(geometry, options)
        self.options, self.config = options, config
        self._keeps_chroma = _keeps_chroma(geometry, options)
        plan = plan_frame(geometry, options)
        self._chooses_on_device = plan.smooths or options.equalization.mode.adaptive
        self._device = cupy.cuda.Device(index)
        null = (
            cupy.cuda.Stream.null
        )  # clears and initializes the memory, whatever the caller's current stream is
        with translate_cuda_errors(f"opening a lane for {geometry}"), self._device, null:
            self.streams = Streams()
            launches = launch_config or launch_config_for(index)
            self.step = CudaStep(geometry, options, config, self.streams, launches)
            # A step reads the slot of the previous frame, so there are at least two slots.
            number, on_device = max(config.slots, 2), config.features_on_device
            slots = [CudaSlot(geometry, options, on_device) for _ in range(number)]
            self.ring = RingBuffer(slots, config.slots)
            # LUT of each frame at `submit`, and at `collect`, where rejected frames are excluded.
            self._submitted_luts, self._collected_luts = (
                LutSelector(options.equalization.mode) for _ in range(2)
            )
            self._tone = ToneReporter()
            self._sequence = 0
            null.synchronize()  # the streams of the lane do not wait for the null stream
            if config.graph:
                self._capture_graphs()

    @property
    def in_flight(self) -> int:
        return self.ring.in_flight

    def next_input(self) -> Frame:
        return self.ring.next().input

    def submit(self, frame: Frame, out: Frame | None = None) -> None:
        slot = self.ring.next()
        check_frame(self.geometry, frame, self.output, out)
        with ENQUEUING, self._device:
            slot.in_flight = in_flight = self._in_flight_frame(frame, out)
            try:
                self._enqueue(self.ring.previous(slot), slot, in_flight)
            except BaseException:
                with suppress(cupy.cuda.runtime.CUDARuntimeError):
                    self._synchronize()  # so that the slot can be used again
                raise
        self._submitted_luts.advance(frame.corrupt)
        self.ring.submitted += 1

    def collect(self) -> Enhanced:
        slot = self.ring.oldest()
        with WAITING, self._device:
            slot.done.synchronize()
            self.ring.collected += 1
            return self._result(slot)

    def close(self) -> None:
        if not self.ring.slots:
            return
        try:
            with translate_cuda_errors("closing a lane"), self._device:
                self._synchronize()
        finally:
            self.ring.close()
            del self.step, self.streams

    def _capture_graphs(self) -> None:
        self.step.capture(self.ring)
        if self.geometry.frame_bytes <= FRAME_GRAPH_BYTES and self.config.timing_every > 1:
            for slot in self.ring.slots:
                self._capture_frame_graph(slot, self.ring.previous(slot))

    def _capture_frame_graph(self, slot: CudaSlot, previous: CudaSlot) -> None:
        """Capture upload, step and download of a frame that is in `slot` and has no `out`.

        Each slot launches this graph on a separate stream, so the upload of one frame and the download of
        another overlap with the step of a third. External events order the steps: each waits for the most
        recent record of `step_done` of the previous slot at the time of its launch.
        """
        stream, enhance, hog = slot.stream, self.streams.enhance, self.streams.hog
        stream.begin_capture()
        slot.upload.enqueue(stream)
        slot.uploaded.record(stream)
        enhance.wait_event(slot.uploaded)
        wait_external(enhance, previous.step_done)
        self.step.enhance(slot, previous)
        record_external(slot.step_done, enhance)
        slot.enhanced.record(enhance)
        stream.wait_event(slot.enhanced)
        slot.download.enqueue(stream)
        if self.step.has_features:
            hog.wait_event(slot.enhanced)
            self.step.compute_features(slot)
            slot.features_ready.record(hog)
            stream.wait_event(slot.features_ready)
        if slot.download_features is not None:
            slot.download_features.enqueue(stream)
        slot.frame_graph = stream.end_capture()

    def _enqueue(self, previous: CudaSlot, slot: CudaSlot, in_flight: InFlightFrame) -> None:
        in_slot = _copy_to_slot(slot, in_flight)
        if in_slot and slot.frame_graph is not None and in_flight.fits_frame_graph:
            slot.frame_graph.launch(slot.stream)
            slot.done.record(slot.stream)
            return
        self._upload(slot, in_flight, in_slot)
        self._enhance(previous, slot, in_flight)
        if self.step.has_features:
            self._compute_features(slot, in_flight)
        self._download(slot, in_flight)

    def _upload(self, slot: CudaSlot, in_flight: InFlightFrame, in_slot: bool) -> None:
        upload, planes = self.streams.upload, in_flight.frame.planes
        if not in_slot:
            _wait_for_current_streams(upload, planes)
        with slot.stage_events.measure(Stage.UPLOAD, upload, in_flight.timed):
            if in_slot:
                (slot.upload_luma if in_flight.shares_chroma else slot.upload).enqueue(upload)
            else:
                count = 1 if in_flight.shares_chroma else len(planes)
                transfer.copy_planes(upload, planes[:count], slot.device_input[:count])
        slot.uploaded.record(upload)

    def _enhance(self, previous: CudaSlot, slot: CudaSlot, in_flight: InFlightFrame) -> None:
        enhance = self.streams.enhance
        enhance.wait_event(slot.uploaded)
        enhance.wait_event(previous.step_done)
        if self.config.graph and in_flight.is_regular:
            slot.enhance_graphs[in_flight.timed].launch(enhance)
        else:
            self.step.enhance(slot, previous, in_flight.uses_own_lut, in_flight.keeps_lut, in_flight.timed)
        slot.step_done.record(enhance)
        slot.enhanced.record(enhance)

    def _compute_features(self, slot: CudaSlot, in_flight: InFlightFrame) -> None:
        hog = self.streams.hog
        hog.wait_event(slot.enhanced)
        if self.config.graph:
            slot.features_graphs[in_flight.timed].launch(hog)
        else:
            self.step.compute_features(slot, in_flight.timed)
        slot.features_ready.record(hog)

    def _download(self, slot: CudaSlot, in_flight: InFlightFrame) -> None:
        """Enqueue the download: the enhanced frame while the features are computed, then the features."""
        download, events, timed = self.streams.download, slot.stage_events, in_flight.timed
        download.wait_event(slot.enhanced)
        with events.measure(Stage.DOWNLOAD, download, timed):
            if in_flight.writes_out and in_flight.out is not None:
                _wait_for_current_streams(download, in_flight.out.planes)
                count = 1 if in_flight.shares_chroma else len(slot.planes)
                transfer.copy_planes(download, slot.planes[:count], in_flight.out.planes[:count])
                slot.download_without_pixels.enqueue(download)
            elif in_flight.shares_chroma:
                slot.download_without_chroma.enqueue(download)
            else:
                slot.download.enqueue(download)
        if self.step.has_features:
            download.wait_event(slot.features_ready)
        if slot.download_features is not None:
            with events.measure(Stage.DOWNLOAD, download, timed, part=1):
                slot.download_features.enqueue(download)
        slot.done.record(download)

    def _in_flight_frame(self, frame: Frame, out: Frame | None) -> InFlightFrame:
        kind, age = self._submitted_luts.next
        if self._chooses_on_device:
            kind = LutKind.PREVIOUS
        timed = self.ring.submitted % self.config.timing_every == 0
        writes_out = out is not None and all(map(accessible_from_gpu, out.planes))
        shares_chroma = out is not None and self._keeps_chroma and same_chroma(frame, out)
        return InFlightFrame(frame, out, writes_out, shares_chroma, kind, age, timed)

    def _result(self, slot: CudaSlot) -> Enhanced:
        """The result of a finished slot. Raises FrameError if the frame is rejected."""
        in_flight = slot.in_flight
        assert in_flight is not None
        clamped, highest = map(int, slot.host.get("out_of_range", (0, 0)))
        if clamped and not self.options.clamp:
            if not self.in_flight:
                self._submitted_luts.copy_from(self._collected_luts)
            raise above_bit_depth(self.geometry, highest)
        cut = bool(slot.host.get("scene_cut", (0,))[0])
        kind, age = self._collected_luts.advance(in_flight.frame.corrupt, cut)
        tone = None
        if self.options.equalization.mode.adaptive:
            report = slot.host["report"]
            tone = self._tone.report(figures_of(report))
            kind, age = (LutKind.OWN, 0) if uses_own_mapping(report) else (LutKind.PREVIOUS, age)
        elif kind is LutKind.OWN and not in_flight.uses_own_lut and not self._chooses_on_device:
            kind, age = in_flight.lut_kind, in_flight.lut_age  # it was submitted after a rejected first frame
        self._sequence += 1
        return build_result(slot, self.options, self._sequence - 1, (kind, age), clamped, tone)

    def _synchronize(self) -> None:
        """Wait for all work on the streams of the lane."""
        self.streams.synchronize()
        for slot in self.ring.slots:
            slot.stream.synchronize()


def _keeps_chroma(geometry: Geometry, options: Options) -> bool:
    """True if the frames have chroma planes and these do not change."""
    plan = plan_frame(geometry, options)
    if options.equalization.mode.adaptive:
        return False
    return not (plan.is_reoriented or plan.has_chroma_gain) and len(geometry.plane_shapes) > 1


def _wait_for_current_streams(stream: Any, planes: Planes) -> None:
    """Let `stream` wait for the current streams of the devices on which the planes are."""
    for plane in filter(transfer.on_device, planes):
        with plane.device:
            stream.wait_event(cupy.cuda.get_current_stream().record())


def _copy_to_slot(slot: CudaSlot, in_flight: InFlightFrame) -> bool:
    """Copy a frame that the GPU cannot read to the input of its slot. Returns True if it is there now."""
    frame, slot_input = in_flight.frame, slot.input
    if frame.pixels is slot_input.pixels and frame.chroma is slot_input.chroma:
        return True
    if all(map(accessible_from_gpu, frame.planes)):
        return False
    count = 1 if in_flight.shares_chroma else len(frame.planes)
    for plane, target in zip(frame.planes[:count], slot_input.planes[:count], strict=True):
        if plane is not target:
            target[...] = cupy.asnumpy(plane) if transfer.on_device(plane) else plane
    return True
