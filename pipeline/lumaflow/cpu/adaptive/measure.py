"""Statistics of the frames of one geometry: histograms of cells, noise, and haze (spec 16.2, 17)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.adaptive import CELLS, Dehaze, HazeMap, cell_bounds
from lumaflow.cpu.adaptive import haze, statistics
from lumaflow.cpu.adaptive.noise import estimate_noise
from lumaflow.cpu.cores import core_count
from lumaflow.cpu.packed422 import extract_luma
from lumaflow.formats import Chroma, Family
from lumaflow.geometry import Geometry
from lumaflow.roi import Rect

Planes = tuple[NDArray[Any], ...]
Matrix = tuple[int, int, int, int]

FULL_601: Matrix = (22987, -5636, -11698, 29049)
LIMITED_601: Matrix = (26149, -6419, -13320, 33050)
"""Factors of R(Cr), G(Cb), G(Cr), B(Cb) in 1/16384, for luma that is stretched to full range."""


class FrameStatistics:
    """Histograms of cells, sum of luma, and noise of one frame.

    cells : (16, 16, 256) uint32, histograms of V
    plane : (height, width) uint8 view of the statistics plane of the counted pixels, or a gray frame itself
    bins : (256,) uint32, histogram of the raw working plane; only for 8 bits
    value_bins : (256,) int64, histogram of V
    """

    def __init__(self, geometry: Geometry, rect: Rect, table: NDArray[np.int16]) -> None:
        left, top, right, bottom = rect
        self._rect, self._layout = rect, geometry.layout
        self._size = (right - left, bottom - top)
        self._bands = 2 * core_count(geometry)
        self._lut = (table >> 7).astype(np.uint8)
        self._color = geometry.layout.family is Family.RGB
        self._raw = not self._color and geometry.layout.bits == 8
        self._direct = self._raw and not geometry.limited
        shape = (0, 0) if self._direct else (bottom - top, right - left)
        self._scratch = np.empty(shape, np.uint8)
        self._bounds = cell_bounds(right - left), cell_bounds(bottom - top)
        self._partials = np.empty((CELLS, 4, 256), np.uint32)
        self._energies = np.empty((self._bands, 16, 256), np.uint32)
        self._sums = np.empty(self._bands, np.int64)
        self.cells = np.empty((CELLS, CELLS, 256), np.uint32)
        self.bins = np.empty(256, np.uint32)
        self.value_bins = np.empty(256, np.int64)
        self.luma_sum = 0
        self.noise = (0, 0)
        self.plane, self.origin = self._scratch, (0, 0)

    def measure(self, pixels: NDArray[Any], plane: NDArray[Any]) -> None:
        """Measure a frame.

        pixels : its first plane
        plane : its working plane (H, W), LSB-aligned; not used for RGB
        """
        left, top, *_ = self._rect
        if self._color:
            flat = pixels.reshape(pixels.shape[0], -1)
            channels, red_first = pixels.shape[2], self._layout.blue == 2
            statistics.value_and_luma(flat, self._rect, channels, red_first, self._scratch, self._sums)
        elif not self._direct:
            statistics.look_up_plane(plane, self._lut, self._rect, self._scratch)
        self.plane, self.origin = (plane, (left, top)) if self._direct else (self._scratch, (0, 0))
        counted, origin = (plane, (left, top)) if self._raw else (self._scratch, (0, 0))
        statistics.count_cells(counted, origin, *self._bounds, self._partials, self.cells)
        statistics.sum_cells(self.cells, self.bins)
        if self._raw and not self._direct:
            statistics.remap_cells(self.cells, self._lut)
        statistics.sum_cells(self.cells, self.value_bins)
        self.luma_sum = int(self._sums.sum() if self._color else self.value_bins @ np.arange(256))
        statistics.count_noise(self.plane, self.origin, self._size, self._energies)
        self.noise = estimate_noise(self._energies.sum(axis=0, dtype=np.int64))


class HazeMeter:
    """Haze of the frames of one geometry, smoothed in time.

    color : 0 gray, 1 RGB, 2 YUV
    gains : (tile rows, tile columns) float32, 1 / transmission
    airlight : (3,) float32 in use, in quarters of a level; only the first for gray
    strength : in use, 0 to 1
    """

    def __init__(self, geometry: Geometry, rect: Rect, dehaze: Dehaze, strength: np.float32) -> None:
        self._careful, self._wanted = dehaze is Dehaze.AUTO, strength
        self._means = BlockMeans(geometry, rect)
        self._radius = self._means.map.radius
        self.color = {Family.GRAY: 0, Family.RGB: 1, Family.YUV: 2}[geometry.layout.family]
        self.matrix = LIMITED_601 if geometry.limited else FULL_601
        rows, columns = self._means.map.rows, self._means.map.columns
        self._maps = np.empty((7, rows, columns), np.int32)
        reach = 2 * max(self._radius, 2)
        self._row_scratch = np.empty((rows, columns + reach), np.int32)
        self._column_scratch = np.empty((rows + reach, columns), np.int32)
        tiles = (self._means.map.tile_rows, self._means.map.tile_columns)
        self._sums = np.empty((*tiles, 5), np.int64)
        self._state, self._own = (np.zeros(4 + 2 * tiles[0] * tiles[1], np.float32) for _ in range(2))
        self.gains = np.ones(tiles, np.float32)
        self.airlight, self.strength = np.zeros(3, np.float32), np.float32(0)
        self._started = False

    def reset(self) -> None:
        """Forget the earlier frames."""
        self._started = False

    def measure(
        self, planes: Planes, statistics_plane: NDArray[np.uint8], origin: tuple[int, int], darkest: int
    ) -> None:
        """Measure the haze of one frame.

        planes : of the frame
        statistics_plane, origin : as in FrameStatistics; not used for RGB
        darkest : level of the frame, in 1/16 level
        """
        means = self._means.compute(planes, statistics_plane, origin)
        luma, raw, dark, highest, lowest, spread, scratch = self._maps
        if self.color == 0:
            haze.gray_maps(means, luma, raw)
        elif self.color == 1:
            haze.bgr_maps(means, luma, raw)
        else:
            haze.yuv_maps(means, self.matrix, luma, raw)
        windows = ((raw, self._radius, 1, dark), (luma, 2, -1, highest), (luma, 2, 1, lowest))
        for source, radius, sign, target in windows:
            haze.window_rows(source, radius, sign, self._row_scratch, scratch)
            haze.window_columns(scratch, radius, sign, self._column_scratch, target)
        haze.tile_sums(dark, highest, lowest, spread, self._sums)
        tiles = self._own[4:].reshape(2, *self.gains.shape)
        haze.tile_darkness(self._sums, tiles[0], tiles[1])
        self._own[3] = haze.airlight_and_score(
            means, luma, dark, raw, spread, self.color, self._careful, self._own[:3]
        )
        if self._careful:
            self._own[3] = haze.score_without_dark_pixels(self._own[3], darkest)

    def update(self, cut: bool, keep: bool) -> None:
        """Remove the haze with the state after the frame measured last.

        cut : a scene cut precedes the frame
        keep : False for a corrupt frame, which changes no state
        """
        state = self._state if self._started or keep else self._own
        if keep and (cut or not self._started):
            state[:] = self._own
        elif keep:
            haze.advance_haze(state, self._own, 1 if self.color == 0 else 3)
        self._started |= keep
        self.airlight[:] = state[:3]
        self.strength = haze.haze_gains(state, self.color, self.matrix, self._wanted, self.gains)


class BlockMeans:
    """Computes the block means of the frames of one geometry (spec 17.1).

    map : the blocks and tiles
    """

    def __init__(self, geometry: Geometry, rect: Rect) -> None:
        left, top, right, bottom = rect
        self.map = haze_map = HazeMap.of(right - left, bottom - top)
        self._layout, self._shift = geometry.layout, 8 if geometry.layout.bits > 8 else 0
        x, y = (left, right), (top, bottom)
        self._bounds = _bounds(haze_map, y, x)
        self._inner_bounds = _bounds(haze_map, (0, bottom - top), (0, right - left))
        packed = geometry.layout.chroma is Chroma.PACKED
        self._chroma_bounds = (
            self._bounds[0] if packed else _halved(self._bounds[0]),
            _halved(self._bounds[1]),
        )
        rgb = geometry.layout.family is Family.RGB
        channels = geometry.layout.channels if rgb else 2
        components = 1 if geometry.layout.family is Family.GRAY else 3
        self._lines = np.empty((haze_map.rows, channels * (right - left + 2)), np.uint16)
        self._means = np.empty((haze_map.rows, haze_map.columns, components), np.int32)
        self._parts = [np.empty((haze_map.rows, haze_map.columns, n), np.int32) for n in (1, 2)]
        self._chroma = np.empty(_chroma_shape(geometry), np.uint8)

    def compute(
        self, planes: Planes, statistics_plane: NDArray[np.uint8], origin: tuple[int, int]
    ) -> NDArray[np.int32]:
        """Return the means (rows, columns, components) int32 in quarters: gray, BGR or luma, Cb, Cr."""
        if self._layout.family is Family.RGB:
            order = (self._layout.blue, 1, 2 - self._layout.blue)
            self._mean(planes[0], self._layout.channels, order, self._bounds, self._means)
            return self._means
        bounds = self._inner_bounds if origin == (0, 0) else self._bounds
        if self._layout.family is Family.GRAY:
            self._mean(statistics_plane, 1, (0,), bounds, self._means)
            return self._means
        luma, chroma = self._parts
        self._mean(statistics_plane, 1, (0,), bounds, luma)
        self._means[..., :1] = luma
        if self._layout.chroma is Chroma.PLANAR:
            for component, plane in enumerate(planes[1:]):
                self._mean(plane, 1, (0,), self._chroma_bounds, luma)
                self._means[..., 1 + component : 2 + component] = luma
            return self._means
        self._mean(self._pairs(planes), 2, (0, 1), self._chroma_bounds, chroma)
        self._means[..., 1:] = chroma
        return self._means

    def _pairs(self, planes: Planes) -> NDArray[np.uint8]:
        """Return the 8-bit chroma as rows of Cb, Cr pairs."""
        if self._layout.chroma is Chroma.PACKED:
            extract_luma(planes[0], 1 - self._layout.luma, self._chroma)
            return self._chroma
        if self._shift:
            np.right_shift(planes[1], self._shift, out=self._chroma, casting="unsafe")
            return self._chroma
        return np.asarray(planes[1], np.uint8)

    def _mean(
        self,
        plane: NDArray[np.uint8],
        channels: int,
        order: tuple[int, ...],
        bounds: tuple[NDArray[np.int32], NDArray[np.int32]],
        means: NDArray[np.int32],
    ) -> None:
        flat = plane.reshape(plane.shape[0], -1)
        haze.block_means(flat, channels, order, *bounds, self._lines, means)


def _bounds(
    haze_map: HazeMap, y: tuple[int, int], x: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return along each axis the first pixel of every block, and the one after its last: (blocks, 2)."""
    axes = []
    for blocks, (first, end) in ((haze_map.rows, y), (haze_map.columns, x)):
        starts = first + haze_map.step * np.arange(blocks)
        axes.append(np.stack([starts, np.minimum(starts + haze_map.step, end)], axis=1).astype(np.int32))
    return axes[0], axes[1]


def _halved(bounds: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the bounds of the chroma samples that touch those pixels."""
    return np.stack([bounds[:, 0] // 2, (bounds[:, 1] + 1) // 2], axis=1).astype(np.int32)


def _chroma_shape(geometry: Geometry) -> tuple[int, ...]:
    """Return the shape of 8-bit chroma that is not read in place."""
    if geometry.layout.chroma is Chroma.PACKED:
        return geometry.shape[:2]
    if geometry.layout.chroma is Chroma.SEMI_PLANAR and geometry.layout.bits > 8:
        return geometry.plane_shapes[1]
    return (0, 0)
