"""The gate, scene cuts and smoothing of the LUTs of a plain mode on the device (docs/spec.md 6, 7)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lumaflow.cuda.frame_plan import FramePlan, crop, rect_size
from lumaflow.cuda.launch import NULL, Kernels, LaunchPlan, launch, plane_arguments

Arrays = Mapping[str, Any]

THREADS = 256
CUT_BLOCKS, CUT_BINS = 64, 32
CUT_PIXELS = 2048
"""Least pixels of a block of the cut test that one thread block counts."""
MAX_CUT_PARTS = 16
GATE_THREADS = 1024


class LutAdjuster:
    """Changes the LUTs of frames after they are built; `arrays` are the device arrays of the slot of a frame.

    With smoothing call `detect_cut`, then `adjust`, for each frame in order; with the gate alone `adjust`.
    """

    def __init__(self, plan: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> None:
        self._plan, self._kernels, self._tables, self._scratch = plan, kernels, tables, scratch
        self._strength = LaunchPlan("gate_strength", (1, 1, 1), (min(plan.levels, GATE_THREADS), 1, 1), ())
        self._cut = plan_scene_cut(plan)
        self._weight = np.float32(plan.options.equalization.smoothing)

    @property
    def smooths(self) -> bool:
        """True if frames are mapped with smoothed LUTs."""
        return self._plan.smooths

    @property
    def used(self) -> dict[str, Any]:
        """The LUTs to apply to a frame after `adjust`, with smoothing."""
        return {name: self._scratch[f"{name}_used"] for name in lut_specs(self._plan)}

    def detect_cut(self, stream: Any, raw: Any, arrays: Arrays, corrupt: bool) -> None:
        """Enqueue the cut test of a frame; a corrupt one, or one above the bit depth, keeps the state."""
        pixels, scratch = crop(raw, self._plan.histogram_rect), self._scratch
        names = ("cut_counts", "cut_counter", "cut_before", "cut_valid", "cut_decision")
        launch(
            *(stream, self._kernels, self._cut, *plane_arguments(pixels), np.int32(corrupt)),
            *(self._out_of_range(arrays), *(scratch[name] for name in names), arrays["scene_cut"]),
        )

    def adjust(self, stream: Any, arrays: Arrays) -> None:
        """Enqueue the gate of the LUTs in `arrays`, and their smoothing into `used`."""
        scratch = self._scratch
        if self._plan.gates:
            launch(stream, self._kernels, self._strength, arrays["bins"], scratch["gate_strength"])
        for name in lut_specs(self._plan):
            luts = arrays[name]
            blocks = -(-luts.size // THREADS)
            plan = LaunchPlan(f"adjust_{name}", (blocks, 1, 1), (THREADS, 1, 1), ())
            identity = self._tables.get(f"{name}_identity", NULL)
            state = (scratch.get(f"{name}_{part}", NULL) for part in ("smoothed", "stored", "used"))
            launch(
                *(stream, self._kernels, plan, np.int32(luts.size), luts),
                *(scratch.get("gate_strength", NULL), identity, self._out_of_range(arrays)),
                *(scratch.get("cut_decision", NULL), self._weight, *state),
            )

    def _out_of_range(self, arrays: Arrays) -> Any:
        return NULL if self._plan.options.clamp else arrays.get("out_of_range", NULL)


def plan_scene_cut(plan: FramePlan) -> LaunchPlan:
    """Grid (block of the cut test, part of its rows)."""
    width, height = rect_size(plan.histogram_rect)
    parts = min(max(width * height // (CUT_BLOCKS * CUT_PIXELS), 1), MAX_CUT_PARTS)
    return LaunchPlan("scene_cut", (CUT_BLOCKS, parts, 1), (THREADS, 1, 1), ())


def lut_specs(plan: FramePlan) -> dict[str, type[np.generic]]:
    """Name and dtype of each array of LUTs of a frame."""
    specs: dict[str, type[np.generic]] = {"luts": plan.output.dtype.type}
    if plan.display is not None:
        specs["display_luts"] = np.uint8
    return specs
