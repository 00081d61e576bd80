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

    With smoothing call `detect_cut`, `measure_gate` and `adjust` for each frame in order; with the gate alone
    the last two. Smoothed LUTs: apply `stored` before `adjust`, and after it `used`, if `decision` says so.
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
    def stored(self) -> dict[str, Any]:
        """The smoothed LUTs of the frames before, by name; `adjust` replaces them."""
        return {name: self._scratch[f"{name}_stored"] for name in lut_specs(self._plan)}

    def used(self, arrays: Arrays) -> dict[str, Any]:
        """The LUTs that a frame uses, by name; `adjust` writes them."""
        used = {
            "luts": arrays.get("applied", NULL),
            "display_luts": self._scratch.get("display_luts_used", NULL),
        }
        return {name: used[name] for name in lut_specs(self._plan)}

    @property
    def decision(self) -> Any:
        """The decision of scene_cut; first: whether the frame uses its own LUTs."""
        return self._scratch["cut_decision"]

    def detect_cut(self, stream: Any, raw: Any, arrays: Arrays, corrupt: bool) -> None:
        """Enqueue the cut test of a frame; a corrupt one, or one above the bit depth, keeps the state."""
        pixels, scratch = crop(raw, self._plan.histogram_rect), self._scratch
        names = ("cut_counts", "cut_counter", "cut_before", "cut_valid", "cut_decision")
        launch(
            *(stream, self._kernels, self._cut, *plane_arguments(pixels), np.int32(corrupt)),
            *(self._out_of_range(arrays), *(scratch[name] for name in names), arrays["scene_cut"]),
        )

    def measure_gate(self, stream: Any, arrays: Arrays) -> None:
        """Enqueue the strength of the gate of a frame; nothing without the gate."""
        if self._plan.gates:
            launch(stream, self._kernels, self._strength, arrays["bins"], self._scratch["gate_strength"])

    def adjust(self, stream: Any, arrays: Arrays) -> None:
        """Enqueue the gate of the LUTs in `arrays`; with smoothing, write `used`, then `stored`."""
        scratch, used = self._scratch, self.used(arrays)
        for name in lut_specs(self._plan):
            luts = arrays[name]
            blocks = -(-luts.size // THREADS)
            plan = LaunchPlan(f"adjust_{name}", (blocks, 1, 1), (THREADS, 1, 1), ())
            identity = self._tables.get(f"{name}_identity", NULL)
            state = (scratch.get(f"{name}_{part}", NULL) for part in ("smoothed", "stored"))
            launch(
                *(stream, self._kernels, plan, np.int32(luts.size), luts),
                *(scratch.get("gate_strength", NULL), identity, self._out_of_range(arrays)),
                *(scratch.get("cut_decision", NULL), self._weight, *state, used[name]),
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
