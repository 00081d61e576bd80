"""Constants, host tables and the report of the adaptive modes (spec 16, 17), equal on every device.

Numba compiles constants into cached kernels: after a change of a constant here, touch the files in
`lumaflow/cpu/adaptive`.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lumaflow.frame import Tone, ToneReport
from lumaflow.geometry import Geometry
from lumaflow.options import Equalization, Mode

CELLS = 16
"""Cells of the grid of gains along each axis."""
KNOTS = 33
"""Gains of a cell, one for every 8 levels of V from 0 to 256."""
GAINS = CELLS * CELLS * KNOTS
GAIN_ONE = 1024
"""A gain of 1."""
LEVEL = 128
"""Units of the working sample in one 8-bit level."""
MAX_SAMPLE, MAX_LIMITED_SAMPLE = 32767, 32640
"""Largest working sample of full range, and of limited range."""

STEPS = 81
"""Candidates for the gain of the tone curve: 2 ** (i / 16)."""
MAX_GAIN = 16.0
MAX_NOISE_OUT = 3072
"""Largest product of gain and noise, in 1/128 level: 24 levels."""
WHITE_TARGET = 245.0
FULL_MEAN, NONE_MEAN = 86.0, 98.0
"""Mean levels up to which AUTO has its full strength, and from which it has none."""
AUTO_TARGET = (86.0, 88.0)
LOWLIGHT_TARGET = (92.0, 126.0)
BRIGHT_LEVEL = 192
"""Levels from here on that are near white do not count for the target: a lamp or a window."""

STRETCH_SPAN, STRETCH_NONE, STRETCH_FULL = 3200, 1920, 1120
"""Spread of the levels in 1/16 level: after the stretch, the largest with a stretch, the largest with all."""
STRETCH_WALL_NONE, STRETCH_WALL_FULL = 192, 448
"""Spread in 1/16 level of an even surface that gets no stretch, and of one that gets all."""
MAX_STRETCH = 2.0

SLOW, FAST = 0.1, 0.5
"""Weight of the mapping of the current frame, and its weight while the brightness rises slowly."""
FADE_FRAMES = 4
"""Consecutive frames, each darker than the one before, that make a fade."""
STILL_WEIGHT = 24
"""Weight of the current frame in the temporal filter where nothing moves, of 256."""
TEMPORAL_ON, TEMPORAL_OFF = 1946, 1741
"""Gains at which the temporal filter starts and stops, of 1024: 1.9 and 1.7."""

MAP_SIDE = 480
"""Longest side of the map of block means that haze is measured on."""
TILES = 8
"""Tiles of that map along each axis, or one for each block of a smaller map."""
HAZE_WEIGHT = 0.06
"""Weight of the haze of the current frame."""
HAZE_LAG = 80.0
"""Largest distance of the airlight in use from that of the current frame, in quarters of a level."""
OMEGA = 0.95
UNTEXTURED_FLOOR, TEXTURE_FALL = 0.25, 0.10
"""Lowest transmission of an untextured tile, and how much lower it is for a textured one."""
MAX_CHROMA_HAZE_GAIN = 2.0
CLEAR_DARK, HAZY_DARK = 40.0, 50.0
"""Darkest levels (of 1/200 of the pixels) up to which AUTO finds no haze, and from which all of it."""


class Number(IntEnum):
    """Position of a number after the gains in the vector of a mapping (spec 16.5)."""

    BLACK = GAINS
    NOISE = GAINS + 1
    SLOPE = GAINS + 2
    GAIN = GAINS + 3
    SATURATION = GAINS + 4
    STRENGTH = GAINS + 5
    STRETCH = GAINS + 6
    WHITE = GAINS + 7


VECTOR = GAINS + len(Number)


class Lift(IntEnum):
    """How the strength of the lowlight mapping follows from the frame."""

    NONE = 0
    FIXED = 1
    AUTO = 2


class Dehaze(IntEnum):
    """How the strength of the haze removal follows from the frame."""

    NONE = 0
    PLAIN = 1
    AUTO = 2


@dataclass(frozen=True, slots=True)
class AdaptiveParameters:
    """The options of an adaptive mode as its kernels use them.

    low, high : range of the target level
    dark_half : the target is for the mean of the darkest half, not of the whole frame
    """

    lift: Lift
    dehaze: Dehaze
    strength: np.float32
    low: np.float32
    high: np.float32
    dark_half: bool
    denoise: bool

    @classmethod
    def of(cls, equalization: Equalization) -> Self:
        """Return the parameters of an adaptive mode."""
        lift, dehaze = {
            Mode.AUTO: (Lift.AUTO, Dehaze.AUTO),
            Mode.LOWLIGHT: (Lift.FIXED, Dehaze.NONE),
            Mode.DEHAZE: (Lift.NONE, Dehaze.PLAIN),
        }[equalization.mode]
        target = equalization.target
        low, high = AUTO_TARGET if lift is Lift.AUTO else LOWLIGHT_TARGET
        if target is not None:
            low = high = target
        return cls(
            lift,
            dehaze,
            np.float32(equalization.strength),
            np.float32(low),
            np.float32(high),
            target is not None,
            equalization.denoise,
        )


def sample_table(geometry: Geometry) -> NDArray[np.int16]:
    """Return the working sample (2^b,) int16 of every level, in 1/128 of an 8-bit level (spec 16.1)."""
    bits = geometry.layout.bits
    levels = np.arange(1 << bits, dtype=np.int64)
    if geometry.limited:
        low, span = 16 << (bits - 8), 219 << (bits - 8)
        levels = (np.clip(levels - low, 0, span) * MAX_LIMITED_SAMPLE + span // 2) // span
    elif bits == 16:
        levels >>= 1
    else:
        levels <<= 15 - bits
    return levels.astype(np.int16)


def illumination_kernel() -> NDArray[np.int64]:
    """Return the weights (33, 32) of levels 8j..8j+7 in the local illumination at knot k (spec 16.5)."""
    knots, bins = np.arange(KNOTS) * 8.0, np.arange(32) * 8 + 3.5
    distance = np.log2(knots + 12.0)[:, None] - np.log2(bins + 12.0)
    weights = np.rint(255 * np.exp(-(distance**2) / 0.72))
    return np.asarray(weights, np.int64)


def gain_steps() -> NDArray[np.float32]:
    """Return the candidates (81,) float32 for the gain of the tone curve, 1 to 32."""
    return np.array([2.0 ** (step / 16) for step in range(STEPS)]).astype(np.float32)


def cell_bounds(size: int) -> NDArray[np.int32]:
    """Return the bounds (17,) int32 of the cells along an axis of `size` counted pixels."""
    return np.array([cell * size // CELLS for cell in range(CELLS + 1)], np.int32)


def cell_axis(size: int, counted: int, origin: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return for each pixel of an axis its left cell (size,) and the weight of the next one, 0 to 256.

    size : pixels of the frame
    counted, origin : counted pixels, and the first of them
    """
    pixel = np.arange(size, dtype=np.int64) - origin
    position = np.clip((2 * pixel + 1) * CELLS * 256 - 256 * counted, 0, (CELLS - 1) * 512 * counted)
    left = np.minimum(position // (512 * counted), CELLS - 2)
    weight = (position - left * 512 * counted + counted) // (2 * counted)
    return left.astype(np.int32), weight.astype(np.int32)


@dataclass(frozen=True, slots=True)
class HazeMap:
    """The map of block means of `width` x `height` counted pixels (spec 17.1).

    step : pixels of a block along each axis; the last block of an axis can be smaller
    rows, columns : blocks
    radius : of the window of the dark channel
    tile_rows, tile_columns : tiles; tile i starts at block floor(i * rows / tile_rows)
    """

    step: int
    rows: int
    columns: int
    radius: int
    tile_rows: int
    tile_columns: int

    @classmethod
    def of(cls, width: int, height: int) -> Self:
        """Return the map of a frame, or of a region."""
        step = max(1, -(-max(width, height) // MAP_SIDE))
        rows, columns = -(-height // step), -(-width // step)
        radius = min(max(max(rows, columns) // 24, 1), 20)
        return cls(step, rows, columns, radius, min(TILES, rows), min(TILES, columns))


@dataclass(frozen=True, slots=True, eq=False)
class TileAxis:
    """The two tiles between whose centres each pixel of an axis lies, and their weights (spec 17.8).

    first, second : (size,) int32
    rest, weight : (size,) float32 of `first` and of `second`
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    rest: NDArray[np.float32]
    weight: NDArray[np.float32]


def tile_axis(size: int, counted: int, origin: int, tiles: int) -> TileAxis:
    """Return the table of an axis of `size` pixels, `counted` of them from `origin` in `tiles` tiles."""
    pixel = np.arange(size, dtype=np.float64) - origin
    position = (pixel + 0.5) * tiles / counted - 0.5
    below = np.floor(position)
    weight = (position - below).astype(np.float32)
    first = np.clip(below, 0, tiles - 1).astype(np.int32)
    second = np.clip(below + 1, 0, tiles - 1).astype(np.int32)
    return TileAxis(first, second, np.float32(1) - weight, weight)


@dataclass(frozen=True, slots=True)
class AdaptiveFigures:
    """The figures of one frame, from which its report is made.

    numbers : the mapping in use, from Number.BLACK on
    haze : strength of the haze removal in use
    mean : of V of the raw frame, in 8-bit levels
    """

    numbers: tuple[int, ...]
    haze: float
    mean: float
    cut: bool
    denoised: bool

    def number(self, number: Number) -> int:
        """Return one number of the mapping."""
        return int(self.numbers[number - GAINS])


class ToneReporter:
    """Makes the reports of the frames of one lane; `mode` changes with hysteresis."""

    def __init__(self) -> None:
        self._last = Tone.BYPASS

    def report(self, figures: AdaptiveFigures) -> ToneReport:
        """Return the report of the next frame."""
        gain = figures.number(Number.GAIN) / GAIN_ONE
        lift = figures.number(Number.STRENGTH) / GAIN_ONE if gain >= 1.01 else 0.0
        stretch = figures.number(Number.STRETCH) / GAIN_ONE
        mode = self._last = self._mode(lift, stretch, figures.haze)
        noise = figures.number(Number.NOISE) / LEVEL
        strengths = {Tone.BYPASS: 0.0, Tone.LOWLIGHT: lift, Tone.DEHAZE: figures.haze}
        reasons = {
            Tone.BYPASS: f"well exposed: mean {figures.mean:.0f}",
            Tone.STRETCH: f"low contrast: mean {figures.mean:.0f}; gain {gain:.2f}",
            Tone.LOWLIGHT: f"dark: mean {figures.mean:.0f}; gain {gain:.1f}; noise {noise:.1f} levels",
            Tone.DEHAZE: f"haze: strength {figures.haze:.2f}; mean {figures.mean:.0f}",
        }
        return ToneReport(
            mode,
            strengths.get(mode, max(lift, stretch)),
            gain,
            noise,
            figures.number(Number.BLACK) / LEVEL,
            figures.number(Number.WHITE) / 16,
            figures.haze,
            figures.cut,
            figures.denoised,
            reasons[mode],
        )

    def _mode(self, lift: float, stretch: float, haze: float) -> Tone:
        last = self._last
        if haze >= (0.05 if last is Tone.DEHAZE else 0.10) and haze >= lift:
            return Tone.DEHAZE
        if lift >= (0.4 if last is Tone.LOWLIGHT else 0.5):
            return Tone.LOWLIGHT
        if max(lift, stretch) >= (0.10 if last is Tone.BYPASS else 0.05):
            return Tone.STRETCH
        return Tone.BYPASS
