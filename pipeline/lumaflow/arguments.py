"""What the plain functions take, the same on every device. Arrays are NumPy's or CuPy's; only shapes and
types are looked at here, and the checks say what came and what is needed."""

from typing import Any

import numpy as np

from lumaflow.errors import FrameError, OptionError
from lumaflow.formats import PixelFormat, Range
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Orientation

GRAY = {form.layout.bits: form for form in PixelFormat if form.value.startswith("gray")}
LEVEL_TYPES = (np.uint8, np.uint16)


def check_plane(plane: Any) -> None:
    """Raise FrameError unless this is a plane of levels."""
    if plane.ndim != 2 or plane.size == 0 or plane.dtype not in LEVEL_TYPES:
        raise FrameError(
            f"an array {plane.shape} {plane.dtype} came; give a plane (H, W) uint8 or uint16 with pixels"
        )


def check_bytes(plane: Any) -> None:
    """Raise FrameError unless a plane can be described."""
    if plane.dtype != np.uint8:
        raise FrameError("a plane of uint16 came; features are of 8 bits: map it with Output.DISPLAY first")


def plane_geometry(plane: Any, bits: int | None, range: Range = Range.FULL) -> Geometry:
    """The geometry of a plane with so many valid bits. Raises FrameError."""
    whole = 8 * plane.itemsize
    depth = whole if bits is None else bits
    if depth not in GRAY or (depth > 8) != (whole == 16):
        raise FrameError(
            f"bits={bits} came with {plane.dtype}; give 8 for uint8, 10, 12, 14 or 16 for uint16"
        )
    height, width = plane.shape
    return Geometry(width, height, GRAY[depth], range)


def bins_geometry(bins: Any, equalization: Equalization, range: Range) -> Geometry:
    """The geometry of a pixel of a frame that has these bins. Raises FrameError, OptionError."""
    depth = bins.size.bit_length() - 1
    whole = depth in GRAY and bins.shape == (1 << depth,) and bins.dtype == np.uint32
    if not whole or not bins.any():
        raise FrameError(
            f"bins {bins.shape} {bins.dtype} came; they are (2^b,) uint32 with at least one pixel,"
            f" b of {', '.join(map(str, GRAY))}"
        )
    if equalization.mode is Mode.CLAHE:
        raise OptionError("clahe came, which needs the pixels: call `clahe`, or give a global mode")
    return Geometry(1, 1, GRAY[depth], range)


def check_lut(lut: Any, plane: Any) -> None:
    """Raise FrameError unless there is an entry for every level of the plane."""
    if lut.ndim != 1 or lut.dtype not in LEVEL_TYPES:
        raise FrameError(f"a lut {lut.shape} {lut.dtype} came; give (levels,) uint8 or uint16")
    # The plane is not searched where none of its levels can be beyond the table.
    if lut.size < 1 << 8 * plane.itemsize and (top := int(plane.max())) >= lut.size:
        raise FrameError(
            f"a lut of {lut.size} entries came for levels up to {top}; it needs one for every level"
        )


def check_turnable(pixels: Any) -> None:
    """Raise FrameError unless these are pixels that can be turned."""
    channels = pixels.shape[2:] if pixels.ndim == 3 else ()
    if pixels.ndim not in (2, 3) or pixels.size == 0 or channels not in ((), (2,), (3,), (4,)):
        raise FrameError(f"an array {pixels.shape} came; give (H, W), or (H, W, 2..4)")
    if pixels.dtype not in LEVEL_TYPES:
        raise FrameError(f"an array of {pixels.dtype} came; give uint8 or uint16")


def turned_shape(pixels: Any, orientation: Orientation) -> tuple[int, ...]:
    """The shape of pixels once they are turned."""
    height, width = pixels.shape[:2]
    sides = (width, height) if orientation.swaps_sides else (height, width)
    return (*sides, *pixels.shape[2:])


def check_out(out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise FrameError unless `out` can take a result of this shape and type."""
    if out.shape != shape or out.dtype != dtype:
        raise FrameError(f"an out {out.shape} {out.dtype} came; the result is {shape} {np.dtype(dtype)}")


def check_apart(shares_memory: bool) -> None:
    """Raise FrameError where the out overlaps what is read."""
    if shares_memory:
        raise FrameError("the out shares memory with the array to be turned; give another one")
