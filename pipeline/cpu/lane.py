"""The CPU lane: the default without a GPU, and the definition of correct."""

from collections import deque
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pipeline.cpu.clock import Clock
from pipeline.cpu.cores import core_count, on_cores
from pipeline.cpu.equalizer import Equalizer
from pipeline.cpu.features import HogField, LbpField
from pipeline.cpu.mapping import Mapping
from pipeline.cpu.plane import open_plane
from pipeline.cpu.slot import Slot
from pipeline.errors import FrameError, StateError
from pipeline.frame import Enhanced, Frame, Geometry, check_pixels
from pipeline.options import Mode, Options
from pipeline.stage import Stage


class CpuLane:
    """A lane on the processor; `submit` computes at once, on all cores, and `collect` never waits.

    Opening it takes all memory and compiles what has not been compiled on this machine before (seconds,
    once). One thread calls the CPU lanes of a process: where Numba finds neither OpenMP nor TBB, its
    threads are not safe to start from two. A process that has run a lane must not fork.
    """

    device = "cpu"

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self.geometry = geometry
        self.options = options
        self._slots = [Slot(geometry, options) for _ in range(options.slots)]
        self._done: deque[Enhanced] = deque()
        self._sequence = 0
        self._cores = core_count(geometry)
        self._plane = open_plane(geometry, options.equalization.color)
        self._equalizer = Equalizer(geometry, options)
        self._mapping = Mapping(options.equalization)
        self._hog = HogField(geometry, options.hog) if options.hog else None
        self._lbp = LbpField(geometry, options.lbp) if options.lbp else None
        self._warm_up()

    @property
    def in_flight(self) -> int:
        """Frames submitted and not yet collected, at most `options.slots`."""
        return len(self._done)

    def next_input(self) -> NDArray[np.uint8]:
        """The input buffer of the slot that the next `submit` takes: `geometry.shape` uint8."""
        return self._next_slot().input

    def submit(self, frame: Frame, out: NDArray[np.uint8] | None = None) -> None:
        """Enhance one frame, into `out` if given. Raises FrameError, StateError."""
        slot = self._next_slot()
        self._check(frame, out)
        with on_cores(self._cores):
            self._done.append(self._step(slot, frame, out))
        self._sequence += 1

    def collect(self) -> Enhanced:
        """The oldest frame not yet collected; its arrays are valid until the next `submit`."""
        self._check_open()
        if not self._done:
            raise StateError("nothing is in flight; submit a frame before you collect one")
        return self._done.popleft()

    def close(self) -> None:
        """Give all memory back; frames in flight are lost. Closing twice is harmless."""
        self._slots.clear()
        self._done.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _step(self, slot: Slot, frame: Frame, out: NDArray[np.uint8] | None) -> Enhanced:
        clock = Clock()
        raw = slot.take(frame)
        clock.lap(Stage.UPLOAD)

        plane = self._plane.split(raw)
        self._equalizer.count(plane, slot.bins)
        if slot.heatmap is not None:
            self._equalizer.measure(slot.heatmap)
        clock.lap(Stage.HISTOGRAM)

        own = self._equalizer.build_luts(slot.bins)
        kind, age = self._mapping.advance(own, frame.corrupt, slot.lut)
        clock.lap(Stage.LUT)

        target = slot.target(out)
        self._apply(raw, plane, slot.lut, target)
        clock.lap(Stage.APPLY)

        if self._hog or self._lbp:
            luma = self._plane.luma(target)
        if self._hog is not None and slot.hog is not None:
            self._hog.describe(luma, slot.hog)
            clock.lap(Stage.HOG)
        if self._lbp is not None and slot.lbp is not None:
            self._lbp.describe(luma, slot.lbp_labels, slot.lbp)
            clock.lap(Stage.LBP)

        enhanced = self._give(target, frame, out)
        clock.lap(Stage.DOWNLOAD)
        return Enhanced(
            enhanced,
            self._sequence,
            kind,
            age,
            slot.bins,
            slot.lut,
            clock.stage_seconds,
            slot.heatmap,
            slot.hog,
            slot.lbp,
            slot.lbp_labels,
        )

    def _apply(
        self,
        raw: NDArray[np.uint8],
        plane: NDArray[np.uint8],
        luts: NDArray[np.uint8],
        target: NDArray[np.uint8],
    ) -> None:
        if self.options.equalization.mode is Mode.IDENTITY:
            np.copyto(target, raw)
            return
        self._equalizer.apply(plane, luts, self._plane.mapped(target))
        self._plane.join(raw, target)

    def _give(self, target: NDArray[np.uint8], frame: Frame, out: NDArray[np.uint8] | None) -> Frame:
        """The enhanced frame, copied where it was asked for unless it lies there already."""
        pixels = target if out is None else out
        if pixels is not target:
            np.copyto(pixels, target)
        return Frame(pixels, frame.pixel_format, frame.pts, frame.time_base, frame.corrupt)

    def _warm_up(self) -> None:
        """Run a black frame through every kernel, so that the first real one meets compiled code."""
        slot = self._slots[0]
        slot.input[:] = 0
        with on_cores(self._cores):
            self._step(slot, Frame(slot.input, self.geometry.pixel_format), None)
        self._mapping.reset()

    def _next_slot(self) -> Slot:
        self._check_open()
        if self.in_flight == self.options.slots:
            raise StateError(f"all {self.options.slots} slots are in flight; collect a frame first")
        return self._slots[self._sequence % self.options.slots]

    def _check_open(self) -> None:
        if not self._slots:
            raise StateError("the lane is closed; open another one")

    def _check(self, frame: Frame, out: NDArray[np.uint8] | None) -> None:
        if frame.geometry != self.geometry:
            raise FrameError(
                f"a frame of {frame.geometry} came; this lane was opened for {self.geometry}, "
                "open another one for the new geometry"
            )
        if out is None:
            return
        check_pixels(out, self.geometry.pixel_format)
        if out.shape != self.geometry.shape:
            raise FrameError(f"an out {out.shape} came; this lane writes {self.geometry.shape}")
        if not out.flags.writeable:
            raise FrameError("a read-only out came; pass an array that can be written")
