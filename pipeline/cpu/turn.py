"""Turning planes (spec 12), tile by tile so that what is read and what is written both stay cached."""

from typing import Any

from numba import njit, prange
from numpy.typing import NDArray

from pipeline.cpu.weave import exchange_lumas
from pipeline.formats import Chroma
from pipeline.frame import Frame
from pipeline.geometry import Geometry
from pipeline.options import Orientation
from pipeline.tables import Turn, turn_of

Samples = NDArray[Any]
TILE_PX = 32


class Turner:
    """Turns the frames of one geometry into memory of its own."""

    def __init__(self, geometry: Geometry, orientation: Orientation) -> None:
        self._turn = turn_of(orientation)
        self._woven = geometry.layout.chroma is Chroma.WOVEN
        self._luma = geometry.layout.luma
        self._turned = Frame.empty(geometry.turned(orientation)).planes

    def turn(self, planes: tuple[Samples, ...]) -> tuple[Samples, ...]:
        """The turned planes, valid until the next call."""
        for plane, out in zip(planes, self._turned, strict=True):
            if self._woven:
                self._turn_pairs(plane, out)
            else:
                turn_plane(plane, self._turn, out)
        return self._turned

    def _turn_pairs(self, pixels: Samples, out: Samples) -> None:
        """Two pixels and the chroma they share move as one; then the two change places."""
        turn_plane(_in_pairs(pixels), self._turn, _in_pairs(out))
        if self._turn.left:
            exchange_lumas(self._luma, out)


def turn_plane(source: Samples, turn: Turn, out: Samples) -> None:
    """Turn one plane, (H, W) or (H, W, channels), into `out`, which has the turned shape."""
    move = move_samples if source.ndim == 2 else move_pixels
    move(source, turn.swapped, turn.up, turn.left, out)


@njit(nogil=True, cache=True, parallel=True)
def move_samples(source: Samples, swapped: bool, up: bool, left: bool, out: Samples) -> None:
    """`out`[y, x] = `source`[v, u], (v, u) as `tables.Turn` says; planes (H, W)."""
    height, width = out.shape
    across, down = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * down):
        top, first = tile // across * TILE_PX, tile % across * TILE_PX
        bottom, last = min(top + TILE_PX, height), min(first + TILE_PX, width)
        for y in range(top, bottom):
            if swapped:
                u = source.shape[1] - 1 - y if left else y
                for x in range(first, last):
                    out[y, x] = source[source.shape[0] - 1 - x if up else x, u]
            else:
                row = source[source.shape[0] - 1 - y if up else y]
                for x in range(first, last):
                    out[y, x] = row[width - 1 - x if left else x]


@njit(nogil=True, cache=True, parallel=True)
def move_pixels(source: Samples, swapped: bool, up: bool, left: bool, out: Samples) -> None:
    """As `move_samples`, for planes (H, W, channels)."""
    height, width, channels = out.shape
    across, down = -(-width // TILE_PX), -(-height // TILE_PX)
    for tile in prange(across * down):
        top, first = tile // across * TILE_PX, tile % across * TILE_PX
        bottom, last = min(top + TILE_PX, height), min(first + TILE_PX, width)
        for y in range(top, bottom):
            for x in range(first, last):
                v, u = (x, y) if swapped else (y, x)
                v = source.shape[0] - 1 - v if up else v
                u = source.shape[1] - 1 - u if left else u
                for channel in range(channels):
                    out[y, x, channel] = source[v, u, channel]


def _in_pairs(pixels: Samples) -> Samples:
    height, width = pixels.shape[:2]
    return pixels.reshape(height, width // 2, 4)
