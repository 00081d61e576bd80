"""One step of the CUDA lane: what happens to a frame between its upload and its download."""

from collections.abc import Mapping
from typing import Any

import cupy
from numpy.typing import NDArray

from pipeline.cuda import launch, transfer
from pipeline.cuda.arrays import constant_tables, scratch_arrays
from pipeline.cuda.compiler import compile_kernels
from pipeline.cuda.memory import DeviceBlock
from pipeline.cuda.ring import Ring, Slot
from pipeline.cuda.streams import Streams
from pipeline.frame import Geometry
from pipeline.options import Options
from pipeline.stage import Stage


class Step:
    """Everything that the frames of a lane share on the device: kernels, plans, tables and scratch."""

    def __init__(self, geometry: Geometry, options: Options, streams: Streams) -> None:
        self._streams = streams
        self._kernels = compile_kernels(geometry.pixel_format, options)
        self._plans = launch.plan_step(geometry, options)
        self._tables = _upload_tables(constant_tables(geometry, options))
        self._scratch = DeviceBlock(scratch_arrays(geometry, options)).arrays

    def capture(self, ring: Ring) -> None:
        """Capture the steady step of every slot as a graph, without and with stage times."""
        enhance = self._streams.enhance
        for slot in ring.slots:
            for timed in (False, True):
                enhance.begin_capture()
                self.run(slot, ring.before(slot), timed=timed)
                slot.graphs[timed] = enhance.end_capture()

    def run(
        self, slot: Slot, previous: Slot, own: bool = False, carried: bool = False, timed: bool = False
    ) -> None:
        """Enqueue the step of the frame in `slot`; the same lines are captured and run.

        `enhance` runs the steps of all frames in order, so LUT N-1 is ready when step N begins: apply waits
        for nothing else. `histogram` forks off beside it and joins at the end of the step.
        """
        histogram, enhance = self._streams.histogram, self._streams.enhance
        mapping = slot.arrays["luts"] if own else previous.arrays["luts"]
        slot.forked.record(enhance)

        histogram.wait_event(slot.forked)
        with slot.clock.around(Stage.HISTOGRAM, histogram, timed):
            self.count(slot)
        if carried:
            transfer.copy_on_device(histogram, mapping, slot.arrays["luts"])
        transfer.copy_on_device(histogram, mapping, slot.arrays["applied"])
        slot.lut_ready.record(histogram)

        if own:
            enhance.wait_event(slot.lut_ready)
        with slot.clock.around(Stage.APPLY, enhance, timed):
            self.apply(slot, mapping)
        if (hog := self._plans.hog) is not None:
            with slot.clock.around(Stage.HOG, enhance, timed):
                self.describe_hog(slot, hog)
        if (lbp := self._plans.lbp) is not None:
            with slot.clock.around(Stage.LBP, enhance, timed):
                self.describe_lbp(slot, lbp)
        enhance.wait_event(slot.lut_ready)

    def count(self, slot: Slot) -> None:
        """Launch the histogram of the raw frame and the mapping made from it, on `histogram`."""
        arrays = slot.arrays
        launch.launch_histogram(
            self._streams.histogram,
            self._kernels,
            self._plans.histogram,
            slot.raw,
            self._tables,
            self._scratch,
            arrays["bins"],
            arrays["luts"],
            arrays.get("deviation", launch.NULL),
            arrays.get("distance", launch.NULL),
        )

    def apply(self, slot: Slot, mapping: Any) -> None:
        """Launch the mapping of the raw frame, on `enhance`."""
        launch.launch_apply(
            self._streams.enhance,
            self._kernels,
            self._plans.apply,
            slot.raw,
            mapping,
            self._tables,
            slot.arrays["enhanced"],
            self._scratch.get("luma", launch.NULL),
        )

    def describe_hog(self, slot: Slot, plan: launch.Plan) -> None:
        """Launch the HOG of the enhanced luma, on `enhance`."""
        launch.launch_hog(
            self._streams.enhance,
            self._kernels,
            plan,
            self._luma(slot),
            self._tables,
            slot.arrays["hog"],
        )

    def describe_lbp(self, slot: Slot, plan: launch.Plan) -> None:
        """Launch the LBP of the enhanced luma, on `enhance`."""
        launch.launch_lbp(
            self._streams.enhance,
            self._kernels,
            plan,
            self._luma(slot),
            self._tables,
            slot.arrays["lbp"],
            slot.arrays.get("lbp_labels", launch.NULL),
        )

    def _luma(self, slot: Slot) -> Any:
        return self._scratch.get("luma", slot.arrays["enhanced"])


def _upload_tables(tables: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The constant tables in one block of device memory."""
    block = DeviceBlock({name: (table.shape, table.dtype.type) for name, table in tables.items()})
    for name, table in tables.items():
        block.arrays[name].set(table, stream=cupy.cuda.Stream.null)
    return block.arrays
