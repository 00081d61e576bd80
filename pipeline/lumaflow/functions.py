"""Single steps on single arrays, for users who want one of them: no lane, no state, no frame before.

Arrays are NumPy's, or anything that gives NumPy a view through DLPack; on a GPU CuPy's, or anything that has
DLPack or the CUDA array interface. What is returned is `out` where it was given, else a new array of NumPy or
of CuPy, which in turn has both. `stream` is one of CuPy or PyTorch, or its address; without it CuPy's current
stream is used. On the processor there is none.
"""

from typing import Any

from lumaflow.array_device import on_device
from lumaflow.formats import Range
from lumaflow.options import (
    Equalization,
    HogLayout,
    LbpMapping,
    Mode,
    Neighborhood,
    Orientation,
    Output,
    Region,
)

CLAHE, EQUALIZE = Equalization(), Equalization(Mode.EQUALIZE)


def compute_histogram(
    luma: Any, *, bits: int | None = None, region: Region | None = None, out: Any = None, stream: Any = None
) -> Any:
    """Counts of the levels of a plane, or of a region of it (spec 1).

    luma : (H, W) uint8 or uint16; `bits` valid ones at the low end: 8, 10, 12, 14 or 16, else all of the type
    Returns bins : (2^bits,) uint32. Raises FrameError (array, a value beyond the depth), OptionError.
    """
    return _device_of(luma).compute_histogram(luma, bits, region, out, stream)


def build_lut(
    bins: Any,
    equalization: Equalization = EQUALIZE,
    *,
    output: Output = Output.SAME,
    range: Range = Range.FULL,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """The mapping that a histogram makes, in a global mode (spec 2, 3, 8, 9).

    bins : (2^b,) uint32, b of 8, 10, 12, 14 or 16
    Returns lut : (2^b,) uint8, or uint16 for a deep output. Raises FrameError, OptionError (CLAHE).
    """
    return _device_of(bins).build_lut(bins, equalization, output, range, out, stream)


def apply_lut(luma: Any, lut: Any, *, out: Any = None, stream: Any = None) -> Any:
    """A plane seen through one mapping.

    luma : (H, W) uint8 or uint16, all below the number of entries of `lut`
    lut : (2^b,) uint8 or uint16
    Returns (H, W) of the type of `lut`. Raises FrameError.
    """
    return _device_of(luma).apply_lut(luma, lut, out, stream)


def clahe(
    luma: Any,
    equalization: Equalization = CLAHE,
    *,
    bits: int | None = None,
    output: Output = Output.SAME,
    range: Range = Range.FULL,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """A plane through the mapping it makes itself: CLAHE, or the mode of `equalization` (spec 4).

    luma : (H, W) uint8 or uint16; bits as for `compute_histogram`
    Returns (H, W) of the type of `luma`, or uint8 for the display. Raises FrameError, OptionError.
    """
    return _device_of(luma).clahe(luma, equalization, bits, output, range, out, stream)


def hog(luma: Any, layout: HogLayout = HogLayout.OPENCV, *, out: Any = None, stream: Any = None) -> Any:
    """Histograms of oriented gradients of a plane (spec 10).

    luma : (H, W) uint8
    Returns hog : (blocks_y, blocks_x, 36) float32, or compact (cells_y, cells_x, 9). Raises FrameError.
    """
    return _device_of(luma).hog(luma, layout, out, stream)


def lbp(
    luma: Any,
    neighborhood: Neighborhood = Neighborhood.SQUARE,
    mapping: LbpMapping = LbpMapping.UNIFORM,
    *,
    out: Any = None,
    stream: Any = None,
) -> Any:
    """Histograms of local binary patterns in cells of 16x16 pixels (spec 11).

    luma : (H, W) uint8
    Returns lbp : (ceil(H/16), ceil(W/16), labels) uint16. Raises FrameError.
    """
    return _device_of(luma).lbp(luma, neighborhood, mapping, out, stream)


def apply_orientation(pixels: Any, orientation: Orientation, *, out: Any = None, stream: Any = None) -> Any:
    """A plane turned (spec 12).

    pixels : (H, W) or (H, W, channels) with 2, 3 or 4 channels, uint8 or uint16
    Returns the turned array. Raises FrameError.
    """
    return _device_of(pixels).apply_orientation(pixels, orientation, out, stream)


def transpose(pixels: Any, *, out: Any = None, stream: Any = None) -> Any:
    """Rows to columns: `apply_orientation` with `Orientation.TRANSPOSE`."""
    return apply_orientation(pixels, Orientation.TRANSPOSE, out=out, stream=stream)


def _device_of(array: Any) -> Any:
    """The module that computes where `array` lies."""
    if on_device(array):
        from lumaflow.cuda import functions as on_gpu

        return on_gpu
    from lumaflow.cpu import functions

    return functions
