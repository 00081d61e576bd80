"""One step of the CPU lane: count a frame, build its LUTs, and enhance it with those of the frame before."""

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
from lumaflow.cpu.plane import open_working_plane
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
    """The state that all frames of a lane share: the LUTs of the previous frame, tables and scratch."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        reoriented = geometry.reoriented(options.orientation)
        mode, features = options.equalization.mode, options.hog or options.lbp
        self._cores = core_count(geometry)
        # Mapping also clamps values and applies the chroma gain of packed 4:2:2.
        always_mapped = geometry.layout.bits > 8 or geometry.layout.chroma is Chroma.PACKED
        self._copies_pixels = mode is Mode.IDENTITY and not always_mapped
        upright = options.orientation is Orientation.NONE
        self._reorienter = None if upright else PlaneReorienter(geometry, options.orientation)
        self._plane = open_working_plane(reoriented, output, options)
        self._chroma = ChromaPlanes(reoriented, options.equalization.chroma_gain)
        self._counter = HistogramCounter(reoriented, options)
        self._mapper = CpuToneMapper(reoriented, output, options)
        self._display = DisplayLuma(reoriented, options) if features and output.layout.bits > 8 else None
        self._mappers = [self._mapper, self._display.mapper] if self._display else [self._mapper]
        self._luts = LutState(mode, [mapper.own for mapper in self._mappers])
        self._hog = HogExtractor(output, options.hog) if options.hog else None
        self._lbp = LbpExtractor(output, options.lbp) if options.lbp else None

    def warm_up(self, slot: CpuSlot, frame: Frame) -> None:
        """Run `frame` through every kernel to compile it; the frame has no effect on later ones."""
        self.run(slot, frame, 0, None)
        self._luts.reset()

    def run(self, slot: CpuSlot, frame: Frame, sequence: int, out: Frame | None) -> Enhanced:
        """Enhance one frame in `slot`, into `out` if given. Raises FrameError, without a change of state."""
        with on_cores(self._cores):
            timer = StageTimer()
            raw = self._reoriented(slot.input_planes(frame))
            timer.record(Stage.UPLOAD)
            plane = self._plane.extract(raw[0])
            self._count(plane, slot)
            timer.record(Stage.HISTOGRAM)
            kind, age = self._select_luts(slot, frame.corrupt)
            timer.record(Stage.LUT)
            target = slot.output_planes(out)
            self._apply(raw, plane, slot.lut, target)
            timer.record(Stage.APPLY)
            self._extract_features(target[0], slot, timer)
            enhanced = _copied_to(slot.output if out is None else out, target)
            timer.record(Stage.DOWNLOAD)
        return self._result(slot, enhanced.with_metadata_of(frame), sequence, kind, age, timer)

    def _reoriented(self, planes: Planes) -> Planes:
        return planes if self._reorienter is None else self._reorienter.reorient(planes)

    def _count(self, plane: NDArray[Any], slot: CpuSlot) -> None:
        self._counter.count(plane, slot.bins)
        if slot.heatmap is not None:
            self._counter.measure_heatmap(slot.heatmap)

    def _select_luts(self, slot: CpuSlot, corrupt: bool) -> tuple[LutKind, int]:
        counts = self._counter.clamped(slot.bins)
        for mapper in self._mappers:
            mapper.build(*counts)
        selected = [slot.lut, self._display.luts] if self._display else [slot.lut]
        return self._luts.advance(corrupt, selected)

    def _apply(self, raw: Planes, plane: NDArray[Any], luts: NDArray[Any], target: Planes) -> None:
        if self._display is not None:
            self._display.map(plane)  # first, because the target can be the memory of the raw frame
        if not self._copies_pixels:
            self._mapper.apply(plane, luts, self._plane.target(target[0]))
            self._plane.insert(raw[0], target[0])
        elif raw[0] is not target[0]:
            np.copyto(target[0], raw[0])
        self._chroma.copy(raw[1:], target[1:])

    def _extract_features(self, enhanced: NDArray[Any], slot: CpuSlot, timer: StageTimer) -> None:
        if self._hog is None and self._lbp is None:
            return
        luma = self._display.luma if self._display else self._plane.luma(enhanced)
        if self._hog is not None and slot.hog is not None:
            self._hog.compute(luma, slot.hog)
            timer.record(Stage.HOG)
        if self._lbp is not None and slot.lbp is not None:
            self._lbp.compute(luma, slot.lbp_labels, slot.lbp)
            timer.record(Stage.LBP)

    def _result(
        self, slot: CpuSlot, enhanced: Frame, sequence: int, kind: LutKind, age: int, timer: StageTimer
    ) -> Enhanced:
        return Enhanced(
            enhanced,
            sequence,
            kind,
            age,
            slot.bins,
            slot.lut,
            timer.stage_seconds,
            heatmap=slot.heatmap,
            hog=slot.hog,
            lbp=slot.lbp,
            lbp_labels=slot.lbp_labels,
            clamped=self._plane.clamped,
        )


class DisplayLuma:
    """The 8-bit luma of enhanced frames above 8 bits, for HOG and LBP (spec 8).

    luts : (rows, columns, 2^b) uint8, the LUTs to apply
    luma : (H, W) uint8, of the last frame
    """

    def __init__(self, geometry: Geometry, options: Options) -> None:
        self.mapper = CpuToneMapper(geometry, replace(geometry, pixel_format=PixelFormat.GRAY8), options)
        self.luts = np.empty_like(self.mapper.own)
        self.luma = np.empty((geometry.height, geometry.width), np.uint8)

    def map(self, plane: NDArray[Any]) -> None:
        """Map `plane` (H, W) uint16 to `luma`."""
        self.mapper.apply(plane, self.luts, self.luma)


def _copied_to(frame: Frame, planes: Planes) -> Frame:
    """Copy `planes` to `frame`, unless they are its planes already."""
    for plane, source in zip(frame.planes, planes, strict=True):
        if plane is not source:
            np.copyto(plane, source)
    return frame
