"""Histogram, LUTs and their application: the part of a step that differs between 8 and 16 bits per sample."""

from collections.abc import Mapping
from typing import Any, Protocol

from lumaflow.cuda import launch, launch_u16
from lumaflow.cuda.arrays import display_plan
from lumaflow.cuda.frame_plan import FramePlan, crop
from lumaflow.cuda.launch import NULL, Kernels

Arrays = Mapping[str, Any]

TARGETS = {"luts": "enhanced", "display_luts": "luma"}
"""The array of a frame that the LUTs of each name map to, above 8 bits."""


class CudaToneMapper(Protocol):
    """`arrays` are the device arrays of the slot of a frame; `luts` the LUT arrays to apply, by name."""

    def build_luts(self, stream: Any, raw: Any, arrays: Arrays, previous: Arrays | None) -> None:
        """Enqueue the histogram of the raw plane and the LUTs built from it.

        previous : the LUTs to keep if the frame is rejected because a sample exceeds the bit depth
        """

    def apply(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays) -> None:
        """Apply `luts` to the raw plane; write `enhanced`, and `luma` if there is one."""

    def apply_after_cut(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays, decision: Any) -> None:
        """Apply `luts` in place of those of `apply`, if `decision` of scene_cut says so."""

    def luma(self, arrays: Arrays) -> Any:
        """The (H, W) uint8 plane from which HOG and LBP are computed."""


def open_tone_mapper(plan: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> CudaToneMapper:
    """The tone mapper for frames of this plan."""
    return (ToneMapperU16 if plan.is_u16 else ToneMapperU8)(plan, kernels, tables, scratch)


class ToneMapperU8:
    """8 bits per sample: one kernel counts and builds the LUTs, another one applies them."""

    def __init__(self, plan: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> None:
        self._plan, self._kernels, self._tables, self._scratch = plan, kernels, tables, scratch
        self._histogram = launch.plan_histogram(plan)
        self._apply = launch.plan_apply(plan)
        self._copy = launch.plan_copy(plan)

    def build_luts(self, stream: Any, raw: Any, arrays: Arrays, previous: Arrays | None) -> None:
        launch.launch_histogram(
            stream,
            self._kernels,
            self._histogram,
            crop(raw, self._plan.histogram_rect),
            self._tables,
            self._scratch,
            arrays["bins"],
            arrays["luts"],
            arrays.get("deviation", NULL),
            arrays.get("distance", NULL),
        )

    def apply(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays) -> None:
        if self._copy is not None:
            self._launch(stream, self._copy, raw, luts, arrays["enhanced"], arrays.get("luma"))
        self._map(stream, raw, luts, arrays)

    def apply_after_cut(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays, decision: Any) -> None:
        self._map(stream, raw, luts, arrays, decision)

    def luma(self, arrays: Arrays) -> Any:
        luma = arrays.get("luma")
        return arrays["enhanced"] if luma is None else luma[:, : self._plan.output.width]

    def _map(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays, decision: Any = NULL) -> None:
        luma, rect = arrays.get("luma"), self._plan.mapped_rect
        planes = (crop(raw, rect), luts, crop(arrays["enhanced"], rect))
        self._launch(stream, self._apply, *planes, None if luma is None else crop(luma, rect), decision)

    def _launch(
        self,
        stream: Any,
        plan: launch.LaunchPlan,
        raw: Any,
        luts: Arrays,
        enhanced: Any,
        luma: Any,
        decision: Any = NULL,
    ) -> None:
        luma = NULL if luma is None else luma
        launch.launch_apply(
            stream, self._kernels, plan, raw, luts["luts"], self._tables, enhanced, luma, decision
        )


class ToneMapperU16:
    """10 to 16 bits: two kernels count; each output has a kernel to build LUTs and one to apply them."""

    def __init__(self, plan: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> None:
        self._plan, self._kernels, self._tables, self._scratch = plan, kernels, tables, scratch
        self._check_range, self._histogram = (
            launch_u16.plan_check_range(plan),
            launch_u16.plan_histogram(plan),
        )
        self._sum, self._heatmap = launch_u16.plan_sum_histograms(plan), launch_u16.plan_heatmap(plan)
        self._outputs = {"luts": ("u16", launch_u16.plan_tone_mapper(plan, "u16"))}
        display = display_plan(plan)
        if display is not None:
            self._outputs["display_luts"] = ("display", launch_u16.plan_tone_mapper(display, "display"))

    def build_luts(self, stream: Any, raw: Any, arrays: Arrays, previous: Arrays | None) -> None:
        partials, range_scratch = self._scratch["partials"], self._scratch.get("range_scratch", NULL)
        tiles, out_of_range = self._scratch.get("tile_histograms", NULL), arrays.get("out_of_range", NULL)
        if self._check_range is not None:
            launch_u16.launch_check_range(stream, self._kernels, self._check_range, raw, range_scratch)
        launch_u16.launch_histogram(
            *(stream, self._kernels, self._histogram, crop(raw, self._plan.histogram_rect)),
            *(self._tables, partials, range_scratch),
        )
        launch_u16.launch_sum_histograms(
            *(stream, self._kernels, self._sum, partials, arrays["bins"], tiles, range_scratch, out_of_range)
        )
        if self._heatmap is not None:
            outputs = arrays["deviation"], arrays["distance"]
            launch_u16.launch_heatmap(stream, self._kernels, self._heatmap, tiles, *outputs)
        self._build_luts(stream, arrays, previous)

    def apply(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays) -> None:
        rect = self._plan.mapped_rect
        for name, (prefix, plans) in self._outputs.items():
            target = arrays[TARGETS[name]]
            if plans.copy is not None:
                self._apply(stream, plans.copy, raw, self._tables[f"{prefix}_identity_lut"], target)
            self._apply(stream, plans.apply, crop(raw, rect), luts[name], crop(target, rect))

    def apply_after_cut(self, stream: Any, raw: Any, luts: Arrays, arrays: Arrays, decision: Any) -> None:
        rect = self._plan.mapped_rect
        for name, (_, plans) in self._outputs.items():
            target = crop(arrays[TARGETS[name]], rect)
            self._apply(stream, plans.apply, crop(raw, rect), luts[name], target, decision)

    def luma(self, arrays: Arrays) -> Any:
        return arrays.get("luma", arrays["enhanced"])

    def _build_luts(self, stream: Any, arrays: Arrays, previous: Arrays | None) -> None:
        per_tile = self._outputs["luts"][1].apply.kernel.endswith("clahe")
        counts = self._scratch["tile_histograms"] if per_tile else arrays["bins"]
        out_of_range = NULL if self._plan.options.clamp else arrays.get("out_of_range", NULL)
        for name, (prefix, plans) in self._outputs.items():
            if plans.build_lut is not None:
                launch_u16.launch_build_lut(
                    *(stream, self._kernels, plans.build_lut, counts, self._tables[f"{prefix}_rescale_lut"]),
                    *(out_of_range, NULL if previous is None else previous[name], arrays[name]),
                )

    def _apply(
        self,
        stream: Any,
        plan: launch.LaunchPlan,
        raw: Any,
        luts: Any,
        target: Any,
        decision: Any = NULL,
    ) -> None:
        launch_u16.launch_apply(stream, self._kernels, plan, raw, luts, self._tables, target, decision)
