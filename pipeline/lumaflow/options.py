"""What a lane is asked to do: frozen, validated when made, the same for every device."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from lumaflow.errors import OptionError

MAX_TILES = 64
"""Most tiles along one axis of the CLAHE grid."""

MAX_CHROMA_GAIN = 8.0


class Mode(StrEnum):
    """How the mapping is made from the histogram (spec 2, 3, 4; the percentile stretch: 8)."""

    EQUALIZE = "equalize"
    CLIPPED = "clipped"
    CLAHE = "clahe"
    STRETCH = "stretch"
    IDENTITY = "identity"


class ColorMode(StrEnum):
    """What the mapping acts on in a colour frame (spec 9)."""

    VALUE = "value"
    LUMA = "luma"


class Output(StrEnum):
    """The depth of the enhanced frame: that of the input, or 8 bits for a display (gray only; spec 8)."""

    SAME = "same"
    DISPLAY = "display"


class Orientation(StrEnum):
    """How a frame is turned before it is counted; rotations are clockwise (spec 12)."""

    NONE = "none"
    TRANSPOSE = "transpose"
    ROTATE90 = "rotate90"
    ROTATE180 = "rotate180"
    ROTATE270 = "rotate270"
    FLIP_X = "flip_x"
    FLIP_Y = "flip_y"

    @property
    def swaps_sides(self) -> bool:
        """Whether rows become columns."""
        return self in (Orientation.TRANSPOSE, Orientation.ROTATE90, Orientation.ROTATE270)


class HogLayout(StrEnum):
    """`opencv`: normalised 36-bin blocks; `compact`: plain 9-bin cells (spec 10)."""

    OPENCV = "opencv"
    COMPACT = "compact"


class Neighborhood(StrEnum):
    """Where the eight LBP neighbours lie (spec 11)."""

    SQUARE = "square"
    CIRCLE = "circle"


class LbpMapping(StrEnum):
    """How an 8-bit LBP code becomes a label (spec 11)."""

    RAW = "raw"
    UNIFORM = "uniform"
    RIU2 = "riu2"
    ROR = "ror"

    @property
    def labels(self) -> int:
        """Number of labels, the width of a cell histogram."""
        return {"raw": 256, "uniform": 59, "riu2": 10, "ror": 256}[self.value]


@dataclass(frozen=True, slots=True)
class Equalization:
    """The mapping: its mode, and for CLAHE the clip limit and the (columns, rows) of tiles.

    `clip_limit` is relative to a flat histogram, as in OpenCV; 0 means no clipping. The grid also
    divides the heat map, in every mode. `chroma_gain` multiplies the chroma of YUV frames; 1 leaves its
    bytes as they are.
    """

    mode: Mode = Mode.CLAHE
    clip_limit: float = 2.0
    tiles: tuple[int, int] = (8, 8)
    color: ColorMode = ColorMode.VALUE
    chroma_gain: float = 1.0

    def __post_init__(self) -> None:
        _check_kinds(self, mode=Mode, color=ColorMode)
        if not 0.0 <= self.clip_limit <= 1000.0:
            raise OptionError(f"clip_limit is {self.clip_limit}; give a number from 0 (no clipping) to 1000")
        if len(self.tiles) != 2 or not all(1 <= n <= MAX_TILES for n in self.tiles):
            raise OptionError(f"tiles is {self.tiles}; give (columns, rows), each from 1 to {MAX_TILES}")
        if not 0.0 <= self.chroma_gain <= MAX_CHROMA_GAIN:
            raise OptionError(
                f"chroma_gain is {self.chroma_gain}; give a number from 0 (gray) to {MAX_CHROMA_GAIN:g}"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """(columns, rows) of LUTs: the tiles for CLAHE, (1, 1) for every global mode."""
        return self.tiles if self.mode is Mode.CLAHE else (1, 1)


@dataclass(frozen=True, slots=True)
class Hog:
    """Histogram of oriented gradients of the enhanced luma."""

    layout: HogLayout = HogLayout.OPENCV

    def __post_init__(self) -> None:
        _check_kinds(self, layout=HogLayout)


@dataclass(frozen=True, slots=True)
class Lbp:
    """Local binary patterns of the enhanced luma; `labels` also returns the label of every pixel."""

    neighborhood: Neighborhood = Neighborhood.SQUARE
    mapping: LbpMapping = LbpMapping.UNIFORM
    labels: bool = False

    def __post_init__(self) -> None:
        _check_kinds(self, neighborhood=Neighborhood, mapping=LbpMapping)


@dataclass(frozen=True, slots=True)
class Region:
    """The rectangle whose histogram makes the mapping, in pixels of the turned frame.

    `everywhere`: the whole frame is mapped; otherwise the pixels outside stay as they are.
    """

    x: int
    y: int
    width: int
    height: int
    apply_to_whole_frame: bool = True

    def __post_init__(self) -> None:
        if min(self.x, self.y) < 0 or min(self.width, self.height) < 1:
            raise OptionError(f"{self} came; a region begins inside the frame and has at least one pixel")

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
        _check_kinds(self, equalization=Equalization, output=Output, orientation=Orientation)
        _check_kinds(self, optional=True, hog=Hog, lbp=Lbp, region=Region)


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


def _check_kinds(options: object, *, optional: bool = False, **kinds: type) -> None:
    """Raise OptionError unless each attribute is of its kind, or None where it is optional.

    A plain word would not do for an enumeration: "clahe" equals Mode.CLAHE, but is not it.
    """
    for name, kind in kinds.items():
        value = getattr(options, name)
        if isinstance(value, kind) or (optional and value is None):
            continue
        names = [f"{kind.__name__}.{one.name}" for one in kind] if issubclass(kind, Enum) else []
        raise OptionError(f"{name} is {value!r}; give {' or '.join(names) or f'{kind.__name__}(...)'}")
