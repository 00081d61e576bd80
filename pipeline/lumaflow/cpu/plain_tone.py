"""The plain modes: frames are counted, and mapped with the LUTs of earlier frames (spec 1 to 9)."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.chroma import ChromaPlanes
from lumaflow.cpu.histogram_counter import HistogramCounter
from lumaflow.cpu.lut_state import LutState
from lumaflow.cpu.plane import open_working_plane
from lumaflow.cpu.scene_cut import SceneCutDetector
from lumaflow.cpu.slot import CpuSlot
from lumaflow.cpu.tone_mapper import CpuToneMapper
from lumaflow.formats import Chroma, PixelFormat
from lumaflow.frame import LutKind, ToneReport
from lumaflow.geometry import Geometry
from lumaflow.options import Mode, Options

Planes = tuple[NDArray[Any], ...]


class Tone(Protocol):
    """Measures the frames of a lane and maps their levels: the part of a step that depends on the mode.

    Call `count`, `select`, `apply` once for each frame, in this order. `raw` and `target` are all planes of
    the frame after `Options.orientation`, and of the enhanced frame.

    clamped : number of values above the bit depth in the last frame
    """

    @property
    def clamped(self) -> int: ...

    def reset(self) -> None:
        """Discard what earlier frames have left."""

    def count(self, raw: Planes, slot: CpuSlot) -> None:
        """Measure a frame: bins and heat map. Raises FrameError for a value above the bit depth."""

    def select(self, slot: CpuSlot, corrupt: bool) -> tuple[LutKind, int]:
        """Select the mapping of the frame; return its kind and age in frames."""

    def apply(self, raw: Planes, slot: CpuSlot, target: Planes) -> None:
        """Write the enhanced planes to `target`."""

    def luma(self, enhanced: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the 8-bit luma (H, W) of the enhanced frame, for the features."""

    def report(self) -> ToneReport | None:
        """Return what an adaptive mode did."""


class PlainTone:
    """The plain modes; `Tone` documents the methods."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        mode, features = options.equalization.mode, options.hog or options.lbp
        # Mapping also clamps values and applies the chroma gain of packed 4:2:2.
        always_mapped = geometry.layout.bits > 8 or geometry.layout.chroma is Chroma.PACKED
        self._copies_pixels = mode is Mode.IDENTITY and not always_mapped
        self._plane = open_working_plane(geometry, output, options)
        self._chroma = ChromaPlanes(geometry, options.equalization.chroma_gain)
        self._counter = HistogramCounter(geometry, options)
        self._mapper = CpuToneMapper(geometry, output, options)
        self._display = DisplayLuma(geometry, options) if features and output.layout.bits > 8 else None
        self._mappers = [self._mapper, self._display.mapper] if self._display else [self._mapper]
        smoothing = options.equalization.smoothing
        self._luts = LutState(mode, [mapper.own for mapper in self._mappers], smoothing)
        self._cuts = SceneCutDetector(geometry, options) if smoothing < 1.0 else None

    @property
    def clamped(self) -> int:
        return self._plane.clamped

    def reset(self) -> None:
        self._luts.reset()

    def count(self, raw: Planes, slot: CpuSlot) -> None:
        self._levels = self._plane.extract(raw[0])
        self._counter.count(self._levels, slot.bins)
        if self._cuts is not None:
            self._cuts.count(self._levels)
        if slot.heatmap is not None:
            self._counter.measure_heatmap(slot.heatmap)

    def select(self, slot: CpuSlot, corrupt: bool) -> tuple[LutKind, int]:
        counts = self._counter.clamped(slot.bins)
        for mapper in self._mappers:
            mapper.build(*counts)
        selected = [slot.lut, self._display.luts] if self._display else [slot.lut]
        cut = self._cuts is not None and not corrupt and self._cuts.advance()
        return self._luts.advance(corrupt, selected, cut)

    def apply(self, raw: Planes, slot: CpuSlot, target: Planes) -> None:
        if self._display is not None:
            self._display.map(self._levels)  # first, because the target can be the memory of the raw frame
        if not self._copies_pixels:
            self._mapper.apply(self._levels, slot.lut, self._plane.target(target[0]))
            self._plane.insert(raw[0], target[0])
        elif raw[0] is not target[0]:
            np.copyto(target[0], raw[0])
        self._chroma.copy(raw[1:], target[1:])

    def luma(self, enhanced: NDArray[Any]) -> NDArray[np.uint8]:
        return self._display.luma if self._display else self._plane.luma(enhanced)

    def report(self) -> ToneReport | None:
        return None


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
