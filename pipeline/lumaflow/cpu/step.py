"""One step of the CPU lane: measure a frame, select its mapping, enhance it, and extract features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.adaptive.tone import AdaptiveTone
from lumaflow.cpu.cores import core_count, on_cores
from lumaflow.cpu.features import HogExtractor, LbpExtractor
from lumaflow.cpu.orientation import PlaneReorienter
from lumaflow.cpu.plain_tone import PlainTone, Tone
from lumaflow.cpu.slot import CpuSlot
from lumaflow.cpu.stage_timer import StageTimer
from lumaflow.frame import Enhanced, Frame, LutKind
from lumaflow.geometry import Geometry
from lumaflow.options import Options, Orientation
from lumaflow.stage import Stage

Planes = tuple[NDArray[Any], ...]


class CpuStep:
    """The state that all frames of a lane share: the mapping of earlier frames, tables and scratch."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        reoriented = geometry.reoriented(options.orientation)
        self._cores = core_count(geometry)
        upright = options.orientation is Orientation.NONE
        self._reorienter = None if upright else PlaneReorienter(geometry, options.orientation)
        tone = AdaptiveTone if options.equalization.mode.adaptive else PlainTone
        self._tone: Tone = tone(reoriented, output, options)
        self._hog = HogExtractor(output, options.hog) if options.hog else None
        self._lbp = LbpExtractor(output, options.lbp) if options.lbp else None

    def warm_up(self, slot: CpuSlot, frame: Frame) -> None:
        """Run `frame` through every kernel to compile it; the frame has no effect on later ones."""
        for sequence in range(2):  # the second frame follows another one
            self.run(slot, frame, sequence, None)
        self._tone.reset()

    def run(self, slot: CpuSlot, frame: Frame, sequence: int, out: Frame | None) -> Enhanced:
        """Enhance one frame in `slot`, into `out` if given. Raises FrameError, without a change of state."""
        with on_cores(self._cores):
            timer = StageTimer()
            raw = self._reoriented(slot.input_planes(frame))
            timer.record(Stage.UPLOAD)
            self._tone.count(raw, slot)
            timer.record(Stage.HISTOGRAM)
            kind, age = self._tone.select(slot, frame.corrupt)
            timer.record(Stage.LUT)
            target = slot.output_planes(out)
            self._tone.apply(raw, slot, target)
            timer.record(Stage.APPLY)
            self._extract_features(target[0], slot, timer)
            enhanced = _copied_to(slot.output if out is None else out, target)
            timer.record(Stage.DOWNLOAD)
        return self._result(slot, enhanced.with_metadata_of(frame), sequence, kind, age, timer)

    def _reoriented(self, planes: Planes) -> Planes:
        return planes if self._reorienter is None else self._reorienter.reorient(planes)

    def _extract_features(self, enhanced: NDArray[Any], slot: CpuSlot, timer: StageTimer) -> None:
        if self._hog is None and self._lbp is None:
            return
        luma = self._tone.luma(enhanced)
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
            clamped=self._tone.clamped,
            tone=self._tone.report(),
        )


def _copied_to(frame: Frame, planes: Planes) -> Frame:
    """Copy `planes` to `frame`, unless they are its planes already."""
    for plane, source in zip(frame.planes, planes, strict=True):
        if plane is not source:
            np.copyto(plane, source)
    return frame
