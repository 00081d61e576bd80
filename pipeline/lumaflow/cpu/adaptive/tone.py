"""The adaptive modes as a part of the step of a lane (spec 16, 17)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.cpu.adaptive.mapper import AdaptiveMapper
from lumaflow.cpu.histogram_counter import HistogramCounter
from lumaflow.cpu.plane import open_working_plane
from lumaflow.cpu.slot import CpuSlot
from lumaflow.formats import Family
from lumaflow.frame import LutKind, ToneReport
from lumaflow.geometry import Geometry
from lumaflow.options import ColorMode, Options

Planes = tuple[NDArray[Any], ...]


class AdaptiveTone:
    """The adaptive modes; `plain_tone.Tone` documents the methods."""

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        equalization = options.equalization
        # The mapper multiplies the chroma itself.
        plain = replace(options, equalization=replace(equalization, chroma_gain=1.0))
        self._plane = open_working_plane(geometry, output, plain)
        self._mapper = AdaptiveMapper(geometry, output, options)
        self._family = geometry.layout.family
        self._rgb = self._family is Family.RGB
        value = not self._rgb or equalization.color is ColorMode.VALUE
        counted_by_cells = geometry.layout.bits == 8 and value and not options.heatmap
        self._counter = None if counted_by_cells else HistogramCounter(geometry, options)

    @property
    def clamped(self) -> int:
        return self._plane.clamped

    def reset(self) -> None:
        self._mapper.reset()

    def count(self, raw: Planes, slot: CpuSlot) -> None:
        if self._rgb and self._counter is None:
            self._levels = raw[0]
        else:
            self._levels = self._plane.extract(raw[0])
        self._mapper.measure(raw, self._levels)
        if self._counter is None:
            slot.bins[:] = self._mapper.bins
            return
        self._counter.count(self._levels, slot.bins)
        if slot.heatmap is not None:
            self._counter.measure_heatmap(slot.heatmap)

    def select(self, slot: CpuSlot, corrupt: bool) -> tuple[LutKind, int]:
        self._corrupt = corrupt
        selected = self._mapper.choose(corrupt)
        self._mapper.curve(slot.lut[0, 0])
        return selected

    def apply(self, raw: Planes, slot: CpuSlot, target: Planes) -> None:
        mapped = self._plane.target(target[0])
        self._mapper.apply(raw, self._levels, target, mapped, self._corrupt)
        if self._rgb:
            return
        self._plane.insert(raw[0], target[0])
        if self._family is Family.YUV:
            self._mapper.apply_chroma(raw, target)

    def luma(self, enhanced: NDArray[Any]) -> NDArray[np.uint8]:
        return self._mapper.display if self._mapper.display.size else self._plane.luma(enhanced)

    def report(self) -> ToneReport | None:
        return self._mapper.report()
