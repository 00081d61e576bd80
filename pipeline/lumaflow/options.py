"""The options of a lane: frozen, validated on construction, the same for every device."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from lumaflow.errors import OptionError

MAX_TILES = 64
"""Maximum number of tiles along one axis of the CLAHE grid."""

MAX_CHROMA_GAIN = 8.0

MIN_TARGET, MAX_TARGET = 40.0, 160.0
"""Range of `Equalization.target`, in 8-bit levels."""


class Mode(StrEnum):
    """How levels are mapped: one of the plain modes (spec 2, 3, 4, 8), or an adaptive mode (spec 16, 17).

    A plain mode maps levels with LUTs built from the histogram. An adaptive mode measures noise and haze too,
    filters noise where the gain is high, and changes nothing in a well-exposed frame.
    """

    EQUALIZE = "equalize"
    CLIPPED = "clipped"
    CLAHE = "clahe"
    STRETCH = "stretch"
    IDENTITY = "identity"
    AUTO = "auto"
    LOWLIGHT = "lowlight"
    DEHAZE = "dehaze"

    @property
    def adaptive(self) -> bool:
        """True for AUTO, LOWLIGHT and DEHAZE."""
        return self in (Mode.AUTO, Mode.LOWLIGHT, Mode.DEHAZE)


class ColorMode(StrEnum):
    """The plane of an RGB frame that is counted and mapped: V of HSV, or the luma (spec 9)."""

    VALUE = "value"
    LUMA = "luma"


class Output(StrEnum):
    """Bit depth of the enhanced frame: that of the input, or 8 bits for a display (gray only; spec 8)."""

    SAME = "same"
    DISPLAY = "display"


class Orientation(StrEnum):
    """Orientation applied to a frame before its histogram is computed; rotations are clockwise (spec 12)."""

    NONE = "none"
    TRANSPOSE = "transpose"
    ROTATE90 = "rotate90"
    ROTATE180 = "rotate180"
    ROTATE270 = "rotate270"
    FLIP_X = "flip_x"
    FLIP_Y = "flip_y"

    @property
    def swaps_sides(self) -> bool:
        """True if width and height are exchanged."""
        return self in (Orientation.TRANSPOSE, Orientation.ROTATE90, Orientation.ROTATE270)


class HogLayout(StrEnum):
    """`opencv`: normalised blocks of 36 bins; `compact`: cells of 9 bins without normalisation (spec 10)."""

    OPENCV = "opencv"
    COMPACT = "compact"


class Neighborhood(StrEnum):
    """Positions of the eight LBP neighbours: the 3x3 square, or a circle of radius 1 (spec 11)."""

    SQUARE = "square"
    CIRCLE = "circle"


class LbpMapping(StrEnum):
    """The label of an 8-bit LBP code (spec 11)."""

    RAW = "raw"
    UNIFORM = "uniform"
    RIU2 = "riu2"
    ROR = "ror"

    @property
    def labels(self) -> int:
        """Number of labels: the bins of a cell histogram."""
        return {"raw": 256, "uniform": 59, "riu2": 10, "ror": 256}[self.value]


@dataclass(frozen=True, slots=True)
class Equalization:
    """How the LUT is built and applied.

    clip_limit : for CLAHE and CLIPPED, relative to a flat histogram as in OpenCV; 0: no clipping
    tiles : (columns, rows) of the CLAHE grid, and of the heat map in every mode
    color : plane of RGB frames to map; the adaptive modes count it only
    chroma_gain : factor for the chroma of YUV frames; 1: unchanged
    smoothing : weight of the LUT of the current frame in the plain modes, above 0; 1: no smoothing (spec 6)
    gate : reduce the effect of the plain modes on frames that already use their levels well (spec 7)
    strength : of an adaptive mode, 0 (unchanged) to 1
    target : mean level that an adaptive mode lifts the darkest half of the pixels to; None: chosen per frame
    denoise : filter noise in an adaptive mode where the gain is high

    Raises OptionError for a value outside its range.
    """

    mode: Mode = Mode.CLAHE
    clip_limit: float = 2.0
    tiles: tuple[int, int] = (8, 8)
    color: ColorMode = ColorMode.VALUE
    chroma_gain: float = 1.0
    smoothing: float = 1.0
    gate: bool = False
    strength: float = 1.0
    target: float | None = None
    denoise: bool = True

    def __post_init__(self) -> None:
        _check_types(self, mode=Mode, color=ColorMode, gate=bool, denoise=bool)
        if not 0.0 <= self.clip_limit <= 1000.0:
            raise OptionError(f"clip_limit must be from 0 (no clipping) to 1000, got {self.clip_limit}")
        if len(self.tiles) != 2 or not all(1 <= n <= MAX_TILES for n in self.tiles):
            raise OptionError(f"tiles must be (columns, rows), each from 1 to {MAX_TILES}, got {self.tiles}")
        if not 0.0 <= self.chroma_gain <= MAX_CHROMA_GAIN:
            raise OptionError(
                f"chroma_gain must be from 0 (gray) to {MAX_CHROMA_GAIN:g}, got {self.chroma_gain}"
            )
        if not 0.0 < self.smoothing <= 1.0:
            raise OptionError(f"smoothing must be above 0, up to 1 (no smoothing), got {self.smoothing}")
        if not 0.0 <= self.strength <= 1.0:
            raise OptionError(f"strength must be from 0 (unchanged) to 1, got {self.strength}")
        if self.target is not None and not MIN_TARGET <= self.target <= MAX_TARGET:
            raise OptionError(
                f"target must be from {MIN_TARGET:g} to {MAX_TARGET:g}, or None, got {self.target}"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """(columns, rows) of LUTs: the tiles for CLAHE, (1, 1) for the other modes."""
        return self.tiles if self.mode is Mode.CLAHE else (1, 1)


@dataclass(frozen=True, slots=True)
class Hog:
    """Compute the histogram of oriented gradients of the enhanced luma (spec 10)."""

    layout: HogLayout = HogLayout.OPENCV

    def __post_init__(self) -> None:
        _check_types(self, layout=HogLayout)


@dataclass(frozen=True, slots=True)
class Lbp:
    """Compute the local binary patterns of the enhanced luma (spec 11).

    labels : also return the label of every pixel
    """

    neighborhood: Neighborhood = Neighborhood.SQUARE
    mapping: LbpMapping = LbpMapping.UNIFORM
    labels: bool = False

    def __post_init__(self) -> None:
        _check_types(self, neighborhood=Neighborhood, mapping=LbpMapping)


@dataclass(frozen=True, slots=True)
class Region:
    """The rectangle whose histogram builds the LUT, in pixels of the frame after `Options.orientation`.

    apply_to_whole_frame : apply the LUT to the whole frame; if False, pixels outside the rectangle are
        unchanged

    Raises OptionError for an empty rectangle or a negative position.
    """

    x: int
    y: int
    width: int
    height: int
    apply_to_whole_frame: bool = True

    def __post_init__(self) -> None:
        if min(self.x, self.y) < 0 or min(self.width, self.height) < 1:
            raise OptionError(f"expected a region inside the frame with at least one pixel, got {self}")

    def __str__(self) -> str:
        return f"a region of {self.width}x{self.height} pixels at ({self.x}, {self.y})"


@dataclass(frozen=True, slots=True)
class Options:
    """What a lane computes for each frame, the same on every device.

    equalization : how the LUT is built from the histogram
    hog, lbp : descriptors to compute from the enhanced luma, or None
    heatmap : also measure the contrast of each tile
    output : bit depth of the enhanced frame
    orientation : applied to the frame before its histogram is computed
    region : pixels whose histogram builds the LUT, or None for the whole frame
    clamp : clamp and count values above the bit depth; without it `submit` or `collect` rejects the frame

    Raises OptionError for a value of the wrong type.
    """

    equalization: Equalization = field(default_factory=Equalization)
    hog: Hog | None = None
    lbp: Lbp | None = None
    heatmap: bool = False
    output: Output = Output.SAME
    orientation: Orientation = Orientation.NONE
    region: Region | None = None
    clamp: bool = False

    def __post_init__(self) -> None:
        _check_types(self, equalization=Equalization, output=Output, orientation=Orientation)
        _check_types(self, optional=True, hog=Hog, lbp=Lbp, region=Region)


@dataclass(frozen=True, slots=True)
class LaneConfig:
    """How a lane runs. No field changes a result; the last three apply to CUDA only.

    slots : frames that can be in flight, 1 to 64
    graph : replay the step of a frame from a captured CUDA graph
    timing_every : measure the stage times of every k-th frame
    features_on_device : return HOG and LBP as CuPy arrays on the GPU. Finish reading them before the next
        `submit`

    Raises OptionError for a value outside its range.
    """

    slots: int = 3
    graph: bool = True
    timing_every: int = 1
    features_on_device: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= 64:
            raise OptionError(f"slots must be 1 to 64, got {self.slots}")
        if self.timing_every < 1:
            raise OptionError(f"timing_every must be 1 or more, got {self.timing_every}")


def _check_types(options: object, *, optional: bool = False, **kinds: type) -> None:
    """Raise OptionError unless each attribute has its type, or is None where it is optional.

    A str is no replacement for a StrEnum member: "clahe" equals Mode.CLAHE, but `is` comparisons fail.
    """
    for name, kind in kinds.items():
        value = getattr(options, name)
        if isinstance(value, kind) or (optional and value is None):
            continue
        names = [f"{kind.__name__}.{one.name}" for one in kind] if issubclass(kind, Enum) else []
        expected = " or ".join(names) or f"{kind.__name__}(...)"
        raise OptionError(f"expected {expected} for {name}, got {value!r}")
