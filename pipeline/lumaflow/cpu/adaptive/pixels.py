"""The pixels of frames through a mapping: tables and scratch of one geometry (spec 16.7, 16.8, 17.8)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lumaflow.adaptive import CELLS, GAIN_ONE, GAINS, KNOTS, LEVEL, HazeMap, Number, cell_axis, tile_axis
from lumaflow.cpu.adaptive.apply import map_chroma, map_pixels
from lumaflow.cpu.adaptive.measure import HazeMeter
from lumaflow.cpu.adaptive.strips import HALO, STRIP
from lumaflow.cpu.apply import apply_lut
from lumaflow.cpu.cores import core_count
from lumaflow.cpu.packed422 import map_chroma as map_packed_chroma
from lumaflow.formats import Chroma, Family, PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.roi import Rect, histogram_rect, mapped_rect, outside_rects
from lumaflow.tables import chroma_lut, identity_lut, level_range

F = np.float32
Planes = tuple[NDArray[Any], ...]


class PixelMapper:
    """Maps planes of one geometry; owns the temporal history.

    display : (H, W) uint8 luma of the last frame for HOG and LBP, for an output above 8 bits; else (0, 0)
    """

    def __init__(
        self, geometry: Geometry, output: Geometry, options: Options, table: NDArray[np.int16]
    ) -> None:
        self._geometry, self._output, self._table = geometry, output, table
        self._rect = rect = mapped_rect(geometry, options.region)
        self._outside = outside_rects(geometry, rect)
        self._outside_lut = identity_lut(level_range(geometry, output))
        gray8 = replace(geometry, pixel_format=PixelFormat.GRAY8)
        self._display_lut = identity_lut(level_range(geometry, gray8))
        counted = histogram_rect(geometry, options.region)
        self._set_axes(counted)
        layout = geometry.layout
        rgb = layout.family is Family.RGB
        self._components = 3 if rgb else 1
        self._layout = (layout.channels if rgb else 1, self._components, layout.blue == 2)
        bits, limited = output.layout.bits, output.limited
        low, span = (16 << (bits - 8), 219 << (bits - 8)) if limited else (0, (1 << bits) - 1)
        self._depth = (low, span, bits)
        self._native = layout.bits == bits == 16 and not limited
        columns, bands = self._components * (rect[2] - rect[0]), 2 * core_count(geometry)
        self._samples = np.empty((bands, 2, STRIP + 2 * HALO, columns), np.int16)
        self._rows = np.empty((bands, 2, columns), np.int16)
        self._ints = np.empty((bands, 5, columns), np.int32)
        self._floats = np.empty((bands, 1, columns), np.float32)
        denoise = options.equalization.denoise
        self._history = np.zeros((rect[3] - rect[1], columns) if denoise else (0, 0), np.int16)
        self._copy = np.empty(geometry.shape if denoise else (0, 0), geometry.dtype)
        features = options.hog is not None or options.lbp is not None
        self.display = np.empty(geometry.shape[:2] if features and bits > 8 else (0, 0), np.uint8)
        gain = options.equalization.chroma_gain
        self._chroma_lut = chroma_lut(geometry, gain) if gain != 1.0 else None
        self._chroma_rows, shape = _chroma_shape(geometry)
        self._chroma_gains = np.full(shape, GAIN_ONE, np.int16)
        self._chroma_haze = np.ones(shape, np.float32)
        self._identity = np.empty(table.size, output.dtype)
        self._display_identity = np.empty(table.size, np.uint8)
        plain = np.full((CELLS * CELLS, KNOTS), GAIN_ONE, np.int32), 0, False, F(0), F(1)
        write_curve(table, *plain, low, span, bits, self._native, self._identity)
        write_curve(table, *plain, *((16, 219) if limited else (0, 255)), 8, False, self._display_identity)
        self._compiled = self._unchanged = False

    def map(
        self,
        planes: Planes,
        plane: NDArray[Any],
        target: Planes,
        mapped: NDArray[Any],
        vector: NDArray[np.int32],
        spatial: tuple[int, int],
        temporal: tuple[int, int, int, int],
        haze: HazeMeter | None,
    ) -> None:
        """Map the pixels of a frame.

        planes, target : of the raw and the enhanced frame
        plane : working plane (H, W), LSB-aligned; not used for RGB
        mapped : where the mapped plane goes; not used for RGB
        vector : the mapping in use
        """
        rgb = self._geometry.layout.family is Family.RGB
        source, out = (_flat(planes[0]), _flat(target[0])) if rgb else (plane, mapped)
        if spatial != (0, 0) and np.may_share_memory(source, out):
            copy = self._copy.reshape(source.shape)  # the filter reads rows that are already written
            np.copyto(copy, source)
            source = copy
        on = haze is not None and bool(haze.strength > 0)
        self._unchanged = self._compiled and not on and not temporal[0] and _is_identity(vector)
        if self._unchanged:
            self._keep(source, out)
            self._copy_outside(planes[0], plane, target[0], mapped)
            return
        self._compiled = True
        air, gains = _airlight(haze), haze.gains if haze is not None else np.ones((1, 1), np.float32)
        native = int(self._native and not on and spatial == (0, 0) and temporal[0] == 0)
        saturation = saturation_table(
            *(int(vector[n]) for n in (Number.NOISE, Number.GAIN, Number.SATURATION))
        )
        map_pixels(
            source,
            self._layout,
            self._rect,
            self._table,
            spatial,
            temporal,
            self._history,
            (on, air[0], air[1], air[2], air[3]),
            gains,
            self._haze_x,
            self._haze_y,
            vector[:GAINS].reshape(CELLS, CELLS, KNOTS),
            int(vector[Number.BLACK]),
            self._cells_x,
            self._cells_y,
            saturation,
            (*self._depth, native),
            self._samples,
            self._rows,
            self._ints,
            self._floats,
            out,
            self.display,
            self._chroma_rows,
            self._chroma_gains,
            self._chroma_haze,
        )
        self._copy_outside(planes[0], plane, target[0], mapped)

    def map_chroma(self, planes: Planes, target: Planes, haze: HazeMeter | None) -> None:
        """Map the chroma of the frame mapped last; `planes` and `target` are all planes of the frames."""
        layout = self._geometry.layout
        depth = (layout.bits, self._geometry.shift)
        on = haze is not None and bool(haze.strength > 0)
        if self._unchanged:
            self._keep_chroma(planes, target)
        for component in () if self._unchanged else (0, 1):
            source, out, sampling = self._component(planes, target, component)
            air = F(0)
            if haze is not None:
                air = F(F(haze.airlight[1 + component] - F(512)) * F(32))
            map_chroma(source, sampling, depth, self._chroma_gains, on, self._chroma_haze, air, out)
        if self._chroma_lut is None:
            return
        if layout.chroma is Chroma.PACKED:
            map_packed_chroma(self._chroma_lut, 1 - layout.luma, target[0])
            return
        for plane in target[1:]:
            flat = _flat(plane)
            apply_lut(flat, self._chroma_lut, (0, 0, flat.shape[1], flat.shape[0]), flat)

    def curve(self, vector: NDArray[np.int32], haze: HazeMeter | None, lut: NDArray[Any]) -> None:
        """Write the LUT (2^b,) of the mean of the gains: the mapping of a gray pixel (spec 16.9)."""
        on = haze is not None and bool(haze.strength > 0)
        gain = F(1)
        if haze is not None:
            tiles = np.rint(haze.gains * F(GAIN_ONE)).astype(np.int64)
            gain = F(F(int(tiles.sum())) / F(GAIN_ONE * tiles.size))
        air = _airlight(haze)
        luma_air = air[3] if self._components == 3 else air[0]
        low, span, bits = self._depth
        native = self._native and not on
        gains = vector[:GAINS].reshape(CELLS * CELLS, KNOTS)
        black = int(vector[Number.BLACK])
        write_curve(self._table, gains, black, on, luma_air, gain, low, span, bits, native, lut)

    def _keep(self, source: NDArray[Any], out: NDArray[Any]) -> None:
        """Map a frame whose gains are all 1 (the same result as that of the kernel)."""
        if self._components == 1:
            apply_lut(source, self._identity, self._rect, out)
            if self.display.size:
                apply_lut(source, self._display_identity, self._rect, self.display)
        elif not np.may_share_memory(source, out):
            left, top, right, bottom = self._rect
            step = self._layout[0]
            columns = slice(step * left, step * right)
            np.copyto(out[top:bottom, columns], source[top:bottom, columns])

    def _set_axes(self, counted: Rect) -> None:
        left, top, right, bottom = counted
        size = self._geometry.width, self._geometry.height
        self._cells_x = cell_axis(size[0], right - left, left)
        self._cells_y = cell_axis(size[1], bottom - top, top)
        haze_map = HazeMap.of(right - left, bottom - top)
        x = tile_axis(size[0], right - left, left, haze_map.tile_columns)
        y = tile_axis(size[1], bottom - top, top, haze_map.tile_rows)
        self._haze_x = (x.first, x.second, x.rest, x.weight)
        self._haze_y = (y.first, y.second, y.rest, y.weight)

    def _copy_outside(
        self, pixels: NDArray[Any], plane: NDArray[Any], out: NDArray[Any], mapped: NDArray[Any]
    ) -> None:
        """Copy the pixels outside the region; for an output of another depth they are rescaled."""
        for left, top, right, bottom in self._outside:
            if self._components == 3:
                np.copyto(out[top:bottom, left:right], pixels[top:bottom, left:right])
            else:
                apply_lut(plane, self._outside_lut, (left, top, right, bottom), mapped)
                if self.display.size:
                    apply_lut(plane, self._display_lut, (left, top, right, bottom), self.display)

    def _keep_chroma(self, planes: Planes, target: Planes) -> None:
        """Copy the chroma; that of packed 4:2:2 is copied with the luma."""
        for source, out in zip(planes[1:], target[1:], strict=True):
            if not np.may_share_memory(source, out):
                np.copyto(out, source)

    def _component(
        self, planes: Planes, target: Planes, component: int
    ) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int]]:
        """Return the planes of a chroma component, and its offset and step in a row."""
        layout = self._geometry.layout
        if layout.chroma is Chroma.PLANAR:
            return planes[1 + component], target[1 + component], (0, 1)
        if layout.chroma is Chroma.SEMI_PLANAR:
            return _flat(planes[1]), _flat(target[1]), (component, 2)
        return _flat(planes[0]), _flat(target[0]), (1 - layout.luma + 2 * component, 4)


def _is_identity(vector: NDArray[np.int32]) -> bool:
    """Return True for a mapping that changes no pixel: gains of 1, no black offset, full saturation."""
    black, saturation = vector[Number.BLACK], vector[Number.SATURATION]
    plain = black == 0 and saturation == 0 and vector[Number.GAIN] <= GAIN_ONE
    return bool(plain and (vector[:GAINS] == GAIN_ONE).all())


def saturation_table(noise: int, gain: int, saturation: int) -> NDArray[np.int32]:
    """Return the factor (256,) int32 in 1/256 of the colour differences by level of V (spec 16.8)."""
    level = np.arange(256, dtype=np.int64)
    floor = 3 + (3 * noise + 64) // LEVEL
    factor = 256 - (saturation * floor * floor) // (level * level + floor * floor)
    top = 256 - min(max((gain - 3 * GAIN_ONE) >> 6, 0), 160)
    return ((factor * top) >> 8).astype(np.int32)


@njit(nogil=True, cache=True)
def write_curve(
    table: NDArray[np.int16],
    gains: NDArray[np.int32],
    black: int,
    haze_on: bool,
    airlight: np.float32,
    haze_gain: np.float32,
    low: int,
    span: int,
    bits: int,
    native: bool,
    lut: NDArray[Any],
) -> None:
    """Write the levels of gray pixels under the mean of the gains (256, 33)."""
    knots = np.zeros(KNOTS, np.int64)
    for k in range(KNOTS):
        for cell in range(gains.shape[0]):
            knots[k] += gains[cell, k]
        knots[k] = (knots[k] + 128) >> 8
    top = F(table[table.size - 1])
    for level in range(lut.size):
        sample = np.int32(table[level])
        if haze_on:
            moved = np.rint(F(F(F(F(sample) - airlight) * haze_gain) + airlight))
            sample = np.int32(min(max(moved, F(0)), top))
        value = max(np.int32(sample - black), np.int32(0))
        knot, part = value >> 10, (value >> 3) & 127
        gain = (16 * knots[knot] * (128 - part) + 16 * knots[knot + 1] * part + 1024) >> 11
        if native:
            lut[level] = min((max(level - 2 * black, 0) * gain + 512) >> 10, 65535)
        elif span != (1 << bits) - 1:
            mapped = min((value * gain + 512) >> 10, 32640)
            lut[level] = low + (mapped * span + 16320) // 32640
        else:
            mapped = min((value * gain + 512) >> 10, 32767)
            if bits == 16:
                lut[level] = 65535 if mapped == 32767 else 2 * mapped
            else:
                lut[level] = min((mapped + ((1 << (15 - bits)) >> 1)) >> (15 - bits), span)


def _airlight(haze: HazeMeter | None) -> tuple[np.float32, ...]:
    """Return the airlight as working samples: three components and their luma (spec 17.8)."""
    if haze is None:
        return F(0), F(0), F(0), F(0)
    blue, green, red = (F(haze.airlight[c] * F(32)) for c in range(3))
    luma = F(F(F(blue * F(0.114)) + F(green * F(0.587))) + F(red * F(0.299)))
    return blue, green, red, luma


def _chroma_shape(geometry: Geometry) -> tuple[int, tuple[int, int]]:
    """Return the luma rows of a row of chroma, and the shape of one chroma component."""
    columns = -(-geometry.width // 2)
    if geometry.layout.chroma is Chroma.NONE:
        return 0, (0, 0)
    if geometry.layout.chroma is Chroma.PACKED:
        return 1, (geometry.height, columns)
    return 2, (-(-geometry.height // 2), columns)


def _flat(pixels: NDArray[Any]) -> NDArray[Any]:
    return pixels.reshape(pixels.shape[0], -1)
