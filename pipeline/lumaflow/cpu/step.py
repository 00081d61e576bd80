"""One step of the CPU lane: a frame is counted, and shown through the mapping of the frame before it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.chroma import ChromaPlanes
from lumaflow.cpu.cores import core_count, on_cores
from lumaflow.cpu.features import HogExtractor, LbpExtractor
from lumaflow.cpu.histogram_counter import HistogramCounter
from lumaflow.cpu.lut_state import LutState
from lumaflow.cpu.orientation import PlaneReorienter
from lumaflow.cpu.plane import open_plane
from lumaflow.cpu.slot import CpuSlot
from lumaflow.cpu.stage_timer import StageTimer
from lumaflow.cpu.tone_mapper import CpuToneMapper
from lumaflow.formats import Chroma, PixelFormat
from lumaflow.frame import Enhanced, Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options, Orientation
from lumaflow.stage import Stage

Planes = tuple[NDArray[Any], ...]


class CpuStep:
    """Everything that frames share on their way: the mapping, tables and scratch."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        turned = geometry.reoriented(options.orientation)
        mode, features = options.equalization.mode, options.hog or options.lbp
        self._cores = core_count(geometry)
        # Words may have to be clamped and woven chroma gained, so these always go their whole way.
        whole = geometry.layout.bits > 8 or geometry.layout.chroma is Chroma.PACKED
        self._untouched = mode is Mode.IDENTITY and not whole
        upright = options.orientation is Orientation.NONE
        self._turner = None if upright else PlaneReorienter(geometry, options.orientation)
        self._plane = open_plane(turned, output, options)
        self._chroma = ChromaPlanes(turned, options.equalization.chroma_gain)
        self._counter = HistogramCounter(turned, options)
        self._curve = CpuToneMapper(turned, output, options)
        self._display = Display(turned, options) if features and output.layout.bits > 8 else None
        curves = [self._curve, self._display.curve] if self._display else [self._curve]
        self._curves = curves
        self._mapping = LutState(mode, [curve.own for curve in curves])
        self._hog = HogExtractor(output, options.hog) if options.hog else None
        self._lbp = LbpExtractor(output, options.lbp) if options.lbp else None

    def warm_up(self, slot: CpuSlot, frame: Frame) -> None:
        """Run `frame` through every kernel, so that the first real one meets compiled code; forget it."""
        self.run(slot, frame, 0, None)
        self._mapping.reset()

    def run(self, slot: CpuSlot, frame: Frame, sequence: int, out: Frame | None) -> Enhanced:
        """Enhance one frame in `slot`, into `out` if given. Raises FrameError; then nothing has changed."""
        with on_cores(self._cores):
            clock = StageTimer()
            raw = self._upright(slot.take(frame))
            clock.lap(Stage.UPLOAD)
            plane = self._plane.split(raw[0])
            self._count(plane, slot)
            clock.lap(Stage.HISTOGRAM)
            kind, age = self._choose_luts(slot, frame.corrupt)
            clock.lap(Stage.LUT)
            target = slot.target(out)
            self._apply(raw, plane, slot.lut, target)
            clock.lap(Stage.APPLY)
            self._describe(target[0], slot, clock)
            shown = _give(target, slot.output if out is None else out)
            clock.lap(Stage.DOWNLOAD)
        return self._enhanced(slot, shown.with_metadata_of(frame), sequence, kind, age, clock)

    def _upright(self, planes: Planes) -> Planes:
        return planes if self._turner is None else self._turner.turn(planes)

    def _count(self, plane: NDArray[Any], slot: CpuSlot) -> None:
        self._counter.count(plane, slot.bins)
        if slot.heatmap is not None:
            self._counter.measure(slot.heatmap)

    def _choose_luts(self, slot: CpuSlot, corrupt: bool) -> tuple[LutKind, int]:
        counts = self._counter.fold(slot.bins)
        for curve in self._curves:
            curve.build(*counts)
        chosen = [slot.lut, self._display.luts] if self._display else [slot.lut]
        return self._mapping.advance(corrupt, chosen)

    def _apply(self, raw: Planes, plane: NDArray[Any], luts: NDArray[Any], target: Planes) -> None:
        if self._display is not None:
            self._display.show(plane)  # first, for the frame may be enhanced where it lies
        if not self._untouched:
            self._curve.apply(plane, luts, self._plane.mapped(target[0]))
            self._plane.join(raw[0], target[0])
        elif raw[0] is not target[0]:
            np.copyto(target[0], raw[0])
        self._chroma.pass_on(raw[1:], target[1:])

    def _describe(self, target: NDArray[Any], slot: CpuSlot, clock: StageTimer) -> None:
        if self._hog is None and self._lbp is None:
            return
        luma = self._display.luma if self._display else self._plane.luma(target)
        if self._hog is not None and slot.hog is not None:
            self._hog.compute(luma, slot.hog)
            clock.lap(Stage.HOG)
        if self._lbp is not None and slot.lbp is not None:
            self._lbp.compute(luma, slot.lbp_labels, slot.lbp)
            clock.lap(Stage.LBP)

    def _enhanced(
        self, slot: CpuSlot, shown: Frame, sequence: int, kind: LutKind, age: int, clock: StageTimer
    ) -> Enhanced:
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
            clamped=self._plane.clamped,
        )


class Display:
    """The 8-bit luma of frames whose output is deeper, for their features (spec 8).

    luts : (rows, columns, 2^b) uint8, those to apply
    luma : (H, W) uint8, the frame shown last
    """

    def __init__(self, turned: Geometry, options: Options) -> None:
        self.curve = CpuToneMapper(turned, replace(turned, pixel_format=PixelFormat.GRAY8), options)
        self.luts = np.empty_like(self.curve.own)
        self.luma = np.empty((turned.height, turned.width), np.uint8)

    def show(self, plane: NDArray[Any]) -> None:
        """Map `plane` (H, W) uint16 to `luma`."""
        self.curve.apply(plane, self.luts, self.luma)


def _give(target: Planes, shown: Frame) -> Frame:
    """The frame that was asked for, filled from `target` where it does not lie there already."""
    for plane, own in zip(shown.planes, target, strict=True):
        if plane is not own:
            np.copyto(plane, own)
    return shown
