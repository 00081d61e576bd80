"""One step of the CUDA lane: the work on the device between upload and download of a frame."""

from collections.abc import Mapping
from typing import Any

import cupy
from numpy.typing import NDArray

from lumaflow.cuda import launch, orientation, transfer
from lumaflow.cuda.adaptive import CudaAdaptiveMapper
from lumaflow.cuda.arrays import constant_tables, scratch_arrays
from lumaflow.cuda.compiler import compile_kernels, kernel_sources
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch_config import LaunchConfig
from lumaflow.cuda.lut_adjuster import LutAdjuster
from lumaflow.cuda.memory import DeviceBlock
from lumaflow.cuda.slot import LUT_ARRAYS, CudaSlot
from lumaflow.cuda.streams import Streams
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.geometry import Geometry
from lumaflow.lane import RingBuffer
from lumaflow.options import LaneConfig, Options
from lumaflow.stage import Stage


class CudaStep:
    """What all frames of a lane share on the device: kernels, launch plans, tables and scratch memory.

    kernels : by the name that launch plans use; profilers may replace entries
    """

    def __init__(
        self,
        geometry: Geometry,
        options: Options,
        config: LaneConfig,
        streams: Streams,
        launch_config: LaunchConfig,
    ) -> None:
        self._streams = streams
        plan = plan_frame(geometry, options, launch_config)
        self.kernels = dict(compile_kernels(kernel_sources(geometry, options)))
        self._tables = _upload_tables(constant_tables(geometry, options))
        self._scratch = DeviceBlock(scratch_arrays(geometry, options, launch_config)).arrays
        self._tone_mapper = open_tone_mapper(plan, self.kernels, self._tables, self._scratch)
        self._adjuster: LutAdjuster | None = None
        if plan.smooths or plan.gates:
            self._adjuster = LutAdjuster(plan, self.kernels, self._tables, self._scratch)
        self._adaptive: CudaAdaptiveMapper | None = None
        if options.equalization.mode.adaptive:
            shared = (self.kernels, self._tables, self._scratch, self._tone_mapper)
            self._adaptive = CudaAdaptiveMapper(plan, *shared)
        self._reorient_plans = orientation.plan_reorient_planes(plan)
        self._chroma_gain_plans = orientation.plan_chroma_gains(plan)
        self._hog, self._lbp = launch.plan_features(plan)
        self._always_timed = config.timing_every == 1

    @property
    def has_features(self) -> bool:
        """True if HOG or LBP is computed."""
        return self._hog is not None or self._lbp is not None

    def capture(self, ring: RingBuffer[CudaSlot]) -> None:
        """Capture `enhance` and `compute_features` as graphs for each slot, without and with stage times."""
        enhance, hog = self._streams.enhance, self._streams.hog
        for slot in ring.slots:
            for timed in (True,) if self._always_timed else (True, False):
                enhance.begin_capture()
                self.enhance(slot, ring.previous(slot), timed=timed)
                slot.enhance_graphs[timed] = enhance.end_capture()
                if self.has_features:
                    hog.begin_capture()
                    self.compute_features(slot, timed)
                    slot.features_graphs[timed] = hog.end_capture()

    def enhance(
        self,
        slot: CudaSlot,
        previous: CudaSlot,
        own_lut: bool = False,
        keep_lut: bool = False,
        timed: bool = False,
    ) -> None:
        """Enqueue the mapping of this frame, and computation of what the next one uses.

        own_lut : apply the LUT of this frame, so apply waits for the histogram
        keep_lut : give the next frame the LUT of the previous frame, because this frame is corrupt

        With smoothing and in an adaptive mode the device chooses, and `keep_lut` keeps its state.
        """
        self._reorient(slot)
        if self._adaptive is not None:
            self._map_adaptively(self._adaptive, slot, keep_lut, timed)
        elif self._adjuster is not None and self._adjuster.smooths:
            self._map_with_smoothed_lut(self._adjuster, slot, keep_lut, timed)
        else:
            self._map_with_lut(slot, previous, own_lut, keep_lut, timed)

    def _map_with_lut(
        self, slot: CudaSlot, previous: CudaSlot, own_lut: bool, keep_lut: bool, timed: bool
    ) -> None:
        """Enqueue LUT application for this frame, and computation of its own LUT for the next one.

        The stream `enhance` processes all frames in order, so the LUT of frame N-1 is ready before frame N.
        The histogram runs concurrently on the stream `histogram`; `enhance` waits for it at the end.
        """
        histogram, enhance = self._streams.histogram, self._streams.enhance
        source = slot if own_lut else previous
        luts = {name: source.arrays[name] for name in LUT_ARRAYS if name in source.arrays}
        slot.input_ready.record(enhance)

        histogram.wait_event(slot.input_ready)
        with slot.stage_events.measure(Stage.HISTOGRAM, histogram, timed):
            self._build_luts(slot, None if own_lut else luts)
            if self._adjuster is not None:
                self._adjuster.measure_gate(histogram, slot.arrays)
                self._adjuster.adjust(histogram, slot.arrays)
        if keep_lut:
            for name, array in luts.items():
                transfer.copy_on_device(histogram, array, slot.arrays[name])
        slot.lut_ready.record(histogram)

        if own_lut:
            enhance.wait_event(slot.lut_ready)
        with slot.stage_events.measure(Stage.APPLY, enhance, timed):
            self._apply(slot, luts)
        transfer.copy_on_device(enhance, luts["luts"], slot.arrays["applied"])
        enhance.wait_event(slot.lut_ready)

    def _map_with_smoothed_lut(
        self, adjuster: LutAdjuster, slot: CudaSlot, corrupt: bool, timed: bool
    ) -> None:
        """Enqueue application of the smoothed LUTs, LUT and cut test of the frame, and the next such LUTs.

        The first three run concurrently; a frame that follows a cut is then mapped again, with its own LUTs.
        The smoothed LUTs are in scratch memory; the stream `enhance` has them in frame order.
        """
        histogram, cut, enhance = self._streams.histogram, self._streams.cut, self._streams.enhance
        slot.input_ready.record(enhance)
        histogram.wait_event(slot.input_ready)
        with slot.stage_events.measure(Stage.HISTOGRAM, histogram, timed):
            self._build_luts(slot, None)
        slot.histogram_ready.record(histogram)
        adjuster.measure_gate(histogram, slot.arrays)
        slot.lut_ready.record(histogram)

        cut.wait_event(slot.histogram_ready if "out_of_range" in slot.arrays else slot.input_ready)
        adjuster.detect_cut(cut, slot.raw, slot.arrays, corrupt)
        slot.cut_ready.record(cut)

        with slot.stage_events.measure(Stage.APPLY, enhance, timed):
            self._tone_mapper.apply(enhance, slot.raw, adjuster.stored, slot.arrays)
        enhance.wait_event(slot.lut_ready)
        enhance.wait_event(slot.cut_ready)
        with slot.stage_events.measure(Stage.LUT, enhance, timed):
            adjuster.adjust(enhance, slot.arrays)
        used = adjuster.used(slot.arrays)
        self._tone_mapper.apply_after_cut(enhance, slot.raw, used, slot.arrays, adjuster.decision)
        self._multiply_chroma(slot)

    def _map_adaptively(self, mapper: CudaAdaptiveMapper, slot: CudaSlot, corrupt: bool, timed: bool) -> None:
        """Enqueue statistics, choice of the mapping, and the mapping of this frame.

        The state of the lane is in scratch memory; the stream `enhance` reads and writes it in frame order.
        The stream `histogram` counts the frame and measures haze concurrently, and later writes the curve.
        """
        histogram, enhance = self._streams.histogram, self._streams.enhance
        raw, planes = slot.raw, (slot.raw, *slot.chroma)
        slot.input_ready.record(enhance)
        histogram.wait_event(slot.input_ready)
        mapper.count(histogram, raw, slot.arrays)
        mapper.measure_haze(histogram, planes)
        slot.histogram_ready.record(histogram)

        with slot.stage_events.measure(Stage.HISTOGRAM, enhance, timed):
            mapper.measure(enhance, raw)
            enhance.wait_event(slot.histogram_ready)
        with slot.stage_events.measure(Stage.LUT, enhance, timed):
            mapper.choose(enhance, slot.arrays, corrupt)
        slot.mapping_ready.record(enhance)
        histogram.wait_event(slot.mapping_ready)
        mapper.write_lut(histogram, slot.arrays)
        slot.lut_ready.record(histogram)

        with slot.stage_events.measure(Stage.APPLY, enhance, timed):
            mapper.apply(enhance, planes, slot.arrays)
            self._multiply_chroma(slot)
        enhance.wait_event(slot.lut_ready)

    def compute_features(self, slot: CudaSlot, timed: bool = False) -> None:
        """Enqueue HOG and LBP of the enhanced frame, concurrently; `hog` waits for `lbp` at the end."""
        hog, lbp = self._streams.hog, self._streams.lbp
        slot.luma_ready.record(hog)
        if self._hog is not None:
            with slot.stage_events.measure(Stage.HOG, hog, timed):
                self._compute_hog(slot, self._hog)
        if self._lbp is not None:
            lbp.wait_event(slot.luma_ready)
            with slot.stage_events.measure(Stage.LBP, lbp, timed):
                self._compute_lbp(slot, self._lbp)
            slot.lbp_ready.record(lbp)
            hog.wait_event(slot.lbp_ready)

    def _reorient(self, slot: CudaSlot) -> None:
        """Reorient the input planes on the stream `enhance`, if the orientation changes."""
        planes = zip(self._reorient_plans, slot.device_input, (slot.raw, *slot.chroma), strict=True)
        for plan, source, target in planes:
            if plan is not None:
                orientation.launch_reorient(self._streams.enhance, self.kernels, plan, source, target)

    def _build_luts(self, slot: CudaSlot, previous: Mapping[str, Any] | None) -> None:
        """Launch the histogram of the raw plane and the LUTs built from it, on the stream `histogram`."""
        self._tone_mapper.build_luts(self._streams.histogram, slot.raw, slot.arrays, previous)

    def _apply(self, slot: CudaSlot, luts: Mapping[str, Any]) -> None:
        """Launch LUT application to the raw plane, and the chroma gain, on the stream `enhance`."""
        self._tone_mapper.apply(self._streams.enhance, slot.raw, luts, slot.arrays)
        self._multiply_chroma(slot)

    def _multiply_chroma(self, slot: CudaSlot) -> None:
        """Launch the chroma gain of the options, on the stream `enhance`."""
        for plan, samples in zip(self._chroma_gain_plans, slot.planes, strict=True):
            if plan is not None:
                lut = self._tables["chroma_lut"]
                orientation.launch_chroma_gain(self._streams.enhance, self.kernels, plan, samples, lut)

    def _compute_hog(self, slot: CudaSlot, plan: launch.LaunchPlan) -> None:
        luma = self._tone_mapper.luma(slot.arrays)
        launch.launch_hog(self._streams.hog, self.kernels, plan, luma, self._tables, slot.arrays["hog"])

    def _compute_lbp(self, slot: CudaSlot, plan: launch.LaunchPlan) -> None:
        luma, labels = self._tone_mapper.luma(slot.arrays), slot.arrays.get("lbp_labels", launch.NULL)
        launch.launch_lbp(
            self._streams.lbp, self.kernels, plan, luma, self._tables, slot.arrays["lbp"], labels
        )


def _upload_tables(tables: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Copy the constant tables to one block of device memory."""
    block = DeviceBlock({name: (table.shape, table.dtype.type) for name, table in tables.items()})
    for name, table in tables.items():
        block.arrays[name].set(table, stream=cupy.cuda.Stream.null)
    return block.arrays
