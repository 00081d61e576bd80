"""The steps of a lane as functions of one array, without a lane and without state.

Every function takes arrays in host memory (NumPy, or any array with DLPack) or on a GPU (CuPy, or any array
with DLPack or the CUDA array interface) and computes where the first array is stored. It returns `out` if
given, else a new array of NumPy or CuPy.

out : array of the documented shape and dtype to write the result to
stream : CUDA stream to enqueue on: of CuPy, PyTorch or cuda.core, or its address; default: CuPy's current
    stream. Without effect on the CPU
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumaflow.arguments import (
    DESCRIPTOR_ALIGN,
    bins_geometry,
    check_disjoint,
    check_lut,
    check_pixels,
    check_plain_mode,
    pixel_align,
    plane_geometry,
    reoriented_shape,
)
from lumaflow.array_device import on_device
from lumaflow.formats import Range
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
from lumaflow.tables import hog_shape, lbp_shape

CLAHE, EQUALIZE = Equalization(), Equalization(Mode.EQUALIZE)

Pixels: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | Any
"""Any: a CuPy array, or `out`."""


def compute_histogram(
    luma: Any, *, bits: int | None = None, region: Region | None = None, out: Any = None, stream: Any = None
) -> NDArray[np.uint32] | Any:
    """Count the levels of a plane, or of a region of it (spec 1).

    luma : (H, W) uint8 or uint16
    bits : bit depth of `luma`: 8, 10, 12, 14 or 16; default: all bits of the dtype

    Returns bins : (2^bits,) uint32.
    Raises FrameError for an unusable array or a value above the bit depth, OptionError for a region outside
    the plane.
    """
    with _running(luma, stream) as (device, at):
        plane = device.view(luma)
        geometry = plane_geometry(plane, bits)
        options = Options(EQUALIZE, region=region)
        output_geometry(geometry, options)
        bins = device.result(out, (1 << geometry.layout.bits,), np.uint32, DESCRIPTOR_ALIGN)
        device.histogram(at, plane, geometry, options, bins)
        return _stored(device, out, bins)


def build_lut(
    bins: Any,
    equalization: Equalization = EQUALIZE,
    *,
    output: Output = Output.SAME,
    range: Range = Range.FULL,
    out: Any = None,
    stream: Any = None,
) -> Pixels:
    """Build the LUT of a histogram, in any mode but CLAHE (spec 2, 3, 8, 9).

    bins : (2^b,) uint32, b = 8, 10, 12, 14 or 16; on a GPU this waits for their sum
    output : bit depth of the result of the LUT
    range : levels of the frame that `bins` counts

    Returns lut : (2^b,) uint8, or uint16 for an output above 8 bits.
    Raises FrameError for unusable bins, OptionError for Mode.CLAHE, which needs the pixels.
    """
    with _running(bins, stream) as (device, at):
        counts = device.view(bins)
        geometry = bins_geometry(counts, equalization, range)
        options = _single_frame(equalization, output)
        lut = device.result(out, counts.shape, output_geometry(geometry, options).dtype, DESCRIPTOR_ALIGN)
        device.lut(at, counts, geometry, options, lut)
        return _stored(device, out, lut)


def apply_lut(luma: Any, lut: Any, *, out: Any = None, stream: Any = None) -> Pixels:
    """Map every level of a plane with one LUT, as cv2.LUT does.

    luma : (H, W) uint8 or uint16, each value below the number of entries of `lut`
    lut : (2^b,) uint8 or uint16

    Returns (H, W) of the dtype of `lut`. Raises FrameError for unusable arrays.
    """
    with _running(luma, stream) as (device, at):
        plane, table = device.view(luma), device.view(lut)
        plane_geometry(plane, None)
        check_lut(table, plane)
        mapped = device.result(out, plane.shape, table.dtype, 1)
        device.apply_lut(at, plane, table, mapped)
        return _stored(device, out, mapped)


def clahe(
    luma: Any,
    equalization: Equalization = CLAHE,
    *,
    bits: int | None = None,
    output: Output = Output.SAME,
    range: Range = Range.FULL,
    out: Any = None,
    stream: Any = None,
) -> Pixels:
    """Enhance a plane with the LUTs of its own histogram: CLAHE, or the mode of `equalization` (spec 4).

    luma : (H, W) uint8 or uint16
    bits : as for `compute_histogram`

    Returns (H, W) of the dtype of `luma`, or uint8 with Output.DISPLAY.
    Raises FrameError for an unusable array or a value above the bit depth, OptionError for an adaptive mode.
    """
    check_plain_mode(equalization)
    with _running(luma, stream) as (device, at):
        plane = device.view(luma)
        geometry = plane_geometry(plane, bits, range)
        options = _single_frame(equalization, output)
        enhanced = device.result(out, plane.shape, output_geometry(geometry, options).dtype, 1)
        device.clahe(at, plane, geometry, options, enhanced)
        return _stored(device, out, enhanced)


def hog(
    luma: Any, layout: HogLayout = HogLayout.OPENCV, *, out: Any = None, stream: Any = None
) -> NDArray[np.float32] | Any:
    """Compute the histograms of oriented gradients of a plane (spec 10).

    luma : (H, W) uint8

    Returns hog : (blocks_y, blocks_x, 36) float32, or (cells_y, cells_x, 9) with HogLayout.COMPACT.
    Raises FrameError for an unusable array.
    """
    with _running(luma, stream) as (device, at):
        plane = device.view(luma)
        geometry = plane_geometry(plane, 8)
        blocks = device.result(out, hog_shape(geometry, layout), np.float32, DESCRIPTOR_ALIGN)
        device.hog(at, plane, geometry, Hog(layout), blocks)
        return _stored(device, out, blocks)


def lbp(
    luma: Any,
    neighborhood: Neighborhood = Neighborhood.SQUARE,
    mapping: LbpMapping = LbpMapping.UNIFORM,
    *,
    out: Any = None,
    stream: Any = None,
) -> NDArray[np.uint16] | Any:
    """Compute the histograms of local binary patterns of a plane, in cells of 16x16 pixels (spec 11).

    luma : (H, W) uint8

    Returns lbp : (ceil(H/16), ceil(W/16), mapping.labels) uint16. Raises FrameError for an unusable array.
    """
    with _running(luma, stream) as (device, at):
        plane = device.view(luma)
        geometry = plane_geometry(plane, 8)
        cells = device.result(out, lbp_shape(geometry, mapping), np.uint16, DESCRIPTOR_ALIGN)
        device.lbp(at, plane, geometry, Lbp(neighborhood, mapping), cells)
        return _stored(device, out, cells)


def apply_orientation(
    pixels: Any, orientation: Orientation, *, out: Any = None, stream: Any = None
) -> Pixels:
    """Rotate, flip or transpose an image (spec 12).

    pixels : (H, W) or (H, W, channels) with 2, 3 or 4 channels, uint8 or uint16

    Returns (H, W, ...) or (W, H, ...) of the dtype of `pixels`.
    Raises FrameError for an unusable array, or when `out` shares memory with `pixels`.
    """
    with _running(pixels, stream) as (device, at):
        source = device.view(pixels)
        check_pixels(source)
        shape = reoriented_shape(source, orientation)
        reoriented = device.result(out, shape, source.dtype, pixel_align(source))
        check_disjoint(device.may_share_memory(reoriented, source))
        device.reorient(at, source, orientation, reoriented)
        return _stored(device, out, reoriented)


def transpose(pixels: Any, *, out: Any = None, stream: Any = None) -> Pixels:
    """Exchange rows and columns: `apply_orientation` with `Orientation.TRANSPOSE`."""
    return apply_orientation(pixels, Orientation.TRANSPOSE, out=out, stream=stream)


@contextmanager
def _running(array: Any, stream: Any) -> Iterator[tuple[Any, Any]]:
    """Select the module that computes where `array` is stored, and its stream."""
    device = _device_of(array)
    with device.running(array, stream) as at:
        yield device, at


def _device_of(array: Any) -> Any:
    if on_device(array):
        from lumaflow.cuda import functions as cuda_functions

        return cuda_functions
    from lumaflow.cpu import functions as cpu_functions

    return cpu_functions


def _single_frame(equalization: Equalization, output: Output) -> Options:
    """Return the options of one frame, which has none before it to smooth with."""
    return Options(replace(equalization, smoothing=1.0), output=output)


def _stored(device: Any, out: Any, found: Any) -> Any:
    """Return the result where the caller wants it."""
    device.store(out, found)
    return found if out is None else out
