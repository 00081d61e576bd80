"""The plain functions of `pipeline.functions` on a GPU; arguments and results as there.

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

from pipeline.cuda import launch, words
from pipeline.cuda import turn as turns
from pipeline.cuda.arrays import constant_tables, result_arrays, scratch_arrays
from pipeline.cuda.compiler import compile_kernels, kernel_sources, mapping_source, turn_source
from pipeline.cuda.exchange import stream_of, view
from pipeline.cuda.faults import translated
from pipeline.cuda.launch import NULL, Kernels
from pipeline.cuda.scope import scope_of
from pipeline.cuda.tone import open_tone
from pipeline.errors import FrameError, OptionError
from pipeline.formats import PixelFormat, Range
from pipeline.geometry import Geometry
from pipeline.lane import beyond_depth, output_geometry
from pipeline.options import (
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
from pipeline.tables import hog_shape, lbp_shape, level_span, plain_lut, turn_of, unmapped_lut

GRAY = {form.layout.bits: form for form in PixelFormat if form.value.startswith("gray")}
KEPT = 64
"""Sets of kernels and tables that are kept for the next call."""


def compute_histogram(luma: Any, bits: int | None, region: Region | None, out: Any, stream: Any) -> Any:
    """See `pipeline.functions.compute_histogram`."""
    with _on(luma, stream) as at:
        plane = _plane(luma)
        geometry = _geometry(plane, bits)
        options = Options(Equalization(Mode.EQUALIZE), region=region)
        output_geometry(geometry, options)
        bins = _result(out, (1 << geometry.layout.bits,), np.uint32)
        _counted(at, plane, geometry, options, bins)
        return _given(out, bins)


def build_lut(
    bins: Any, equalization: Equalization, output: Output, range: Range, out: Any, stream: Any
) -> Any:
    """See `pipeline.functions.build_lut`."""
    with _on(bins, stream) as at:
        counts = _packed(view(bins), 16)
        depth = counts.size.bit_length() - 1
        pixels = int(counts.sum()) if counts.dtype == np.uint32 else 0
        if counts.shape != (1 << depth,) or depth not in GRAY or not pixels:
            raise FrameError(
                f"bins {counts.shape} {counts.dtype} came; they are (2^b,) uint32 with at least one pixel,"
                f" b of {', '.join(map(str, GRAY))}"
            )
        if equalization.mode is Mode.CLAHE:
            raise OptionError("clahe came, which needs the pixels: call `clahe`, or give a global mode")
        pixel = Geometry(1, 1, GRAY[depth], range)
        shown = output_geometry(pixel, Options(output=output))
        span = level_span(pixel, shown)
        lut = _result(out, counts.shape, shown.dtype)
        if equalization.mode is Mode.IDENTITY:
            lut.set(unmapped_lut(span), stream=at)
            return _given(out, lut)
        plan = words.plan_mapping(span, equalization, pixels, 1, "words_lut")
        kernels = _kernels(counts.device.id, (mapping_source(depth, lut.itemsize * 8, equalization.mode),))
        words.launch_mapping(at, kernels, plan, counts, cupy.asarray(plain_lut(span)), NULL, NULL, lut)
        return _given(out, lut)


def apply_lut(luma: Any, lut: Any, out: Any, stream: Any) -> Any:
    """See `pipeline.functions.apply_lut`."""
    with _on(luma, stream):
        plane, table = _plane(luma), view(lut)
        usable = table.ndim == 1 and table.dtype in (np.uint8, np.uint16) and table.size > 0
        top = _top(plane, table.size)
        if not usable or top >= table.size:
            raise FrameError(
                f"a lut {table.shape} {table.dtype} came for levels up to {top}; it needs an entry for"
                " every level, uint8 or uint16"
            )
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
    """See `pipeline.functions.clahe`."""
    with _on(luma, stream) as at:
        plane = _plane(luma)
        geometry = _geometry(plane, bits, range)
        options = Options(equalization, output=output)
        shown = output_geometry(geometry, options)
        mapped = _result(out, plane.shape, shown.dtype, align=1)
        tone, found = _counted(at, plane, geometry, options)
        if equalization.mode is Mode.IDENTITY:
            found["luts"].set(unmapped_lut(level_span(geometry, shown))[None, None], stream=at)
        tone.apply(at, plane, found, found | {"enhanced": mapped})
        return _given(out, mapped)


def hog(luma: Any, layout: HogLayout, out: Any, stream: Any) -> Any:
    """See `pipeline.functions.hog`."""
    with _on(luma, stream) as at:
        plane = _bytes(luma)
        geometry = _geometry(plane, 8)
        field = _result(out, hog_shape(geometry, layout), np.float32)
        plan = launch.plan_hog(geometry, layout)
        if plan is not None:
            kernels, tables = _kept(plane.device.id, geometry, Options(IDENTITY, hog=Hog(layout)))
            launch.launch_hog(at, kernels, plan, plane, tables, field)
        return _given(out, field)


def lbp(luma: Any, neighborhood: Neighborhood, mapping: LbpMapping, out: Any, stream: Any) -> Any:
    """See `pipeline.functions.lbp`."""
    with _on(luma, stream) as at:
        plane = _bytes(luma)
        geometry = _geometry(plane, 8)
        cells = _result(out, lbp_shape(geometry, mapping), np.uint16)
        asked = Lbp(neighborhood, mapping)
        kernels, tables = _kept(plane.device.id, geometry, Options(IDENTITY, lbp=asked))
        launch.launch_lbp(at, kernels, launch.plan_lbp(geometry, asked), plane, tables, cells)
        return _given(out, cells)


def turn(pixels: Any, orientation: Orientation, out: Any, stream: Any) -> Any:
    """See `pipeline.functions.turn`."""
    with _on(pixels, stream) as at:
        source = view(pixels)
        channels = source.shape[2:] if source.ndim == 3 else ()
        if source.ndim not in (2, 3) or source.size == 0 or channels not in ((), (2,), (3,), (4,)):
            raise FrameError(f"an array {source.shape} came; give (H, W), or (H, W, 2..4)")
        if source.dtype not in (np.uint8, np.uint16):
            raise FrameError(f"an array of {source.dtype} came; give uint8 or uint16")
        pixel_bytes = source.itemsize * (channels[0] if channels else 1)
        source = _packed(source, pixel_bytes & -pixel_bytes)
        height, width = source.shape[:2]
        sides = (width, height) if orientation.swaps_sides else (height, width)
        turned = _result(out, (*sides, *channels), source.dtype, pixel_bytes & -pixel_bytes)
        if cupy.may_share_memory(turned, source):
            raise FrameError("the out shares memory with the array to be turned; give another one")
        kernels = _kernels(source.device.id, (turn_source(turn_of(orientation).swapped, pixel_bytes),))
        plan = turns.plan_turn(orientation, width, height, pixel_bytes)
        turns.launch_turn(at, kernels, plan, source, turned)
        return _given(out, turned)


IDENTITY = Equalization(Mode.IDENTITY)


def _counted(at: Any, plane: Any, geometry: Geometry, options: Options, bins: Any = None) -> tuple[Any, Any]:
    """Count a plane and make its mapping: the tone, and its results by name. Raises FrameError (values)."""
    kernels, tables = _kept(plane.device.id, geometry, options)
    scratch = {name: cupy.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    found = {name: cupy.empty(*spec) for name, spec in result_arrays(geometry, options).items()}
    if bins is not None:
        found["bins"] = bins
    tone = open_tone(scope_of(geometry, options), kernels, tables, scratch)
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
    with translated("running a function"), cupy.cuda.Device(index):
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
    if plane.ndim != 2 or plane.size == 0 or plane.dtype not in (np.uint8, np.uint16):
        raise FrameError(
            f"an array {plane.shape} {plane.dtype} came; give a plane (H, W) uint8 or uint16 with pixels"
        )
    return _packed(plane, plane.itemsize)


def _bytes(luma: Any) -> Any:
    plane = _plane(luma)
    if plane.dtype != np.uint8:
        raise FrameError("a plane of uint16 came; features are of 8 bits: map it with Output.DISPLAY first")
    return plane


def _geometry(plane: Any, bits: int | None, range: Range = Range.FULL) -> Geometry:
    whole = 8 * plane.itemsize
    depth = whole if bits is None else bits
    if depth not in GRAY or (depth > 8) != (whole == 16):
        raise FrameError(
            f"bits={bits} came with {plane.dtype}; give 8 for uint8, 10, 12, 14 or 16 for uint16"
        )
    height, width = plane.shape
    return Geometry(width, height, GRAY[depth], range)


def _top(plane: Any, size: int) -> int:
    """The highest level of a plane; not looked for where none can be beyond a table of that size."""
    return int(plane.max()) if size < 1 << 8 * plane.itemsize else 0


def _result(out: Any, shape: tuple[int, ...], dtype: Any, align: int = 16) -> Any:
    """Where the kernels write: `out` itself where they can, else an array of their own.

    align : bytes at whose multiples it must begin; tables and descriptors are written as vectors, planes not
    """
    if out is None:
        return cupy.empty(shape, dtype)
    target = view(out)
    if target.shape != shape or target.dtype != dtype:
        raise FrameError(
            f"an out {target.shape} {target.dtype} came; the result is {shape} {np.dtype(dtype)}"
        )
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
