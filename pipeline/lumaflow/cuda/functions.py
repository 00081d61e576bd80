"""The plain functions of `lumaflow.functions` on a GPU; arguments and results as there.

All is enqueued on the given stream, and nothing waited for, but where an argument's values have to be looked
at: the bins of `build_lut`, whose sum makes the scale, and levels that could lie beyond their depth or LUT.
Memory for a result and for what is between comes from CuPy's pool, on that stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from lumaflow.arguments import (
    bins_geometry,
    check_apart,
    check_bytes,
    check_lut,
    check_out,
    check_plane,
    check_turnable,
    plane_geometry,
    turned_shape,
)
from lumaflow.cuda import launch, launch_u16
from lumaflow.cuda import orientation as turns
from lumaflow.cuda.arrays import constant_tables, result_arrays, scratch_arrays
from lumaflow.cuda.compiler import compile_kernels, kernel_sources, orientation_source, tone_mapping_source
from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.interop import stream_of, view
from lumaflow.cuda.launch import NULL, Kernels
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.formats import Range
from lumaflow.geometry import Geometry
from lumaflow.lane import beyond_depth, output_geometry
from lumaflow.options import (
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    Region,
)
from lumaflow.tables import axis_map, hog_shape, identity_lut, lbp_shape, level_range, rescale_lut

KEPT = 64
"""Sets of kernels and tables that are kept for the next call."""


def compute_histogram(luma: Any, bits: int | None, region: Region | None, out: Any, stream: Any) -> Any:
    """See `lumaflow.functions.compute_histogram`."""
    with _on(luma, stream) as at:
        plane = _plane(luma)
        geometry = plane_geometry(plane, bits)
        options = Options(Equalization(Mode.EQUALIZE), region=region)
        output_geometry(geometry, options)
        bins = _result(out, (1 << geometry.layout.bits,), np.uint32)
        _counted(at, plane, geometry, options, bins)
        return _given(out, bins)


def build_lut(
    bins: Any, equalization: Equalization, output: Output, range: Range, out: Any, stream: Any
) -> Any:
    """See `lumaflow.functions.build_lut`."""
    with _on(bins, stream) as at:
        counts = _packed(view(bins), 16)
        pixel = bins_geometry(counts, equalization, range)
        shown = output_geometry(pixel, Options(output=output))
        span = level_range(pixel, shown)
        lut = _result(out, counts.shape, shown.dtype)
        if equalization.mode is Mode.IDENTITY:
            lut.set(identity_lut(span), stream=at)
            return _given(out, lut)
        plan = launch_u16.plan_mapping(span, equalization, int(counts.sum()), 1, "words_lut")
        source = tone_mapping_source(pixel.layout.bits, lut.itemsize * 8, equalization.mode)
        kernels = _kernels(counts.device.id, (source,))
        launch_u16.launch_mapping(at, kernels, plan, counts, cupy.asarray(rescale_lut(span)), NULL, NULL, lut)
        return _given(out, lut)


def apply_lut(luma: Any, lut: Any, out: Any, stream: Any) -> Any:
    """See `lumaflow.functions.apply_lut`."""
    with _on(luma, stream):
        plane, table = _plane(luma), view(lut)
        check_lut(table, plane)
        mapped = _result(out, plane.shape, table.dtype, align=1)
        table.take(plane, out=mapped)
        return _given(out, mapped)


def clahe(
    luma: Any,
    equalization: Equalization,
    bits: int | None,
    output: Output,
    range: Range,
    out: Any,
    stream: Any,
) -> Any:
    """See `lumaflow.functions.clahe`."""
    with _on(luma, stream) as at:
        plane = _plane(luma)
        geometry = plane_geometry(plane, bits, range)
        options = Options(equalization, output=output)
        shown = output_geometry(geometry, options)
        mapped = _result(out, plane.shape, shown.dtype, align=1)
        tone, found = _counted(at, plane, geometry, options)
        if equalization.mode is Mode.IDENTITY:
            found["luts"].set(identity_lut(level_range(geometry, shown))[None, None], stream=at)
        tone.apply(at, plane, found, found | {"enhanced": mapped})
        return _given(out, mapped)


def hog(luma: Any, layout: HogLayout, out: Any, stream: Any) -> Any:
    """See `lumaflow.functions.hog`."""
    with _on(luma, stream) as at:
        plane = _bytes(luma)
        geometry = plane_geometry(plane, 8)
        field = _result(out, hog_shape(geometry, layout), np.float32)
        plan = launch.plan_hog(geometry, layout)
        if plan is not None:
            kernels, tables = _kept(plane.device.id, geometry, Options(IDENTITY, hog=Hog(layout)))
            launch.launch_hog(at, kernels, plan, plane, tables, field)
        return _given(out, field)


def lbp(luma: Any, neighborhood: Neighborhood, mapping: LbpMapping, out: Any, stream: Any) -> Any:
    """See `lumaflow.functions.lbp`."""
    with _on(luma, stream) as at:
        plane = _bytes(luma)
        geometry = plane_geometry(plane, 8)
        cells = _result(out, lbp_shape(geometry, mapping), np.uint16)
        asked = Lbp(neighborhood, mapping)
        kernels, tables = _kept(plane.device.id, geometry, Options(IDENTITY, lbp=asked))
        launch.launch_lbp(at, kernels, launch.plan_lbp(geometry, asked), plane, tables, cells)
        return _given(out, cells)


def apply_orientation(pixels: Any, orientation: Orientation, out: Any, stream: Any) -> Any:
    """See `lumaflow.functions.turn`."""
    with _on(pixels, stream) as at:
        source = view(pixels)
        check_turnable(source)
        pixel_bytes = source.itemsize * (source.shape[2] if source.ndim == 3 else 1)
        source = _packed(source, pixel_bytes & -pixel_bytes)
        height, width = source.shape[:2]
        turned = _result(out, turned_shape(source, orientation), source.dtype, pixel_bytes & -pixel_bytes)
        check_apart(cupy.may_share_memory(turned, source))
        kernels = _kernels(
            source.device.id, (orientation_source(axis_map(orientation).swapped, pixel_bytes),)
        )
        plan = turns.plan_reorient(orientation, width, height, pixel_bytes)
        turns.launch_reorient(at, kernels, plan, source, turned)
        return _given(out, turned)


IDENTITY = Equalization(Mode.IDENTITY)


def _counted(at: Any, plane: Any, geometry: Geometry, options: Options, bins: Any = None) -> tuple[Any, Any]:
    """Count a plane and make its mapping: the tone, and its results by name. Raises FrameError (values)."""
    kernels, tables = _kept(plane.device.id, geometry, options)
    scratch = {name: cupy.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    found = {name: cupy.empty(*spec) for name, spec in result_arrays(geometry, options).items()}
    if bins is not None:
        found["bins"] = bins
    tone = open_tone_mapper(plan_frame(geometry, options), kernels, tables, scratch)
    tone.count(at, plane, found, None)
    beyond = found["beyond"].get(stream=at) if "beyond" in found else (0, 0)
    if beyond[0]:
        raise beyond_depth(geometry, int(beyond[1]))
    return tone, found


@lru_cache(KEPT)
def _kept(device: int, geometry: Geometry, options: Options) -> tuple[Kernels, dict[str, Any]]:
    """Kernels and constant tables for planes of a geometry, on the current device."""
    tables = {name: cupy.asarray(table) for name, table in constant_tables(geometry, options).items()}
    cupy.cuda.get_current_stream().synchronize()  # another stream may be the next to read them
    return compile_kernels(kernel_sources(geometry, options)), tables


@lru_cache(KEPT)
def _kernels(device: int, sources: tuple[Any, ...]) -> Kernels:
    renamed = tuple(replace(source, role=source.name) for source in sources)
    return compile_kernels(renamed)


@contextmanager
def _on(array: Any, stream: Any) -> Iterator[Any]:
    """Make the array's device and the stream the current ones; the stream."""
    index = array.__dlpack_device__()[1] if hasattr(array, "__dlpack_device__") else view(array).device.id
    with translate_cuda_errors("running a function"), cupy.cuda.Device(index):
        at = stream_of(stream)
        with at:
            yield at


def _packed(array: Any, align: int) -> Any:
    """The array as the kernels want it, packed pixels in rows at multiples of `align` bytes: or a copy."""
    strides, shape = array.strides, array.shape
    row = strides[1:] == np.empty((1, *shape[1:]), array.dtype).strides[1:] if array.ndim > 1 else True
    aligned = array.data.ptr % align == 0 and (array.ndim < 2 or strides[0] % align == 0)
    forward = array.ndim < 2 or shape[0] == 1 or strides[0] >= array.nbytes // shape[0]
    if array.ndim < 2:
        row = array.flags.c_contiguous
    return array if row and aligned and forward else array.copy(order="C")


def _plane(luma: Any) -> Any:
    plane = view(luma)
    check_plane(plane)
    return _packed(plane, plane.itemsize)


def _bytes(luma: Any) -> Any:
    plane = _plane(luma)
    check_bytes(plane)
    return plane


def _result(out: Any, shape: tuple[int, ...], dtype: Any, align: int = 16) -> Any:
    """Where the kernels write: `out` itself where they can, else an array of their own.

    align : bytes at whose multiples it must begin; tables and descriptors are written as vectors, planes not
    """
    if out is None:
        return cupy.empty(shape, dtype)
    target = view(out)
    check_out(target, shape, dtype)
    usable = target.flags.c_contiguous and target.data.ptr % align == 0
    return target if usable else cupy.empty(shape, dtype)


def _given(out: Any, result: Any) -> Any:
    """The result where it was asked for."""
    if out is None:
        return result
    target = view(out)
    if target.data.ptr != result.data.ptr:
        target[...] = result
    return out
