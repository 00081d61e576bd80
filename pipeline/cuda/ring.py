"""The slots of a lane: everything that a frame in flight needs, made once when the lane opens."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pipeline.cuda.arrays import hog_shape, result_arrays
from pipeline.cuda.memory import ALIGN_PITCH_BYTES, DeviceBlock, PinnedBlock, Spec
from pipeline.cuda.timing import StageClock
from pipeline.frame import Frame, Geometry, LutKind
from pipeline.options import Options
from pipeline.tables import LEVELS

ON_REQUEST = ("hog", "lbp", "lbp_labels")
"""Results that stay on the device when `Options.features_on_device` is set."""


@dataclass(slots=True)
class Ticket:
    """What the host remembers of the frame that occupies a slot.

    direct_out : `out`, if the GPU can write there by itself
    """

    frame: Frame
    out: NDArray[np.uint8] | None
    direct_out: NDArray[np.uint8] | None
    sequence: int
    lut_kind: LutKind
    lut_age: int
    timed: bool

    @property
    def own(self) -> bool:
        """Whether the frame waits for its own mapping."""
        return self.lut_kind is LutKind.OWN

    @property
    def carried(self) -> bool:
        """Whether the older mapping lives on past this frame."""
        return self.frame.corrupt and self.lut_kind is LutKind.PREVIOUS


class Slot:
    """Buffers, events and graphs of one frame in flight.

    raw : device, the frame as it came; `input` is its page-locked twin
    enhanced, bins, applied, ... : device arrays of `outcome`, which comes down in one copy to `host`
    luts : device, the mapping made from this frame, read by the next one
    """

    def __init__(self, geometry: Geometry, options: Options) -> None:
        incoming: Spec = {"raw": (pitched_shape(geometry), np.uint8)}
        results = result_arrays(geometry, options)
        luts = results.pop("luts")
        kept = {
            name: results.pop(name) for name in ON_REQUEST if name in results and options.features_on_device
        }
        outcome: Spec = {"enhanced": (pitched_shape(geometry), np.uint8), "applied": luts, **results}

        self.device_input, self.host_input = DeviceBlock(incoming), PinnedBlock(incoming)
        self.device_outcome, self.host_outcome = DeviceBlock(outcome), PinnedBlock(outcome)
        self.kept = DeviceBlock({"luts": luts, **kept})

        self.raw = rows_of(self.device_input.arrays["raw"], geometry)
        self.input = rows_of(self.host_input.arrays["raw"], geometry)
        self.arrays = {**self.device_outcome.arrays, **self.kept.arrays}
        self.arrays["enhanced"] = rows_of(self.arrays["enhanced"], geometry)
        self.arrays["luts"][:] = cupy.arange(LEVELS, dtype=cupy.uint8)
        self.host = dict(self.host_outcome.arrays)
        self.host["enhanced"] = rows_of(self.host["enhanced"], geometry)
        if options.hog is not None:
            self.host.setdefault("hog", np.empty(hog_shape(geometry, options.hog.layout), np.float32))

        self.uploaded, self.forked, self.lut_ready, self.enhanced = (
            cupy.cuda.Event(disable_timing=True) for _ in range(4)
        )
        self.done = cupy.cuda.Event(disable_timing=True)
        self.clock = StageClock()
        self.graphs: dict[bool, Any] = {}  # the captured step, without and with stage times
        self.ticket: Ticket | None = None


class Ring:
    """Slots in the order of their use. A step reads the slot before its own, so there are at least two."""

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self.slots = [Slot(geometry, options) for _ in range(max(options.slots, 2))]
        self.submitted = 0
        self.collected = 0

    def next(self) -> Slot:
        """The slot that the next frame takes."""
        return self.slots[self.submitted % len(self.slots)]

    def oldest(self) -> Slot:
        """The slot of the frame that is collected next."""
        return self.slots[self.collected % len(self.slots)]

    def before(self, slot: Slot) -> Slot:
        """The slot of the frame before the one in `slot`."""
        return self.slots[self.slots.index(slot) - 1]


def pitched_shape(geometry: Geometry) -> tuple[int, int]:
    """(rows, bytes of a row) of a frame in device memory: every row begins where wide loads may."""
    row_bytes = geometry.width * geometry.pixel_format.channels
    return geometry.height, -(-row_bytes // ALIGN_PITCH_BYTES) * ALIGN_PITCH_BYTES


def rows_of(memory: Any, geometry: Geometry) -> Any:
    """The pixels of a frame, `geometry.shape`, in pitched memory (NumPy or CuPy)."""
    view = as_strided if isinstance(memory, np.ndarray) else cupy.lib.stride_tricks.as_strided
    strides = (memory.strides[0], geometry.pixel_format.channels, 1)
    return view(memory, geometry.shape, strides[:1] + strides[-len(geometry.shape) + 1 :])
