"""Rotate, flip or transpose planes (spec 12), tile by tile so that reads and writes stay in the cache."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.cpu.packed422 import swap_lumas
from lumaflow.formats import Chroma
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Orientation
from lumaflow.tables import AxisMap, axis_map

Samples = NDArray[Any]
TILE_PX = 64


class PlaneReorienter:
    """Reorients frames of one geometry into its own buffers."""

    def __init__(self, geometry: Geometry, orientation: Orientation) -> None:
        self._axes = axis_map(orientation)
        self._packed = geometry.layout.chroma is Chroma.PACKED
        self._luma = geometry.layout.luma
        self._planes = Frame.empty(geometry.reoriented(orientation)).planes

    def reorient(self, planes: tuple[Samples, ...]) -> tuple[Samples, ...]:
        """Return the reoriented planes, valid until the next call."""
        for plane, out in zip(planes, self._planes, strict=True):
            if self._packed:
                self._reorient_pairs(plane, out)
            else:
                reorient_plane(plane, self._axes, out)
        return self._planes

    def _reorient_pairs(self, pixels: Samples, out: Samples) -> None:
        """Move two pixels with their shared chroma together; then swap their lumas if the row is flipped."""
        reorient_plane(_in_pairs(pixels), self._axes, _in_pairs(out))
        if self._axes.from_right:
            swap_lumas(self._luma, out)


def reorient_plane(source: Samples, axes: AxisMap, out: Samples) -> None:
    """Reorient a contiguous plane, (H, W) or (H, W, channels), into `out`."""
    height, width = source.shape[:2]
    origin = (height - 1) * width * axes.from_bottom + (width - 1) * axes.from_right
    row, pixel = (-width if axes.from_bottom else width), (-1 if axes.from_right else 1)
    row_step, pixel_step = (pixel, row) if axes.swapped else (row, pixel)
    if source.ndim == 2:
        copy_samples(source.reshape(-1), origin, row_step, pixel_step, out)
    else:
        copy_pixels(source.reshape(-1, source.shape[2]), origin, row_step, pixel_step, out)


@njit(nogil=True, cache=True, parallel=True)
def copy_samples(source: Samples, origin: int, row_step: int, pixel_step: int, out: Samples) -> None:
    """Write out[y, x] = source[origin + y * row_step + x * pixel_step]: source (pixels,), out (H, W)."""
    height, width = out.shape
    across, rows = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * rows):
        top, left = tile // across * TILE_PX, tile % across * TILE_PX
        for y in range(top, min(top + TILE_PX, height)):
            row, start = out[y], origin + y * row_step
            for x in range(left, min(left + TILE_PX, width)):
                row[x] = source[np.uintp(start + x * pixel_step)]


@njit(nogil=True, cache=True, parallel=True)
def copy_pixels(source: Samples, origin: int, row_step: int, pixel_step: int, out: Samples) -> None:
    """As `copy_samples`, with source (pixels, channels), out (H, W, channels), of 2, 3 or 4 channels."""
    height, width, channels = out.shape
    across, rows = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * rows):
        top, left = tile // across * TILE_PX, tile % across * TILE_PX
        right = min(left + TILE_PX, width)
        for y in range(top, min(top + TILE_PX, height)):
            start = origin + y * row_step + left * pixel_step
            # With a constant number of channels the compiler copies a pixel in one instruction.
            if channels == 2:
                _copy_run(source, start, pixel_step, 2, out[y, left:right])
            elif channels == 3:
                _copy_run(source, start, pixel_step, 3, out[y, left:right])
            else:
                _copy_run(source, start, pixel_step, 4, out[y, left:right])


@njit(nogil=True)
def _copy_run(source: Samples, start: int, step: int, channels: int, run: Samples) -> None:
    for x in range(run.shape[0]):
        for channel in range(channels):
            run[x, channel] = source[np.uintp(start + x * step), channel]


def _in_pairs(pixels: Samples) -> Samples:
    height, width = pixels.shape[:2]
    return pixels.reshape(height, width // 2, 4)
