"""Turning planes (spec 12), tile by tile so that what is read and what is written both stay cached."""

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from lumaflow.cpu.packed422 import exchange_lumas
from lumaflow.formats import Chroma
from lumaflow.frame import Frame
from lumaflow.geometry import Geometry
from lumaflow.options import Orientation
from lumaflow.tables import AxisMap, axis_map

Samples = NDArray[Any]
TILE_PX = 64


class PlaneReorienter:
    """Turns the frames of one geometry into memory of its own."""

    def __init__(self, geometry: Geometry, orientation: Orientation) -> None:
        self._turn = axis_map(orientation)
        self._woven = geometry.layout.chroma is Chroma.PACKED
        self._luma = geometry.layout.luma
        self._turned = Frame.empty(geometry.reoriented(orientation)).planes

    def turn(self, planes: tuple[Samples, ...]) -> tuple[Samples, ...]:
        """The turned planes, valid until the next call."""
        for plane, out in zip(planes, self._turned, strict=True):
            if self._woven:
                self._turn_pairs(plane, out)
            else:
                reorient_plane(plane, self._turn, out)
        return self._turned

    def _turn_pairs(self, pixels: Samples, out: Samples) -> None:
        """Two pixels and the chroma they share move as one; then the two change places."""
        reorient_plane(_in_pairs(pixels), self._turn, _in_pairs(out))
        if self._turn.left:
            exchange_lumas(self._luma, out)


def reorient_plane(source: Samples, turn: AxisMap, out: Samples) -> None:
    """Turn one packed plane, (H, W) or (H, W, channels), into `out`, which has the turned shape."""
    height, width = source.shape[:2]
    origin = (height - 1) * width * turn.up + (width - 1) * turn.left
    row, pixel = (-width if turn.up else width), (-1 if turn.left else 1)
    down, right = (pixel, row) if turn.swapped else (row, pixel)
    if source.ndim == 2:
        move_samples(source.reshape(-1), origin, down, right, out)
    else:
        move_pixels(source.reshape(-1, source.shape[2]), origin, down, right, out)


@njit(nogil=True, cache=True, parallel=True)
def move_samples(source: Samples, origin: int, down: int, right: int, out: Samples) -> None:
    """`out`[y, x] = `source`[origin + y * down + x * right]: source (pixels,), out (H, W)."""
    height, width = out.shape
    across, rows = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * rows):
        top, left = tile // across * TILE_PX, tile % across * TILE_PX
        for y in range(top, min(top + TILE_PX, height)):
            row, start = out[y], origin + y * down
            for x in range(left, min(left + TILE_PX, width)):
                row[x] = source[np.uintp(start + x * right)]


@njit(nogil=True, cache=True, parallel=True)
def move_pixels(source: Samples, origin: int, down: int, right: int, out: Samples) -> None:
    """As `move_samples`: source (pixels, channels), out (H, W, channels), of 2, 3 or 4 channels."""
    height, width, channels = out.shape
    across, rows = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * rows):
        top, left = tile // across * TILE_PX, tile % across * TILE_PX
        right_end = min(left + TILE_PX, width)
        for y in range(top, min(top + TILE_PX, height)):
            start = origin + y * down + left * right
            # A number of channels that the compiler knows makes one move of a pixel.
            if channels == 2:
                _move_run(source, start, right, 2, out[y, left:right_end])
            elif channels == 3:
                _move_run(source, start, right, 3, out[y, left:right_end])
            else:
                _move_run(source, start, right, 4, out[y, left:right_end])


@njit(nogil=True)
def _move_run(source: Samples, start: int, step: int, channels: int, run: Samples) -> None:
    for x in range(run.shape[0]):
        for channel in range(channels):
            run[x, channel] = source[np.uintp(start + x * step), channel]


def _in_pairs(pixels: Samples) -> Samples:
    height, width = pixels.shape[:2]
    return pixels.reshape(height, width // 2, 4)
