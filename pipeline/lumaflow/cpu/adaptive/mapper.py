"""The adaptive modes for the frames of one lane: measure, build and choose the mapping (spec 16, 17)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumaflow.adaptive import (
    FADE_FRAMES,
    FAST,
    GAINS,
    SLOW,
    TEMPORAL_OFF,
    TEMPORAL_ON,
    VECTOR,
    AdaptiveFigures,
    AdaptiveParameters,
    Dehaze,
    Number,
    ToneReporter,
    gain_steps,
    illumination_kernel,
    sample_table,
)
from lumaflow.cpu.adaptive import levels, mapping
from lumaflow.cpu.adaptive.measure import FrameStatistics, HazeMeter
from lumaflow.cpu.adaptive.pixels import PixelMapper
from lumaflow.frame import LutKind, ToneReport
from lumaflow.geometry import Geometry
from lumaflow.options import Options
from lumaflow.roi import histogram_rect

Planes = tuple[NDArray[Any], ...]


class AdaptiveMapper:
    """Maps the frames of one geometry, one after the other; keeps the state between them.

    bins : (256,) uint32, histogram of the raw working plane of the last frame, at 8 bits
    """

    def __init__(self, geometry: Geometry, output: Geometry, options: Options) -> None:
        self._parameters = parameters = AdaptiveParameters.of(options.equalization)
        rect = histogram_rect(geometry, options.region)
        self._size = (rect[2] - rect[0], rect[3] - rect[1])
        table = sample_table(geometry)
        self._statistics = FrameStatistics(geometry, rect, table)
        dehaze = parameters.dehaze
        self._haze = (
            HazeMeter(geometry, rect, dehaze, parameters.strength) if dehaze is not Dehaze.NONE else None
        )
        self._pixels = PixelMapper(geometry, output, options, table)
        self._kernel, self._steps = illumination_kernel(), gain_steps()
        self._scratch = np.empty((3, 16, 16, 64), np.int64)
        self._own, self._mapping, self._used = (np.zeros(VECTOR, np.int32) for _ in range(3))
        self._smooth = np.zeros(VECTOR, np.float32)
        self._before = np.zeros((16, 16, 256), np.uint32)
        self.bins = self._statistics.bins
        self.reset()

    def reset(self) -> None:
        """Forget all earlier frames."""
        self._age = 0
        self._mean = self._reference = self._white = self._falls = 0
        self._levels = (0, 0, 0)
        self._filtering = self._cut = self._fades = self._denoised = False
        self._reporter = ToneReporter()
        if self._haze is not None:
            self._haze.reset()

    def measure(self, planes: Planes, plane: NDArray[Any]) -> None:
        """Measure a raw frame: its planes, and its working plane (H, W)."""
        statistics = self._statistics
        statistics.measure(planes[0], plane)
        self._levels = levels.measure_levels(statistics.value_bins)
        if self._haze is not None:
            self._haze.measure(planes, statistics.plane, statistics.origin, darkest=self._levels[1])

    def choose(self, corrupt: bool) -> tuple[LutKind, int]:
        """Build the mapping of the frame measured last, and choose the one that it uses (spec 16.6).

        Returns the kind of that mapping and its age in frames.
        """
        first = self._age == 0
        mean, _, white = self._levels
        falls = 64 * mean < 63 * self._mean
        self._fades = fades = falls and self._falls >= FADE_FRAMES
        self._cut = first or (not corrupt and not fades and self._is_cut())
        haze = np.float32(0)
        if self._haze is not None:
            self._haze.update(self._cut, not corrupt)
            haze = self._haze.strength
        if corrupt and not first:
            self._used[:] = self._mapping
            self._age += 1
            return LutKind.PREVIOUS, self._age - 1
        self._build(haze)
        if corrupt:
            self._used[:] = self._own
            return LutKind.OWN, 0
        own = self._cut or 64 * mean > 65 * self._mean or (2 * mean < self._mean and not fades)
        selected = (LutKind.OWN, 0) if own else (LutKind.PREVIOUS, self._age)
        self._advance(own)
        self._falls = min(self._falls + 1, FADE_FRAMES) if falls and not first else 0
        self._age, self._mean, self._white = 1, mean, white
        self._statistics.cells, self._before = self._before, self._statistics.cells
        return selected

    def apply(
        self, planes: Planes, plane: NDArray[Any], target: Planes, mapped: NDArray[Any], corrupt: bool
    ) -> None:
        """Map a frame with the mapping in use into `target`; filter it in time unless it is corrupt.

        plane, mapped : the raw working plane, and where the mapped one goes; not used for RGB
        """
        used = self._used
        gain, slope = int(used[Number.GAIN]), int(used[Number.SLOPE])
        noise = max(int(used[Number.NOISE]), min(max((gain - 1536) >> 4, 0), 192))
        spatial = min(max((gain - 1536) // 6, 0), 256)
        filters = self._parameters.denoise and noise > 0
        limits = (0, 0)
        if filters and spatial > 0:
            limits = min(8 * noise * spatial >> 10, 1700), min(8 * slope * spatial >> 10, 1000)
        start = TEMPORAL_OFF if self._filtering else TEMPORAL_ON
        on = filters and gain > start and not corrupt
        temporal = 0
        if on:
            temporal = 2 if self._filtering and not (self._cut or self._fades) else 1
        if not corrupt:
            self._filtering = on
        self._denoised = on or limits != (0, 0)
        filtering = (temporal, noise, slope, spatial)
        self._pixels.map(planes, plane, target, mapped, used, limits, filtering, self._haze)

    def apply_chroma(self, planes: Planes, target: Planes) -> None:
        """Map the chroma of a YUV frame, after `apply`."""
        self._pixels.map_chroma(planes, target, self._haze)

    @property
    def display(self) -> NDArray[np.uint8]:
        """(H, W) uint8 luma of the last frame for HOG and LBP, for an output above 8 bits."""
        return self._pixels.display

    def curve(self, lut: NDArray[Any]) -> None:
        """Write what the mapping in use makes of a gray pixel of each level, with the mean of its gains."""
        self._pixels.curve(self._used, self._haze, lut)

    def report(self) -> ToneReport:
        """Return the report of the frame mapped last."""
        haze = float(self._haze.strength) if self._haze is not None else 0.0
        numbers = tuple(int(number) for number in self._used[GAINS:])
        mean = (self._levels[0] - 128) / 16
        figures = AdaptiveFigures(numbers, haze, mean, self._cut, self._denoised)
        return self._reporter.report(figures)

    def _is_cut(self) -> bool:
        highest = max(self._levels[2], self._white)
        shift = 3 if highest >= 2048 else 2 if highest >= 1024 else 1 if highest >= 512 else 0
        return levels.cut_distance(self._statistics.cells, self._before, *self._size, shift) > 0.5

    def _advance(self, own: bool) -> None:
        """Choose the mapping in use, then smooth the mapping of this frame into that of the next."""
        mean = self._levels[0]
        if own:
            self._used[:] = self._mapping[:] = self._own
            self._smooth[:] = self._own
            self._reference = mean
            return
        self._used[:] = self._mapping
        weight = np.float32(FAST if 64 * mean > 65 * self._reference else SLOW)
        mapping.smooth_mapping(self._smooth, self._own, weight, self._mapping)
        self._reference += int(np.rint(weight * np.float32(mean - self._reference)))

    def _build(self, haze: np.float32) -> None:
        parameters, statistics = self._parameters, self._statistics
        mapping.build_mapping(
            statistics.cells,
            statistics.value_bins,
            statistics.luma_sum,
            statistics.noise,
            int(parameters.lift),
            parameters.strength,
            (parameters.low, parameters.high),
            parameters.dark_half,
            haze,
            self._kernel,
            self._steps,
            self._scratch,
            self._own,
        )
