"""One step of the CPU lane: a frame is counted, and shown through the mapping of the frame before it."""

import numpy as np
from numpy.typing import NDArray

from pipeline.cpu.clock import Clock
from pipeline.cpu.cores import core_count, on_cores
from pipeline.cpu.equalizer import Equalizer
from pipeline.cpu.features import HogField, LbpField
from pipeline.cpu.mapping import Mapping
from pipeline.cpu.plane import open_plane
from pipeline.cpu.slot import Slot
from pipeline.frame import Enhanced, Frame, Geometry, LutKind
from pipeline.options import Mode, Options
from pipeline.stage import Stage


class Step:
    """Everything that frames share on their way: the mapping, tables and scratch."""

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self._cores = core_count(geometry)
        self._untouched = options.equalization.mode is Mode.IDENTITY
        self._plane = open_plane(geometry, options.equalization.color)
        self._equalizer = Equalizer(geometry, options)
        self._mapping = Mapping(options.equalization)
        self._hog = HogField(geometry, options.hog) if options.hog else None
        self._lbp = LbpField(geometry, options.lbp) if options.lbp else None

    def warm_up(self, slot: Slot, frame: Frame) -> None:
        """Run `frame` through every kernel, so that the first real one meets compiled code; forget it."""
        self.run(slot, frame, 0, None)
        self._mapping.reset()

    def run(self, slot: Slot, frame: Frame, sequence: int, out: Frame | None) -> Enhanced:
        """Enhance one frame in `slot`, into `out` if given."""
        with on_cores(self._cores):
            clock = Clock()
            raw = slot.take(frame)
            clock.lap(Stage.UPLOAD)
            plane = self._plane.split(raw)
            self._count(plane, slot)
            clock.lap(Stage.HISTOGRAM)
            kind, age = self._choose_luts(slot, frame.corrupt)
            clock.lap(Stage.LUT)
            target = slot.target(out)
            self._apply(raw, plane, slot.lut, target)
            clock.lap(Stage.APPLY)
            self._describe(target, slot, clock)
            shown = _give(target, frame, out)
            clock.lap(Stage.DOWNLOAD)
        return _enhanced(slot, shown, sequence, kind, age, clock)

    def _count(self, plane: NDArray[np.uint8], slot: Slot) -> None:
        self._equalizer.count(plane, slot.bins)
        if slot.heatmap is not None:
            self._equalizer.measure(slot.heatmap)

    def _choose_luts(self, slot: Slot, corrupt: bool) -> tuple[LutKind, int]:
        own = self._equalizer.build_luts(slot.bins)
        return self._mapping.advance(own, corrupt, slot.lut)

    def _apply(
        self,
        raw: NDArray[np.uint8],
        plane: NDArray[np.uint8],
        luts: NDArray[np.uint8],
        target: NDArray[np.uint8],
    ) -> None:
        if self._untouched:
            np.copyto(target, raw)
            return
        self._equalizer.apply(plane, luts, self._plane.mapped(target))
        self._plane.join(raw, target)

    def _describe(self, target: NDArray[np.uint8], slot: Slot, clock: Clock) -> None:
        if self._hog is None and self._lbp is None:
            return
        luma = self._plane.luma(target)
        if self._hog is not None and slot.hog is not None:
            self._hog.describe(luma, slot.hog)
            clock.lap(Stage.HOG)
        if self._lbp is not None and slot.lbp is not None:
            self._lbp.describe(luma, slot.lbp_labels, slot.lbp)
            clock.lap(Stage.LBP)


def _give(target: NDArray[np.uint8], frame: Frame, out: Frame | None) -> Frame:
    """The enhanced frame, copied where it was asked for unless it lies there already."""
    pixels = target if out is None else out.pixels
    if pixels is not target:
        np.copyto(pixels, target)
    return frame.shown(Frame(pixels, frame.pixel_format))


def _enhanced(slot: Slot, shown: Frame, sequence: int, kind: LutKind, age: int, clock: Clock) -> Enhanced:
    return Enhanced(
        shown,
        sequence,
        kind,
        age,
        slot.bins,
        slot.lut,
        clock.stage_seconds,
        heatmap=slot.heatmap,
        hog=slot.hog,
        lbp=slot.lbp,
        lbp_labels=slot.lbp_labels,
    )
