"""Plan of a frame on the device, from geometry and options: formats, rectangles and tiles."""

from dataclasses import dataclass, replace
from typing import Any

from lumaflow.adaptive import AdaptiveParameters
from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.formats import Chroma, Family, PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.lane import output_geometry
from lumaflow.options import Mode, Options, Orientation
from lumaflow.roi import Rect, histogram_rect, mapped_rect
from lumaflow.tables import LevelRange, TileGrid, level_range, tile_grid


@dataclass(frozen=True, slots=True)
class FramePlan:
    """The plan of one lane. Rectangles are (left, top, right, bottom) in pixels of the oriented frame.

    oriented, output : geometry after orientation is applied, and of the enhanced frame
    histogram_rect, mapped_rect : pixels that are counted, and pixels that are mapped
    launch_config : limits for the number of thread blocks
    """

    geometry: Geometry
    options: Options
    oriented: Geometry
    output: Geometry
    histogram_rect: Rect
    mapped_rect: Rect
    launch_config: LaunchConfig

    @property
    def is_u16(self) -> bool:
        """True for more than 8 bits per sample; the u16 kernels process such frames."""
        return self.oriented.layout.bits > 8

    @property
    def levels(self) -> int:
        """Number of grey levels, which is the size of the histogram."""
        return 1 << self.oriented.layout.bits

    @property
    def lut_mode(self) -> Mode:
        """The mode of the LUTs; an adaptive mode has none, so their kernels only count and copy."""
        mode = self.options.equalization.mode
        return Mode.IDENTITY if mode.adaptive else mode

    @property
    def adaptive(self) -> AdaptiveParameters:
        """The parameters of the adaptive mode."""
        return AdaptiveParameters.of(self.options.equalization)

    @property
    def smooths(self) -> bool:
        """True if the LUTs of a plain mode are smoothed in time (docs/spec.md 6)."""
        return self._has_own_luts and self.options.equalization.smoothing < 1.0

    @property
    def gates(self) -> bool:
        """True if the LUTs of a plain mode have the gate (docs/spec.md 7)."""
        return self._has_own_luts and self.options.equalization.gate

    @property
    def _has_own_luts(self) -> bool:
        return self.lut_mode is not Mode.IDENTITY

    @property
    def components(self) -> int:
        """Samples of a pixel that an adaptive mode maps: 3 in RGB formats, else the luma."""
        return 3 if self.oriented.layout.family is Family.RGB else 1

    @property
    def has_color(self) -> bool:
        """True if frames have colour."""
        return self.oriented.layout.family is not Family.GRAY

    @property
    def level_range(self) -> LevelRange:
        """Input and output range of the LUTs."""
        return level_range(self.oriented, self.output)

    @property
    def has_features(self) -> bool:
        """True if HOG or LBP is computed."""
        return self.options.hog is not None or self.options.lbp is not None

    @property
    def display(self) -> Geometry | None:
        """Geometry of the 8-bit luma for HOG and LBP; None if the output has 8 bits (docs/spec.md 8)."""
        if not (self.has_features and self.output.layout.bits > 8):
            return None
        return replace(self.oriented, pixel_format=PixelFormat.GRAY8)

    @property
    def needs_luma(self) -> bool:
        """True if HOG and LBP need a separate 8-bit luma plane."""
        layout = self.output.layout
        interleaved = layout.family is Family.RGB or layout.chroma is Chroma.PACKED
        return self.has_features and (interleaved or layout.bits > 8)

    @property
    def is_partial(self) -> bool:
        """True if some pixels are copied unmapped: outside a region, or padding of packed 4:2:2 rows."""
        height, width = self.oriented.shape[:2]
        return self.mapped_rect != (0, 0, width, height)

    @property
    def checks_range(self) -> bool:
        """True if samples can exceed the bit depth: 10 to 14 bits, low-aligned."""
        return self.oriented.layout.bits + self.oriented.shift not in (8, 16)

    @property
    def counts_whole_frame(self) -> bool:
        """True if the histogram covers the whole frame, not only a region."""
        return self.histogram_rect == (0, 0, self.oriented.width, self.oriented.height)

    @property
    def is_reoriented(self) -> bool:
        """True if the orientation of frames changes."""
        return self.options.orientation is not Orientation.NONE

    @property
    def reverses_rows(self) -> bool:
        """True for a vertical flip: the first plane is read with a negative pitch, without a copy."""
        return self.options.orientation is Orientation.FLIP_Y

    @property
    def has_chroma_gain(self) -> bool:
        """True if chroma is multiplied by a gain."""
        colored = self.oriented.layout.chroma is not Chroma.NONE
        return colored and self.options.equalization.chroma_gain != 1.0

    @property
    def tile_counts(self) -> tuple[int, int] | None:
        """(columns, rows) of the tiles with separate histograms; None for one global histogram."""
        equalization = self.options.equalization
        needs_tiles = equalization.mode is Mode.CLAHE or self.options.heatmap
        return equalization.tiles if needs_tiles else None

    def counted_tiles(self) -> TileGrid:
        """The grid of tiles with separate histograms; one tile for a global histogram."""
        return tile_grid(*rect_size(self.histogram_rect), self.tile_counts or (1, 1))

    def mapped_tiles(self) -> TileGrid:
        """The grid of tiles with separate LUTs."""
        return tile_grid(*rect_size(self.histogram_rect), self.options.equalization.grid)

    @property
    def origin(self) -> tuple[int, int]:
        """(x, y) of the first tile relative to `mapped_rect`."""
        return self.histogram_rect[0] - self.mapped_rect[0], self.histogram_rect[1] - self.mapped_rect[1]


def plan_frame(
    geometry: Geometry, options: Options, launch_config: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> FramePlan:
    """The plan of a lane. Raises OptionError if the options do not fit the geometry."""
    output, oriented = output_geometry(geometry, options), geometry.reoriented(options.orientation)
    counted, mapped = histogram_rect(oriented, options.region), mapped_rect(oriented, options.region)
    return FramePlan(geometry, options, oriented, output, counted, mapped, launch_config)


def rect_size(rect: Rect) -> tuple[int, int]:
    """(width, height) of a rectangle."""
    left, top, right, bottom = rect
    return right - left, bottom - top


def crop(plane: Any, rect: Rect) -> Any:
    """A view of the pixels of a plane inside a rectangle."""
    left, top, right, bottom = rect
    return plane[top:bottom, left:right]
