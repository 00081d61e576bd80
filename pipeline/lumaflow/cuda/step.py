"""One step of the CUDA lane: what happens to a frame between its upload and its download."""

from collections.abc import Mapping
from typing import Any

import cupy
from numpy.typing import NDArray

from lumaflow.cuda import launch, orientation, transfer
from lumaflow.cuda.arrays import constant_tables, scratch_arrays
from lumaflow.cuda.compiler import compile_kernels, kernel_sources
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch_config import LaunchConfig
from lumaflow.cuda.memory import DeviceBlock
from lumaflow.cuda.ring import MAPPINGS, CudaSlot
from lumaflow.cuda.streams import Streams
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.geometry import Geometry
from lumaflow.lane import RingBuffer
from lumaflow.options import LaneConfig, Options
from lumaflow.stage import Stage


class CudaStep:
    """Everything that the frames of a lane share on the device: kernels, plans, tables and scratch."""

    def __init__(
        self,
        geometry: Geometry,
        options: Options,
        config: LaneConfig,
        streams: Streams,
        shapes: LaunchConfig,
    ) -> None:
        self._streams = streams
        scope = plan_frame(geometry, options, shapes)
        self._kernels = compile_kernels(kernel_sources(geometry, options))
        self._tables = _upload_tables(constant_tables(geometry, options))
        self._scratch = DeviceBlock(scratch_arrays(geometry, options, shapes)).arrays
        self._tone = open_tone_mapper(scope, self._kernels, self._tables, self._scratch)
        self._turns = orientation.plan_reorient_planes(scope)
        self._gains = orientation.plan_gains(scope)
        self._hog, self._lbp = launch.plan_features(scope)
        self._always_timed = config.timing_every == 1

    @property
    def describes(self) -> bool:
        """Whether there is more to a step than `map`."""
        return self._hog is not None or self._lbp is not None

    def capture(self, ring: RingBuffer[CudaSlot]) -> None:
        """Capture the two halves of every slot's steady step as graphs, without and with stage times."""
        enhance, hog = self._streams.enhance, self._streams.hog
        for slot in ring.slots:
            for timed in (True,) if self._always_timed else (True, False):
                enhance.begin_capture()
                self.map(slot, ring.before(slot), timed=timed)
                slot.map_graphs[timed] = enhance.end_capture()
                if self.describes:
                    hog.begin_capture()
                    self.describe(slot, timed)
                    slot.describe_graphs[timed] = hog.end_capture()

    def map(
        self,
        slot: CudaSlot,
        previous: CudaSlot,
        own: bool = False,
        carried: bool = False,
        timed: bool = False,
    ) -> None:
        """Enqueue the mapping of the frame in `slot`, and of its own mapping the making.

        The same lines are captured and run. `enhance` maps all frames in order, so LUT N-1 is ready when
        frame N comes: apply waits for nothing else. `histogram` forks off beside it and joins at the end.
        """
        histogram, enhance = self._streams.histogram, self._streams.enhance
        source = slot if own else previous
        mapping = {name: source.arrays[name] for name in MAPPINGS if name in source.arrays}
        self._turn(slot)
        slot.forked.record(enhance)

        histogram.wait_event(slot.forked)
        with slot.clock.around(Stage.HISTOGRAM, histogram, timed):
            self._count(slot, None if own else mapping)
        if carried:
            for name, luts in mapping.items():
                transfer.copy_on_device(histogram, luts, slot.arrays[name])
        slot.lut_ready.record(histogram)

        if own:
            enhance.wait_event(slot.lut_ready)
        with slot.clock.around(Stage.APPLY, enhance, timed):
            self._apply(slot, mapping)
        transfer.copy_on_device(enhance, mapping["luts"], slot.arrays["applied"])
        enhance.wait_event(slot.lut_ready)

    def describe(self, slot: CudaSlot, timed: bool = False) -> None:
        """Enqueue the descriptors of the enhanced frame in `slot`: LBP beside HOG, which it joins."""
        hog, lbp = self._streams.hog, self._streams.lbp
        slot.parted.record(hog)
        if self._hog is not None:
            with slot.clock.around(Stage.HOG, hog, timed):
                self._describe_hog(slot, self._hog)
        if self._lbp is not None:
            lbp.wait_event(slot.parted)
            with slot.clock.around(Stage.LBP, lbp, timed):
                self._describe_lbp(slot, self._lbp)
            slot.joined.record(lbp)
            hog.wait_event(slot.joined)

    def _turn(self, slot: CudaSlot) -> None:
        """Launch the turn of the incoming planes, on `enhance`; for most frames there is none."""
        for plan, source, target in zip(self._turns, slot.incoming, (slot.raw, *slot.chroma), strict=True):
            if plan is not None:
                orientation.launch_reorient(self._streams.enhance, self._kernels, plan, source, target)

    def _count(self, slot: CudaSlot, before: Mapping[str, Any] | None) -> None:
        """Launch the histogram of the raw frame and the mapping made from it, on `histogram`."""
        self._tone.count(self._streams.histogram, slot.raw, slot.arrays, before)

    def _apply(self, slot: CudaSlot, mapping: Mapping[str, Any]) -> None:
        """Launch the mapping of the raw frame and the gain of its chroma, on `enhance`."""
        enhance = self._streams.enhance
        self._tone.apply(enhance, slot.raw, mapping, slot.arrays)
        for plan, samples in zip(self._gains, slot.planes, strict=True):
            if plan is not None:
                orientation.launch_gain(enhance, self._kernels, plan, samples, self._tables["chroma"])

    def _describe_hog(self, slot: CudaSlot, plan: launch.LaunchPlan) -> None:
        """Launch the HOG of the enhanced luma."""
        launch.launch_hog(
            self._streams.hog,
            self._kernels,
            plan,
            self._tone.luma(slot.arrays),
            self._tables,
            slot.arrays["hog"],
        )

    def _describe_lbp(self, slot: CudaSlot, plan: launch.LaunchPlan) -> None:
        """Launch the LBP of the enhanced luma."""
        launch.launch_lbp(
            self._streams.lbp,
            self._kernels,
            plan,
            self._tone.luma(slot.arrays),
            self._tables,
            slot.arrays["lbp"],
            slot.arrays.get("lbp_labels", launch.NULL),
        )


def _upload_tables(tables: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The constant tables in one block of device memory."""
    block = DeviceBlock({name: (table.shape, table.dtype.type) for name, table in tables.items()})
    for name, table in tables.items():
        block.arrays[name].set(table, stream=cupy.cuda.Stream.null)
    return block.arrays
