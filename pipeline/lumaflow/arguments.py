"""Checks of the arguments of `lumaflow.functions`, for arrays of NumPy and CuPy alike."""

from typing import Any

import numpy as np

from lumaflow.errors import FrameError, OptionError
from lumaflow.formats import PixelFormat, Range
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode, Orientation

GRAY = {form.layout.bits: form for form in PixelFormat if form.value.startswith("gray")}
SAMPLE_TYPES = (np.uint8, np.uint16)

DESCRIPTOR_ALIGN = 16
"""Bytes: GPU kernels write tables and descriptors as vectors, to addresses that are a multiple of this."""


def pixel_align(pixels: Any) -> int:
    """Return the largest power of two that divides the bytes of a pixel of (H, W) or (H, W, channels)."""
    pixel_bytes: int = pixels.itemsize * (max(pixels.shape[2], 1) if pixels.ndim == 3 else 1)
    return pixel_bytes & -pixel_bytes


def plane_geometry(plane: Any, bits: int | None, range: Range = Range.FULL) -> Geometry:
    """Return the geometry of a plane with values of `bits` bits. Raises FrameError."""
    if plane.ndim != 2 or plane.size == 0 or plane.dtype not in SAMPLE_TYPES:
        raise FrameError(
            f"expected a plane (H, W) uint8 or uint16 with pixels, got {plane.shape} {plane.dtype}"
        )
    depth = 8 * plane.itemsize if bits is None else bits
    if depth not in GRAY or (depth > 8) != (plane.itemsize == 2):
        raise FrameError(
            f"expected 8 bits for uint8, or 10, 12, 14 or 16 bits for uint16, got {bits} bits with"
            f" {plane.dtype}; for features, apply Output.DISPLAY first"
        )
    height, width = plane.shape
    return Geometry(width, height, GRAY[depth], range)


def bins_geometry(bins: Any, equalization: Equalization, range: Range) -> Geometry:
    """Return the geometry of one pixel of a frame with this histogram. Raises FrameError, OptionError."""
    depth = bins.size.bit_length() - 1
    fits = depth in GRAY and bins.shape == (1 << depth,) and bins.dtype == np.uint32
    if not fits or not bins.any():
        raise FrameError(
            f"expected bins (2^b,) uint32 of at least one pixel, b = {', '.join(map(str, GRAY))}, got"
            f" {bins.shape} {bins.dtype}; compute them with compute_histogram"
        )
    if equalization.mode is Mode.CLAHE:
        raise OptionError("expected a plain mode except Mode.CLAHE, which needs the pixels; call `clahe`")
    check_plain_mode(equalization)
    return Geometry(1, 1, GRAY[depth], range)


def check_plain_mode(equalization: Equalization) -> None:
    """Raise OptionError for an adaptive mode."""
    if equalization.mode.adaptive:
        raise OptionError(f"expected a plain mode, got {equalization.mode}, which needs frames; open a lane")


def check_lut(lut: Any, plane: Any) -> None:
    """Raise FrameError unless the LUT has an entry for every level of the plane."""
    if lut.ndim != 1 or lut.dtype not in SAMPLE_TYPES:
        raise FrameError(f"expected a LUT (levels,) uint8 or uint16, got {lut.shape} {lut.dtype}")
    # The maximum of the plane is needed only for a LUT that is shorter than the range of the dtype.
    if lut.size < 1 << 8 * plane.itemsize and (highest := int(plane.max())) >= lut.size:
        raise FrameError(f"expected a LUT with an entry for level {highest}, got {lut.size} entries")


def check_pixels(pixels: Any) -> None:
    """Raise FrameError unless these are pixels that `apply_orientation` can move."""
    channels = pixels.shape[2:] if pixels.ndim == 3 else ()
    if pixels.ndim not in (2, 3) or pixels.size == 0 or channels not in ((), (2,), (3,), (4,)):
        raise FrameError(f"expected pixels (H, W) or (H, W, 2..4), got {pixels.shape}")
    if pixels.dtype not in SAMPLE_TYPES:
        raise FrameError(f"expected pixels of uint8 or uint16, got {pixels.dtype}")


def reoriented_shape(pixels: Any, orientation: Orientation) -> tuple[int, ...]:
    """Return the shape of the pixels after `orientation`."""
    height, width = pixels.shape[:2]
    sides = (width, height) if orientation.swaps_sides else (height, width)
    return (*sides, *pixels.shape[2:])


def check_out(out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise FrameError unless `out` has this shape and dtype."""
    if out.shape != shape or out.dtype != dtype:
        raise FrameError(f"expected out to be {shape} {np.dtype(dtype)}, got {out.shape} {out.dtype}")


def check_disjoint(shares_memory: bool) -> None:
    """Raise FrameError when the output overlaps the input."""
    if shares_memory:
        raise FrameError("expected out apart from pixels, got arrays that share memory; pass another out")
