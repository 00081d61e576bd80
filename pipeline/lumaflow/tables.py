"""Constant tables of the algorithms, computed on the host when a lane opens: equal on every device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.geometry import Geometry
from lumaflow.options import HogLayout, LbpMapping, Orientation

LEVELS = 256
"""Gray levels of an 8-bit frame: the entries of its LUT."""

LBP_CELL_PX = 16
HOG_CELL_PX = 8
HOG_BLOCK_PX = 16
HOG_BINS = 9
HOG_BLOCK_VALUES = 36


@dataclass(frozen=True, slots=True, eq=False)
class TileGrid:
    """The tiles of a plane, with reflected padding (spec 4.1).

    columns, rows : number of tiles along x and y
    tile_width, tile_height : pixels of one tile
    source_x : (columns * tile_width,) int32, the column of the frame that each padded column repeats
    source_y : (rows * tile_height,) int32, likewise for rows
    """

    columns: int
    rows: int
    tile_width: int
    tile_height: int
    source_x: NDArray[np.int32]
    source_y: NDArray[np.int32]

    @property
    def tile_pixels(self) -> int:
        """Pixels of one tile: the sum of its histogram."""
        return self.tile_width * self.tile_height


def tile_grid(width: int, height: int, tiles: tuple[int, int], origin: tuple[int, int] = (0, 0)) -> TileGrid:
    """Divide `width` x `height` pixels, starting at `origin` = (x, y), into `tiles` = (columns, rows)."""
    (columns, rows), (x, y) = tiles, origin
    padded_width, padded_height = width, height
    if width % columns or height % rows:
        # As in OpenCV, both axes are padded when one size is not a multiple of its tiles.
        padded_width += columns - width % columns
        padded_height += rows - height % rows
    return TileGrid(
        columns,
        rows,
        padded_width // columns,
        padded_height // rows,
        _reflect(padded_width, width) + np.int32(x),
        _reflect(padded_height, height) + np.int32(y),
    )


def clip_limit(relative: float, tile_pixels: int, levels: int = LEVELS) -> int:
    """Return the largest count of a bin that is not clipped (spec 4.2); 0: no clipping."""
    if relative <= 0.0:
        return 0
    return max(int(relative * tile_pixels / levels), 1)


def lut_scale(tile_pixels: int, span: int = LEVELS - 1) -> np.float32:
    """Return the factor from a cumulative count to one of `span` + 1 gray levels (spec 4.4)."""
    return np.float32(span) / np.float32(tile_pixels)


@dataclass(frozen=True, slots=True)
class LevelRange:
    """Levels of the frame, low..high, that a LUT maps to out_low..out_high (spec 8, 9).

    size : entries of the LUT, 2^b
    """

    size: int
    low: int
    high: int
    out_low: int
    out_high: int


def level_range(geometry: Geometry, output: Geometry) -> LevelRange:
    """Return the levels of `geometry` and those of `output`, which can have another bit depth."""
    return LevelRange(1 << geometry.layout.bits, *_nominal_range(geometry), *_nominal_range(output))


def rescale_lut(levels: LevelRange) -> NDArray[Any]:
    """Return the LUT (2^b,) uint8 or uint16 that changes the bit depth only, with levels clamped."""
    clamped = np.clip(np.arange(levels.size), levels.low, levels.high) - levels.low
    factor = np.float32(levels.out_high - levels.out_low) / np.float32(levels.high - levels.low)
    rescaled = levels.out_low + np.rint(clamped.astype(np.float32) * factor)
    return np.asarray(rescaled, np.uint8 if levels.out_high < LEVELS else np.uint16)


def identity_lut(levels: LevelRange) -> NDArray[Any]:
    """Return the LUT (2^b,) uint8 or uint16 that changes no level; `rescale_lut` if the depth differs."""
    if (levels.low, levels.high) == (levels.out_low, levels.out_high):
        return np.arange(levels.size).astype(np.uint8 if levels.size == LEVELS else np.uint16)
    return rescale_lut(levels)


def chroma_lut(geometry: Geometry, gain: float) -> NDArray[Any]:
    """Return the LUT that multiplies the distance of chroma samples from neutral by `gain`.

    It has an entry for every value of the dtype of the geometry. Rounded half to even in double precision;
    limited-range chroma is clamped to 16..240 (at 8 bits).
    """
    bits, shift = geometry.layout.bits, geometry.shift
    samples = np.arange(1 << 8 * geometry.dtype.itemsize)
    neutral, step = 1 << (bits - 1), 1 << (bits - 8)
    low, high = (16 * step, 240 * step) if geometry.limited else (0, (1 << bits) - 1)
    levels = np.clip(np.rint(neutral + ((samples >> shift) - neutral) * gain), low, high).astype(np.int64)
    return np.asarray(levels << shift, geometry.dtype)


@dataclass(frozen=True, slots=True)
class AxisMap:
    """The source (v, u) of pixel (y, x) of a reoriented frame (spec 12): out[y, x] = source[v, u].

    swapped : (v, u) = (x, y), else (y, x)
    from_bottom, from_right : v counts from the last row, u from the last column
    """

    swapped: bool = False
    from_bottom: bool = False
    from_right: bool = False


def axis_map(orientation: Orientation) -> AxisMap:
    """Return the axis map of an orientation."""
    return {
        Orientation.NONE: AxisMap(),
        Orientation.TRANSPOSE: AxisMap(swapped=True),
        Orientation.ROTATE90: AxisMap(swapped=True, from_bottom=True),
        Orientation.ROTATE180: AxisMap(from_bottom=True, from_right=True),
        Orientation.ROTATE270: AxisMap(swapped=True, from_right=True),
        Orientation.FLIP_X: AxisMap(from_right=True),
        Orientation.FLIP_Y: AxisMap(from_bottom=True),
    }[orientation]


@dataclass(frozen=True, slots=True, eq=False)
class InterpolationTable:
    """The two tiles to interpolate between at each pixel of one axis, and their weights (spec 4.5).

    first, second : (size,) int32, indices of the two tiles
    weight : (size,) float32, weight of the second tile
    rest : (size,) float32, weight of the first tile: 1 - weight
    edges : (tiles + 2,) int32, pixels edges[k] .. edges[k+1]-1 have the same two tiles: max(k-1, 0) and
        min(k, tiles-1)
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    weight: NDArray[np.float32]
    rest: NDArray[np.float32]
    edges: NDArray[np.int32]


def interpolation_table(size: int, tile_size: int, tiles: int, origin: int = 0) -> InterpolationTable:
    """Return the table of one axis of `size` pixels, with `tiles` tiles of `tile_size` pixels from `origin`.

    Pixels outside the tiles use the nearest tile.
    """
    inverse = np.float32(1) / np.float32(tile_size)
    position = np.arange(-origin, size - origin, dtype=np.float32) * inverse - np.float32(0.5)
    below = np.floor(position)
    index = np.clip(below.astype(np.int32), -1, tiles - 1)
    weight = position - below
    return InterpolationTable(
        np.maximum(index, 0),
        np.minimum(index + 1, tiles - 1),
        weight,
        np.float32(1) - weight,
        np.searchsorted(index, np.arange(-1, tiles + 1)).astype(np.int32),
    )


def hog_shape(geometry: Geometry, layout: HogLayout) -> tuple[int, int, int]:
    """Return the shape of the HOG of a frame; 0 where the frame is smaller than a cell or block."""
    cells_y, cells_x = geometry.height // HOG_CELL_PX, geometry.width // HOG_CELL_PX
    if layout is HogLayout.COMPACT:
        return cells_y, cells_x, HOG_BINS
    return max(cells_y - 1, 0), max(cells_x - 1, 0), HOG_BLOCK_VALUES


def lbp_shape(geometry: Geometry, mapping: LbpMapping) -> tuple[int, int, int]:
    """Return the shape of the LBP histograms of a frame; the last cell of an axis can be smaller."""
    return -(-geometry.height // LBP_CELL_PX), -(-geometry.width // LBP_CELL_PX), mapping.labels


def hog_gamma() -> NDArray[np.float32]:
    """Return the gamma table (256,) float32: the square root of every gray level."""
    return np.sqrt(np.arange(LEVELS, dtype=np.float32))


def hog_weights() -> NDArray[np.float32]:
    """Return the weights (4, 8) float32 of the 8 pixels of a cell along one axis (spec 10).

    Row 2 * position + target: the cell is the first or second of its block (position), and its pixels vote
    for the first or second cell of that block (target). The weight of a pixel is the product of its row
    weight and its column weight, from the same table: a Gaussian centred at 8 (not 7.5), times bilinear
    interpolation between cells, without votes outside the block.
    """
    pixel = np.arange(HOG_BLOCK_PX, dtype=np.float64)
    gaussian = np.exp(-((pixel - 8.0) ** 2) / 32.0)
    centre = (pixel + 0.5) / HOG_CELL_PX - 0.5
    share = np.stack([np.maximum(0.0, 1.0 - np.abs(centre - target)) for target in (0, 1)])
    weights = (share * gaussian).reshape(2, 2, HOG_CELL_PX).transpose(1, 0, 2)
    return np.ascontiguousarray(weights.reshape(4, HOG_CELL_PX), dtype=np.float32)


def lbp_labels(mapping: LbpMapping) -> NDArray[np.uint8]:
    """Return the label (256,) uint8 of every LBP code (spec 11)."""
    label: Callable[[int], int] = {
        LbpMapping.RAW: _raw_label,
        LbpMapping.UNIFORM: _uniform_label,
        LbpMapping.RIU2: _riu2_label,
        LbpMapping.ROR: _ror_label,
    }[mapping]
    return np.array([label(code) for code in range(LEVELS)], dtype=np.uint8)


def _nominal_range(geometry: Geometry) -> tuple[int, int]:
    """Return the lowest and highest level of the range (spec 9)."""
    bits = geometry.layout.bits
    return (16 << (bits - 8), 235 << (bits - 8)) if geometry.limited else (0, (1 << bits) - 1)


def _reflect(padded: int, size: int) -> NDArray[np.int32]:
    """Return reflect-101 indices (padded,) int32 into an axis of `size`, repeated as often as needed."""
    if size == 1:
        return np.zeros(padded, dtype=np.int32)
    period = 2 * (size - 1)
    phase = np.arange(padded) % period
    return np.minimum(phase, period - phase).astype(np.int32)


def _rotated(code: int, steps: int) -> int:
    """Return `code` rotated right by `steps` of its eight bits."""
    return ((code >> steps) | (code << (8 - steps))) & 0xFF


def _is_uniform(code: int) -> bool:
    """Return True for at most two changes between 0 and 1 around the circle."""
    return (code ^ _rotated(code, 1)).bit_count() <= 2


def _raw_label(code: int) -> int:
    return code


def _uniform_label(code: int) -> int:
    ones = code.bit_count()
    if not _is_uniform(code):
        return 58
    if ones in (0, 8):
        return {0: 0, 8: 57}[ones]
    start = next(bit for bit in range(8) if code >> bit & 1 and not _rotated(code, bit) >> 7)
    return 1 + (ones - 1) * 8 + (8 - start) % 8


def _riu2_label(code: int) -> int:
    return code.bit_count() if _is_uniform(code) else 9


def _ror_label(code: int) -> int:
    return min(_rotated(code, steps) for steps in range(8))
