"""The kernels of an adaptive mode on the CPU, for one frame after the other, as a lane runs them."""

from pathlib import Path
from typing import Any

import numpy as np

from lumaflow import Frame, Geometry, Options
from lumaflow.adaptive import ToneReporter
from lumaflow.cuda import orientation
from lumaflow.cuda.adaptive import CudaAdaptiveMapper, figures_of, uses_own_mapping
from lumaflow.cuda.arrays import constant_tables, initial_luts, result_arrays, scratch_arrays
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.launch import NULL, launch_lbp, plan_features
from lumaflow.cuda.tone_mapper import open_tone_mapper
from shim import open_shim, reorient_planes

READY = ("totals", "cell_totals", "energies", "haze_sums")
"""Scratch arrays that a step leaves at zero for the next one."""


class AdaptiveShim:
    """Runs all kernels of an adaptive mode; keeps the state between frames."""

    def __init__(self, folder: Path, geometry: Geometry, options: Options, *, sanitize: bool = False) -> None:
        self.geometry, self.options = geometry, options
        self.kernels = open_shim(folder, geometry, options, sanitize=sanitize)
        self.plan, self.tables = plan_frame(geometry, options), constant_tables(geometry, options)
        self.scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
        self._counter = open_tone_mapper(self.plan, self.kernels, self.tables, self.scratch)
        self._mapper = CudaAdaptiveMapper(self.plan, self.kernels, self.tables, self.scratch, self._counter)
        self._reporter = ToneReporter()

    def run(self, frame: Frame) -> dict[str, Any]:
        """Results of one frame by name; `tone` is its report, `own` True if it used its own mapping."""
        geometry, options, plan = self.geometry, self.options, self.plan
        found: dict[str, Any] = {
            name: np.full(spec[0], 77, spec[1]) for name, spec in result_arrays(geometry, options).items()
        }
        for name, lut in initial_luts(geometry, options).items():
            found[name][...] = lut
        found["applied"] = np.full_like(found["luts"], 77)
        found["enhanced"] = np.full(plan.output.shape, 77, plan.output.dtype)
        raw, *chroma = reorient_planes(self.kernels, plan, frame)
        self._mapper.count(None, raw, found)
        self._mapper.measure_haze(None, (raw, *chroma))
        self._mapper.measure(None, raw)
        self._mapper.choose(None, found, frame.corrupt)
        self._mapper.write_lut(None, found)
        self._mapper.apply(None, (raw, *chroma), found)
        planes = (found["enhanced"], *chroma)
        for gain, samples in zip(orientation.plan_chroma_gains(plan), planes, strict=True):
            if gain is not None:
                lut = self.tables["chroma_lut"]
                orientation.launch_chroma_gain(None, self.kernels, gain, samples, lut)
        lbp = plan_features(plan)[1]
        if lbp is not None:
            labels = found.get("lbp_labels", NULL)
            luma = self._counter.luma(found)
            launch_lbp(None, self.kernels, lbp, luma, self.tables, found["lbp"], labels)
        for name in READY:
            assert not self.scratch.get(name, np.zeros(1)).any(), f"the step left its {name} for the next one"
        tone = self._reporter.report(figures_of(found["report"]))
        own = uses_own_mapping(found["report"])
        return found | {"chroma": tuple(chroma), "tone": tone, "own": own}
