"""What geometry and options come to for a frame on the device: what is counted, mapped and described."""

from dataclasses import dataclass, replace
from typing import Any

from lumaflow.cuda.launch_config import DEFAULT_LAUNCH_CONFIG, LaunchConfig
from lumaflow.formats import Chroma, Family, PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.lane import output_geometry
from lumaflow.options import Mode, Options, Orientation
from lumaflow.roi import Rect, histogram_rect, mapped_rect
from lumaflow.tables import LevelRange, TileGrid, level_range, tile_grid


@dataclass(frozen=True, slots=True)
class FramePlan:
    """Of one lane; windows in pixels of the turned frame.

    turned, output : geometries of a frame once it is turned, and of the enhanced one
    counted, mapped : left, top, right, bottom
    shapes : what the launches are planned with
    """

    geometry: Geometry
    options: Options
    turned: Geometry
    output: Geometry
    counted: Rect
    mapped: Rect
    shapes: LaunchConfig

    @property
    def deep(self) -> bool:
        """Whether levels lie in words; then kernels of their own count and map them."""
        return self.turned.layout.bits > 8

    @property
    def levels(self) -> int:
        """Grey levels of the frame, the size of its histogram."""
        return 1 << self.turned.layout.bits

    @property
    def span(self) -> LevelRange:
        """Levels that are mapped, and to which."""
        return level_range(self.turned, self.output)

    @property
    def features(self) -> bool:
        """Whether the enhanced luma is described."""
        return self.options.hog is not None or self.options.lbp is not None

    @property
    def display(self) -> Geometry | None:
        """Of the 8-bit luma that a deep enhanced frame is described by (spec 8)."""
        if not (self.features and self.output.layout.bits > 8):
            return None
        return replace(self.turned, pixel_format=PixelFormat.GRAY8)

    @property
    def needs_luma(self) -> bool:
        """Whether the features need a plane of their own; an enhanced frame of one byte a pixel is it."""
        layout = self.output.layout
        mixed = layout.family is Family.RGB or layout.chroma is Chroma.PACKED
        return self.features and (mixed or layout.bits > 8)

    @property
    def beside(self) -> bool:
        """Whether some pixels are passed on unmapped: around a region, or at the end of odd woven rows."""
        height, width = self.turned.shape[:2]
        return self.mapped != (0, 0, width, height)

    @property
    def checked(self) -> bool:
        """Whether words can lie beyond the depth: of 10 to 14 bits, at the low end."""
        return self.turned.layout.bits + self.turned.shift not in (8, 16)

    @property
    def counts_all(self) -> bool:
        """Whether the whole frame is counted, no region of it."""
        return self.counted == (0, 0, self.turned.width, self.turned.height)

    @property
    def turns(self) -> bool:
        """Whether a frame is turned at all."""
        return self.options.orientation is not Orientation.NONE

    @property
    def turns_rows_alone(self) -> bool:
        """Whether turning the first plane is free: its rows are read from the last one on."""
        return self.options.orientation is Orientation.FLIP_Y

    @property
    def gains(self) -> bool:
        """Whether chroma is multiplied."""
        colored = self.turned.layout.chroma is not Chroma.NONE
        return colored and self.options.equalization.chroma_gain != 1.0

    @property
    def tile_counts(self) -> tuple[int, int] | None:
        """(columns, rows) of the tiles that are counted one by one; None if only the whole frame is."""
        equalization = self.options.equalization
        wanted = equalization.mode is Mode.CLAHE or self.options.heatmap
        return equalization.tiles if wanted else None

    def counted_tiles(self) -> TileGrid:
        """The tiles that are counted; without tiles, what is counted is one."""
        return tile_grid(*rect_size(self.counted), self.tile_counts or (1, 1))

    def mapped_tiles(self) -> TileGrid:
        """The tiles that have a LUT each."""
        return tile_grid(*rect_size(self.counted), self.options.equalization.grid)

    @property
    def origin(self) -> tuple[int, int]:
        """Where the tiles begin in what is mapped: (x, y)."""
        return self.counted[0] - self.mapped[0], self.counted[1] - self.mapped[1]


def plan_frame(
    geometry: Geometry, options: Options, shapes: LaunchConfig = DEFAULT_LAUNCH_CONFIG
) -> FramePlan:
    """The scope of a lane. Raises OptionError when the options do not fit the frames."""
    output, turned = output_geometry(geometry, options), geometry.reoriented(options.orientation)
    counted, mapped = histogram_rect(turned, options.region), mapped_rect(turned, options.region)
    return FramePlan(geometry, options, turned, output, counted, mapped, shapes)


def rect_size(window: Rect) -> tuple[int, int]:
    """(width, height) of a window."""
    left, top, right, bottom = window
    return right - left, bottom - top


def crop(plane: Any, window: Rect) -> Any:
    """A view of the pixels of a plane that lie in a window."""
    left, top, right, bottom = window
    return plane[top:bottom, left:right]
