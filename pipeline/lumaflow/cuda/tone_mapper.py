"""Counting a plane and mapping it: the part of a step that differs between bytes and words."""

from collections.abc import Mapping
from typing import Any, Protocol

from lumaflow.cuda import launch, launch_u16
from lumaflow.cuda.arrays import display_scope
from lumaflow.cuda.frame_plan import FramePlan, crop
from lumaflow.cuda.launch import NULL, Kernels

Arrays = Mapping[str, Any]


class CudaToneMapper(Protocol):
    """`arrays` are those of the frame's slot, its pixels among them; `mapping` the LUTs to apply."""

    def count(self, stream: Any, raw: Any, arrays: Arrays, before: Arrays | None) -> None:
        """Launch the histogram of the raw plane and the LUTs made from it.

        before : the LUTs that stay in force if the frame turns out to be refused, if there are any
        """

    def apply(self, stream: Any, raw: Any, mapping: Arrays, arrays: Arrays) -> None:
        """Launch the mapping of the raw plane to `enhanced`, and to `luma` if there is one."""

    def luma(self, arrays: Arrays) -> Any:
        """The (H, W) plane that the features describe."""


def open_tone_mapper(scope: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> CudaToneMapper:
    """The tone of frames of this scope."""
    return (ToneMapperU16 if scope.deep else ToneMapperU8)(scope, kernels, tables, scratch)


class ToneMapperU8:
    """One kernel counts a frame of 8 bits and makes its mapping, another one maps."""

    def __init__(self, scope: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> None:
        self._scope, self._kernels, self._tables, self._scratch = scope, kernels, tables, scratch
        self._histogram = launch.plan_histogram(scope)
        self._apply = launch.plan_apply(scope)
        self._beside = launch.plan_beside(scope)

    def count(self, stream: Any, raw: Any, arrays: Arrays, before: Arrays | None) -> None:
        launch.launch_histogram(
            stream,
            self._kernels,
            self._histogram,
            crop(raw, self._scope.counted),
            self._tables,
            self._scratch,
            arrays["bins"],
            arrays["luts"],
            arrays.get("deviation", NULL),
            arrays.get("distance", NULL),
        )

    def apply(self, stream: Any, raw: Any, mapping: Arrays, arrays: Arrays) -> None:
        enhanced, luma, mapped = arrays["enhanced"], arrays.get("luma"), self._scope.mapped
        if self._beside is not None:
            self._launch(stream, self._beside, raw, mapping, enhanced, luma)
        planes = (crop(raw, mapped), mapping, crop(enhanced, mapped))
        self._launch(stream, self._apply, *planes, None if luma is None else crop(luma, mapped))

    def luma(self, arrays: Arrays) -> Any:
        luma = arrays.get("luma")
        return arrays["enhanced"] if luma is None else luma[:, : self._scope.output.width]

    def _launch(
        self, stream: Any, plan: launch.LaunchPlan, raw: Any, mapping: Arrays, enhanced: Any, luma: Any
    ) -> None:
        luma = NULL if luma is None else luma
        launch.launch_apply(stream, self._kernels, plan, raw, mapping["luts"], self._tables, enhanced, luma)


class ToneMapperU16:
    """Deep frames are counted by two kernels; each curve has one that makes its LUTs and one that maps."""

    def __init__(self, scope: FramePlan, kernels: Kernels, tables: Arrays, scratch: Arrays) -> None:
        self._scope, self._kernels, self._tables, self._scratch = scope, kernels, tables, scratch
        self._check, self._count = launch_u16.plan_check(scope), launch_u16.plan_count(scope)
        self._sum, self._heatmap = launch_u16.plan_sum(scope), launch_u16.plan_heatmap(scope)
        self._curves = {"luts": ("words", launch_u16.plan_tone_mapper(scope, "words"))}
        display = display_scope(scope)
        if display is not None:
            self._curves["display_luts"] = ("display", launch_u16.plan_tone_mapper(display, "display"))

    def count(self, stream: Any, raw: Any, arrays: Arrays, before: Arrays | None) -> None:
        partials, found = self._scratch["partials"], self._scratch.get("found", NULL)
        tiles, beyond = self._scratch.get("tiles", NULL), arrays.get("beyond", NULL)
        if self._check is not None:
            launch_u16.launch_check(stream, self._kernels, self._check, raw, found)
        counted = crop(raw, self._scope.counted)
        launch_u16.launch_count(stream, self._kernels, self._count, counted, self._tables, partials, found)
        launch_u16.launch_sum(
            stream, self._kernels, self._sum, partials, arrays["bins"], tiles, found, beyond
        )
        if self._heatmap is not None:
            measured = arrays["deviation"], arrays["distance"]
            launch_u16.launch_heatmap(stream, self._kernels, self._heatmap, tiles, *measured)
        self._make_luts(stream, arrays, before)

    def apply(self, stream: Any, raw: Any, mapping: Arrays, arrays: Arrays) -> None:
        targets = {"luts": arrays["enhanced"], "display_luts": arrays.get("luma")}
        for name, (kind, curve) in self._curves.items():
            target, mapped = targets[name], self._scope.mapped
            if curve.beside is not None:
                self._map(stream, curve.beside, raw, self._tables[f"{kind}_unmapped"], target)
            self._map(stream, curve.apply, crop(raw, mapped), mapping[name], crop(target, mapped))

    def luma(self, arrays: Arrays) -> Any:
        return arrays.get("luma", arrays["enhanced"])

    def _make_luts(self, stream: Any, arrays: Arrays, before: Arrays | None) -> None:
        by_tiles = self._curves["luts"][1].apply.kernel.endswith("clahe")
        counts = self._scratch["tiles"] if by_tiles else arrays["bins"]
        beyond = NULL if self._scope.options.clamp else arrays.get("beyond", NULL)
        for name, (kind, curve) in self._curves.items():
            if curve.lut is not None:
                kept = NULL if before is None else before[name]
                plain = self._tables[f"{kind}_plain"]
                launch_u16.launch_mapping(
                    stream, self._kernels, curve.lut, counts, plain, beyond, kept, arrays[name]
                )

    def _map(self, stream: Any, plan: launch.LaunchPlan, raw: Any, luts: Any, target: Any) -> None:
        launch_u16.launch_apply(stream, self._kernels, plan, raw, luts, self._tables, target)
