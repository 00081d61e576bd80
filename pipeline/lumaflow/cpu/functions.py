"""CPU side of `lumaflow.functions`: arrays of NumPy and the steps that fill them. `lumaflow.functions` checks
the arguments; every step takes the stream first (None here) and its output last.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.arguments import check_out
from lumaflow.cpu import apply
from lumaflow.cpu.cores import limit_thread_spin
from lumaflow.cpu.features import HogExtractor, LbpExtractor
from lumaflow.cpu.histogram import clamp_bins
from lumaflow.cpu.histogram_counter import HistogramCounter
from lumaflow.cpu.lut_builder import LutBuilder
from lumaflow.cpu.orientation import reorient_plane
from lumaflow.cpu.plane import open_working_plane
from lumaflow.cpu.tone_mapper import CpuToneMapper
from lumaflow.errors import FrameError
from lumaflow.geometry import Geometry
from lumaflow.lane import output_geometry
from lumaflow.options import Hog, Lbp, Options, Orientation
from lumaflow.tables import axis_map, level_range

Array = NDArray[Any]

may_share_memory = np.may_share_memory


def running(array: Any, stream: Any) -> AbstractContextManager[None]:
    """Prepare to run steps; the CPU has no streams."""
    limit_thread_spin()
    return nullcontext()


def view(array: Any) -> Array:
    """Return the array packed and writable, as the kernels need it: a view if possible, else a copy."""
    if not isinstance(array, np.ndarray):
        if not hasattr(array, "__dlpack__"):
            raise FrameError(
                f"expected a NumPy array or one with __dlpack__, got {type(array).__name__}; convert it first"
            )
        array = np.from_dlpack(array)
    plain = np.asarray(array)
    if plain.flags.c_contiguous and plain.flags.writeable and plain.flags.aligned:
        return plain
    return plain.copy(order="C")


def result(out: Any, shape: tuple[int, ...], dtype: Any, align: int) -> Array:
    """Return the array that a step writes: `out` if it is packed, else a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise FrameError(
            f"expected out to be an array {shape} {np.dtype(dtype)}, got {type(out).__name__}; pass a NumPy"
            " array"
        )
    check_out(out, shape, dtype)
    if not out.flags.writeable:
        raise FrameError("expected a writable out, got a read-only array; pass a copy")
    return out if out.flags.c_contiguous and out.flags.aligned else np.empty(shape, dtype)


def store(out: Any, found: Array) -> None:
    """Copy a result to `out` unless the step wrote it there."""
    if out is not None and out is not found:
        np.copyto(out, found)


def histogram(stream: None, plane: Array, geometry: Geometry, options: Options, bins: Array) -> None:
    HistogramCounter(geometry, options).count(_checked(plane, geometry, options), bins)


def lut(stream: None, bins: Array, geometry: Geometry, options: Options, out: Array) -> None:
    levels = level_range(geometry, output_geometry(geometry, options))
    clamped, luts = bins.reshape(1, 1, -1).copy(), out.reshape(1, 1, -1)
    clamp_bins(clamped, levels.low, levels.high)
    builder = LutBuilder(options.equalization, levels, int(bins.sum()), 1)
    builder.build(clamped, luts)
    builder.gate(clamped, luts)


def apply_lut(stream: None, plane: Array, lut: Array, out: Array) -> None:
    apply.apply_lut(plane, lut, (0, 0, *plane.shape[::-1]), out)


def clahe(stream: None, plane: Array, geometry: Geometry, options: Options, out: Array) -> None:
    counter = HistogramCounter(geometry, options)
    mapper = CpuToneMapper(geometry, output_geometry(geometry, options), options)
    levels = _checked(plane, geometry, options)
    bins = np.empty(1 << geometry.layout.bits, np.uint32)
    counter.count(levels, bins)
    mapper.build(*counter.clamped(bins))
    mapper.apply(levels, mapper.own, out)


def hog(stream: None, plane: Array, geometry: Geometry, hog: Hog, out: Array) -> None:
    HogExtractor(geometry, hog).compute(plane, out)


def lbp(stream: None, plane: Array, geometry: Geometry, lbp: Lbp, out: Array) -> None:
    LbpExtractor(geometry, lbp).compute(plane, None, out)


def reorient(stream: None, pixels: Array, orientation: Orientation, out: Array) -> None:
    reorient_plane(pixels, axis_map(orientation), out)


def _checked(plane: Array, geometry: Geometry, options: Options) -> Array:
    """Return the plane. Raises FrameError if a value is above the bit depth."""
    levels: Array = open_working_plane(geometry, geometry, options).extract(plane)
    return levels
