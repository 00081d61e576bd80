"""The adaptive modes on the device: order of their kernels, and the report of a frame (docs/spec.md 16)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.adaptive import AdaptiveFigures, Number
from lumaflow.cuda import launch_adaptive
from lumaflow.cuda.frame_plan import FramePlan, crop, rect_size
from lumaflow.cuda.launch import NULL, Kernels
from lumaflow.cuda.tone_mapper import CudaToneMapper

Arrays = Mapping[str, Any]
Planes = tuple[Any, ...]

NUMBERS = len(Number)


class CudaAdaptiveMapper:
    """Measures, filters and maps frames; `arrays` are the device arrays of the slot of a frame.

    Call `measure`, `choose` and `apply` once for each frame, in this order. `measure_haze` and `count` are
    independent of `measure`; `choose` needs all three. `write_lut` needs `choose`.
    """

    def __init__(
        self,
        plan: FramePlan,
        kernels: Kernels,
        tables: Arrays,
        scratch: Arrays,
        counter: CudaToneMapper,
    ) -> None:
        self._plan, self._kernels, self._tables, self._scratch = plan, kernels, tables, scratch
        self._counter = counter
        self._plans = launch_adaptive.plan_adaptive(plan)

    def count(self, stream: Any, raw: Any, arrays: Arrays) -> None:
        """Enqueue the histogram and the heat map of a frame, and the check of the bit depth."""
        self._counter.build_luts(stream, raw, arrays, None)

    def measure_haze(self, stream: Any, planes: Planes) -> None:
        """Enqueue the haze map of a raw frame; nothing in a mode without haze removal."""
        launch_adaptive.launch_haze(stream, self._kernels, self._plans, planes, self._scratch)

    def measure(self, stream: Any, raw: Any) -> None:
        """Enqueue the statistics of a raw plane."""
        counted = crop(raw, self._plan.histogram_rect)
        launch_adaptive.launch_statistics(
            stream, self._kernels, self._plans.statistics, counted, self._scratch
        )

    def choose(self, stream: Any, arrays: Arrays, corrupt: bool) -> None:
        """Enqueue the choice of the mapping of a frame, and write its report.

        corrupt : the frame changes no state. Nor does a frame with samples above the bit depth
        """
        refuses = not self._plan.options.clamp
        out_of_range = arrays.get("out_of_range", NULL) if refuses else NULL
        launch_adaptive.launch_mapping(
            stream,
            self._kernels,
            self._plans,
            rect_size(self._plan.histogram_rect),
            self._tables,
            self._scratch,
            corrupt,
            out_of_range,
            arrays["report"],
        )

    def write_lut(self, stream: Any, arrays: Arrays) -> None:
        """Enqueue the curve of the mapping in use: `applied`."""
        launch_adaptive.launch_lut(stream, self._kernels, self._plans.lut, self._scratch, arrays["applied"])

    def apply(self, stream: Any, planes: Planes, arrays: Arrays) -> None:
        """Map the planes of a raw frame: the first to `enhanced` and `luma`, the chroma in place."""
        raw, enhanced = planes[0], arrays["enhanced"]
        if self._plan.is_partial:
            self._counter.apply(stream, raw, arrays, arrays)  # copies the pixels that are not mapped
        mapped = crop(raw, self._plan.mapped_rect)
        if self._plans.filter is not None:
            launch_adaptive.launch_filter(stream, self._kernels, self._plans.filter, mapped, self._scratch)
        launch_adaptive.launch_apply(
            *(stream, self._kernels, self._plan, self._plans, raw, self._tables, self._scratch),
            *(enhanced, arrays.get("luma", NULL)),
        )
        if self._plans.chroma is not None:
            outputs = (enhanced, *planes[1:])
            launch_adaptive.launch_chroma(stream, self._kernels, self._plans.chroma, outputs, self._scratch)


def figures_of(report: NDArray[np.int32]) -> AdaptiveFigures:
    """The figures of a frame from its report, (REPORT,) int32 as in kernels/adaptive.cuh."""
    numbers = tuple(int(number) for number in report[:NUMBERS])
    _, cut, denoised, mean16 = (int(value) for value in report[NUMBERS : NUMBERS + 4])
    haze = float(report[NUMBERS + 4 :].view(np.float32)[0])
    return AdaptiveFigures(numbers, haze, (mean16 - 128) / 16, bool(cut), bool(denoised))


def uses_own_mapping(report: NDArray[np.int32]) -> bool:
    """True if the frame is mapped with its own mapping."""
    return bool(report[NUMBERS])
