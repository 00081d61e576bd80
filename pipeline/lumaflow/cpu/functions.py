"""The plain functions of `lumaflow.functions` on the processor; arguments and results as there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from lumaflow.cpu import apply
from lumaflow.cpu.features import HogExtractor, LbpExtractor
from lumaflow.cpu.histogram import fold_levels
from lumaflow.cpu.histogram_counter import HistogramCounter
from lumaflow.cpu.lut import clahe_luts, equalize_lut, stretch_lut
from lumaflow.cpu.orientation import reorient_plane
from lumaflow.cpu.plane import open_plane
from lumaflow.cpu.tone_mapper import CpuToneMapper
from lumaflow.errors import FrameError
from lumaflow.formats import Range
from lumaflow.geometry import Geometry
from lumaflow.lane import output_geometry
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
from lumaflow.tables import (
    LevelRange,
    axis_map,
    clip_limit,
    hog_shape,
    identity_lut,
    lbp_shape,
    level_range,
    lut_scale,
    rescale_lut,
)

Array = NDArray[Any]


def compute_histogram(luma: Any, bits: int | None, region: Region | None, out: Any, stream: Any) -> Array:
    """See `lumaflow.functions.compute_histogram`."""
    plane = _plane(luma)
    geometry = plane_geometry(plane, bits)
    options = Options(Equalization(Mode.EQUALIZE), region=region)
    output_geometry(geometry, options)
    bins = _result(out, (1 << geometry.layout.bits,), np.uint32)
    HistogramCounter(geometry, options).count(_levels(plane, geometry, options), bins)
    return _given(out, bins)


def build_lut(
    bins: Any, equalization: Equalization, output: Output, range: Range, out: Any, stream: Any
) -> Array:
    """See `lumaflow.functions.build_lut`."""
    counts = _array(bins)
    pixel = bins_geometry(counts, equalization, range)
    shown = output_geometry(pixel, Options(output=output))
    lut = _result(out, counts.shape, shown.dtype)
    _fill_lut(counts, equalization, level_range(pixel, shown), lut)
    return _given(out, lut)


def apply_lut(luma: Any, lut: Any, out: Any, stream: Any) -> Array:
    """See `lumaflow.functions.apply_lut`."""
    plane, table = _plane(luma), _array(lut)
    check_lut(table, plane)
    mapped = _result(out, plane.shape, table.dtype)
    apply.apply_lut(plane, table, (0, 0, *plane.shape[::-1]), mapped)
    return _given(out, mapped)


def clahe(
    luma: Any,
    equalization: Equalization,
    bits: int | None,
    output: Output,
    range: Range,
    out: Any,
    stream: Any,
) -> Array:
    """See `lumaflow.functions.clahe`."""
    plane = _plane(luma)
    geometry = plane_geometry(plane, bits, range)
    options = Options(equalization, output=output)
    shown = output_geometry(geometry, options)
    counter, curve = HistogramCounter(geometry, options), CpuToneMapper(geometry, shown, options)
    levels = _levels(plane, geometry, options)
    bins = np.empty(1 << geometry.layout.bits, np.uint32)
    counter.count(levels, bins)
    curve.build(*counter.fold(bins))
    mapped = _result(out, plane.shape, shown.dtype)
    curve.apply(levels, curve.own, mapped)
    return _given(out, mapped)


def hog(luma: Any, layout: HogLayout, out: Any, stream: Any) -> Array:
    """See `lumaflow.functions.hog`."""
    plane = _bytes(luma)
    geometry = plane_geometry(plane, 8)
    field = _result(out, hog_shape(geometry, layout), np.float32)
    HogExtractor(geometry, Hog(layout)).describe(plane, field)
    return _given(out, field)


def lbp(luma: Any, neighborhood: Neighborhood, mapping: LbpMapping, out: Any, stream: Any) -> Array:
    """See `lumaflow.functions.lbp`."""
    plane = _bytes(luma)
    geometry = plane_geometry(plane, 8)
    cells = _result(out, lbp_shape(geometry, mapping), np.uint16)
    LbpExtractor(geometry, Lbp(neighborhood, mapping)).describe(plane, None, cells)
    return _given(out, cells)


def apply_orientation(pixels: Any, orientation: Orientation, out: Any, stream: Any) -> Array:
    """See `lumaflow.functions.turn`."""
    source = _array(pixels)
    check_turnable(source)
    turned = _result(out, turned_shape(source, orientation), source.dtype)
    check_apart(np.may_share_memory(turned, source))
    reorient_plane(source, axis_map(orientation), turned)
    return _given(out, turned)


def _fill_lut(counts: Array, equalization: Equalization, span: LevelRange, lut: Array) -> None:
    """The LUT of one histogram, in any mode but CLAHE."""
    levels = (span.low, span.high, span.shown_low, span.shown_high)
    bins = counts.reshape(1, 1, -1).copy()
    fold_levels(bins, span.low, span.high)
    if equalization.mode is Mode.EQUALIZE:
        equalize_lut(bins[0, 0], levels, rescale_lut(span), lut)
    elif equalization.mode is Mode.STRETCH:
        stretch_lut(bins[0, 0], levels, rescale_lut(span), lut)
    elif equalization.mode is Mode.CLIPPED:
        pixels = int(counts.sum())
        limit = clip_limit(equalization.clip_limit, pixels, span.high - span.low + 1)
        scale = lut_scale(pixels, span.shown_high - span.shown_low)
        clahe_luts(bins, limit, scale, levels, np.empty((1, span.size), np.int32), lut.reshape(1, 1, -1))
    else:
        lut[:] = identity_lut(span)


def _array(array: Any) -> Array:
    """The array as the kernels want it, packed and writable: itself, or a copy."""
    if not isinstance(array, np.ndarray):
        if not hasattr(array, "__dlpack__"):
            raise FrameError(f"a {type(array).__name__} came; give a NumPy array, or one that has DLPack")
        array = np.from_dlpack(array)
    plain = np.asarray(array)
    if plain.flags.c_contiguous and plain.flags.writeable and plain.flags.aligned:
        return plain
    return plain.copy(order="C")


def _plane(luma: Any) -> Array:
    plane = _array(luma)
    check_plane(plane)
    return plane


def _bytes(luma: Any) -> Array:
    plane = _plane(luma)
    check_bytes(plane)
    return plane


def _levels(plane: Array, geometry: Geometry, options: Options) -> Array:
    """The plane itself. Raises FrameError where a value is beyond the depth."""
    levels: Array = open_plane(geometry, geometry, options).split(plane)
    return levels


def _result(out: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Where the kernels write: `out` itself where they can, else an array of their own."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise FrameError(f"an out {type(out).__name__} came; the result is {shape} {np.dtype(dtype)}")
    check_out(out, shape, dtype)
    if not out.flags.writeable:
        raise FrameError("a read-only out came; pass an array that can be written")
    return out if out.flags.c_contiguous and out.flags.aligned else np.empty(shape, dtype)


def _given(out: Any, result: Array) -> Array:
    """The result where it was asked for."""
    if out is None or out is result:
        return result
    np.copyto(out, result)
    given: Array = out
    return given
