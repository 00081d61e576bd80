"""CUDA side of `lumaflow.functions`: arrays of CuPy and the steps that fill them. `lumaflow.functions` checks
the arguments; every step takes the stream first and its output last.

Steps only enqueue. Two cases wait, because the host needs a value: `lut` for the sum of the bins, and a check
of values against a bit depth. Scratch memory comes from CuPy's pool, on the same stream.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from lumaflow.arguments import DESCRIPTOR_ALIGN, check_out, pixel_align
from lumaflow.cuda import launch, launch_u16
from lumaflow.cuda import orientation as orientation_kernels
from lumaflow.cuda.arrays import Spec, constant_tables, result_arrays, scratch_arrays
from lumaflow.cuda.compiler import build_lut_source, compile_kernels, kernel_sources, orientation_source
from lumaflow.cuda.cuda_errors import translate_cuda_errors
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.interop import stream_of
from lumaflow.cuda.interop import view as cupy_view
from lumaflow.cuda.launch import NULL, Kernels
from lumaflow.cuda.lut_adjuster import LutAdjuster
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.geometry import Geometry
from lumaflow.lane import above_bit_depth, output_geometry
from lumaflow.options import Equalization, Hog, Lbp, Mode, Options, Orientation
from lumaflow.tables import axis_map, identity_lut, level_range, rescale_lut

CACHED = 64
"""Sets of kernels and tables that are cached for the next call."""

IDENTITY = Equalization(Mode.IDENTITY)

may_share_memory = cupy.may_share_memory


@contextmanager
def running(array: Any, stream: Any) -> Iterator[Any]:
    """Make the device of `array` and the stream the current ones; yields the stream."""
    has_dlpack = hasattr(array, "__dlpack_device__")
    index = array.__dlpack_device__()[1] if has_dlpack else cupy_view(array).device.id
    with translate_cuda_errors("running a function"), cupy.cuda.Device(index):
        at = stream_of(stream)
        with at:
            yield at


def view(array: Any) -> Any:
    """Return the array as the kernels need it, packed pixels in aligned rows: a view, else a copy."""
    pixels = cupy_view(array)
    align = DESCRIPTOR_ALIGN if pixels.ndim == 1 else pixel_align(pixels)
    strides, shape = pixels.strides, pixels.shape
    row = strides[1:] == np.empty((1, *shape[1:]), pixels.dtype).strides[1:] if pixels.ndim > 1 else True
    aligned = pixels.data.ptr % align == 0 and (pixels.ndim < 2 or strides[0] % align == 0)
    ascending = pixels.ndim < 2 or shape[0] == 1 or strides[0] >= pixels.nbytes // max(shape[0], 1)
    if pixels.ndim < 2:
        row = pixels.flags.c_contiguous
    return pixels if row and aligned and ascending else pixels.copy(order="C")


def result(out: Any, shape: tuple[int, ...], dtype: Any, align: int) -> Any:
    """Return the array that a step writes: `out` if it is contiguous and aligned, else a new one.

    align : bytes that the address must be a multiple of
    """
    if out is None:
        return cupy.empty(shape, dtype)
    target = cupy_view(out)
    check_out(target, shape, dtype)
    usable = target.flags.c_contiguous and target.data.ptr % align == 0
    return target if usable else cupy.empty(shape, dtype)


def store(out: Any, found: Any) -> None:
    """Copy a result to `out` unless the step wrote it there."""
    if out is None:
        return
    target = cupy_view(out)
    if target.data.ptr != found.data.ptr:
        target[...] = found


def histogram(stream: Any, plane: Any, geometry: Geometry, options: Options, bins: Any) -> None:
    _build_luts(stream, plane, geometry, options, bins)


def lut(stream: Any, bins: Any, geometry: Geometry, options: Options, out: Any) -> None:
    equalization, levels = options.equalization, level_range(geometry, output_geometry(geometry, options))
    if equalization.mode is Mode.IDENTITY:
        out.set(identity_lut(levels), stream=stream)
        return
    plan = launch_u16.plan_build_lut(levels, equalization, int(bins.sum()), 1, "u16_build_lut")
    bits = levels.size.bit_length() - 1
    source = build_lut_source(bits, out.itemsize * 8, equalization.mode)
    kernels = _kernels(bins.device.id, (source,))
    rescale = cupy.asarray(rescale_lut(levels))
    launch_u16.launch_build_lut(stream, kernels, plan, bins, rescale, NULL, NULL, out)
    if equalization.gate:
        kernels, tables = _kernels_and_tables(bins.device.id, geometry, options)
        scratch = _zeros(scratch_arrays(geometry, options))
        adjuster = LutAdjuster(plan_frame(geometry, options), kernels, tables, scratch)
        _gate(stream, adjuster, {"bins": bins, "luts": out})


def apply_lut(stream: Any, plane: Any, lut: Any, out: Any) -> None:
    lut.take(plane, out=out)


def clahe(stream: Any, plane: Any, geometry: Geometry, options: Options, out: Any) -> None:
    tone, found = _build_luts(stream, plane, geometry, options)
    if options.equalization.mode is Mode.IDENTITY:
        levels = level_range(geometry, output_geometry(geometry, options))
        found["luts"].set(identity_lut(levels)[None, None], stream=stream)
    tone.apply(stream, plane, found, found | {"enhanced": out})


def hog(stream: Any, plane: Any, geometry: Geometry, hog: Hog, out: Any) -> None:
    plan = launch.plan_hog(geometry, hog.layout)
    if plan is not None:
        kernels, tables = _kernels_and_tables(plane.device.id, geometry, Options(IDENTITY, hog=hog))
        launch.launch_hog(stream, kernels, plan, plane, tables, out)


def lbp(stream: Any, plane: Any, geometry: Geometry, lbp: Lbp, out: Any) -> None:
    kernels, tables = _kernels_and_tables(plane.device.id, geometry, Options(IDENTITY, lbp=lbp))
    launch.launch_lbp(stream, kernels, launch.plan_lbp(geometry, lbp), plane, tables, out)


def reorient(stream: Any, pixels: Any, orientation: Orientation, out: Any) -> None:
    height, width = pixels.shape[:2]
    pixel_bytes = pixels.itemsize * (pixels.shape[2] if pixels.ndim == 3 else 1)
    source = orientation_source(axis_map(orientation).swapped, pixel_bytes)
    kernels = _kernels(pixels.device.id, (source,))
    plan = orientation_kernels.plan_reorient(orientation, width, height, pixel_bytes)
    orientation_kernels.launch_reorient(stream, kernels, plan, pixels, out)


def _build_luts(
    at: Any, plane: Any, geometry: Geometry, options: Options, bins: Any = None
) -> tuple[Any, Any]:
    """Compute the histogram and LUTs of a plane; returns the tone mapper and the arrays it wrote, by name.

    Raises FrameError if a value is above the bit depth.
    """
    kernels, tables = _kernels_and_tables(plane.device.id, geometry, options)
    scratch = _zeros(scratch_arrays(geometry, options))
    found = {name: cupy.empty(*spec) for name, spec in result_arrays(geometry, options).items()}
    if bins is not None:
        found["bins"] = bins
    plan = plan_frame(geometry, options)
    tone = open_tone_mapper(plan, kernels, tables, scratch)
    tone.build_luts(at, plane, found, None)
    if plan.gates:
        _gate(at, LutAdjuster(plan, kernels, tables, scratch), found)
    out_of_range = found["out_of_range"].get(stream=at) if "out_of_range" in found else (0, 0)
    if out_of_range[0]:
        raise above_bit_depth(geometry, int(out_of_range[1]))
    return tone, found


def _gate(stream: Any, adjuster: LutAdjuster, arrays: dict[str, Any]) -> None:
    adjuster.measure_gate(stream, arrays)
    adjuster.adjust(stream, arrays)


def _zeros(spec: Spec) -> dict[str, Any]:
    return {name: cupy.zeros(*one) for name, one in spec.items()}


@lru_cache(CACHED)
def _kernels_and_tables(device: int, geometry: Geometry, options: Options) -> tuple[Kernels, dict[str, Any]]:
    """Return kernels and constant tables for planes of a geometry, on the current device."""
    tables = {name: cupy.asarray(table) for name, table in constant_tables(geometry, options).items()}
    cupy.cuda.get_current_stream().synchronize()  # another stream may be the next to read them
    return compile_kernels(kernel_sources(geometry, options)), tables


@lru_cache(CACHED)
def _kernels(device: int, sources: tuple[Any, ...]) -> Kernels:
    renamed = tuple(replace(source, role=source.name) for source in sources)
    return compile_kernels(renamed)
