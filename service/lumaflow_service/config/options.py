"""A source's options as a client writes them: one flat JSON object, unknown keys refused."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from lumaflow.geometry import MAX_SIDE_PX
from lumaflow.options import (
    MAX_CHROMA_GAIN,
    MAX_TILES,
    ColorMode,
    Equalization,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    Region,
)

TILES = r"^[1-9][0-9]?x[1-9][0-9]?$"


class Feature(StrEnum):
    """Something extracted on the way: descriptors, the histogram with its mapping, or the heat map."""

    HOG = "hog"
    LBP = "lbp"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"


def ordered(features: list[Feature]) -> list[Feature]:
    """The same features, each once and in the order of `Feature`, so that equal sets compare equal."""
    return [feature for feature in Feature if feature in features]


def grid(tiles: Any) -> Any:
    """Refuse what is no grid, and one with more than MAX_TILES tiles along an axis."""
    if not (isinstance(tiles, str) and re.fullmatch(TILES, tiles)):
        raise ValueError(f"{str(tiles)[:40]!r} came; give COLUMNSxROWS, as 8x8")
    if max(map(int, tiles.split("x"))) > MAX_TILES:
        raise ValueError(f"{tiles} came; give at most {MAX_TILES}x{MAX_TILES}")
    return tiles


Features = Annotated[list[Feature], AfterValidator(ordered)]
Tiles = Annotated[str, BeforeValidator(grid), Field(pattern=TILES, description="columns x rows")]
ClipLimit = Annotated[float, Field(ge=0, le=1000, description="relative to a flat histogram; 0: no clipping")]


ChromaGain = Annotated[float, Field(ge=0, le=MAX_CHROMA_GAIN, description="of YUV frames; 1: unchanged")]


class RegionOption(BaseModel):
    """The rectangle whose histogram makes the mapping, in pixels of the turned frame.

    `everywhere`: the whole frame is mapped; otherwise the pixels outside stay as they are.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: int = Field(ge=0, le=MAX_SIDE_PX)
    y: int = Field(ge=0, le=MAX_SIDE_PX)
    width: int = Field(ge=1, le=MAX_SIDE_PX)
    height: int = Field(ge=1, le=MAX_SIDE_PX)
    everywhere: bool = True

    def to_pipeline(self) -> Region:
        """The same in the pipeline's own type."""
        return Region(self.x, self.y, self.width, self.height, self.everywhere)


class SourceOptions(BaseModel):
    """How the frames of a source are enhanced and what is extracted from them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Mode.CLAHE
    clip_limit: ClipLimit = 2.0
    tiles: Tiles = "8x8"
    color: ColorMode = ColorMode.VALUE
    chroma_gain: ChromaGain = 1.0
    output: Output = Output.SAME
    orientation: Orientation = Orientation.NONE
    region: RegionOption | None = None
    clamp: bool = False
    features: Features = []
    hog_layout: HogLayout = HogLayout.OPENCV
    lbp_mapping: LbpMapping = LbpMapping.UNIFORM
    lbp_neighborhood: Neighborhood = Neighborhood.SQUARE

    def to_pipeline(self) -> Options:
        """The same options in the pipeline's own types."""
        columns, rows = map(int, self.tiles.split("x"))
        return Options(
            equalization=Equalization(
                self.mode, self.clip_limit, (columns, rows), self.color, self.chroma_gain
            ),
            hog=Hog(self.hog_layout) if Feature.HOG in self.features else None,
            lbp=Lbp(self.lbp_neighborhood, self.lbp_mapping) if Feature.LBP in self.features else None,
            heatmap=Feature.HEATMAP in self.features,
            output=self.output,
            orientation=self.orientation,
            region=self.region.to_pipeline() if self.region else None,
            clamp=self.clamp,
        )

    def changed(self, changes: dict[str, Any]) -> "SourceOptions":
        """These options with `changes` in their place, validated anew."""
        return SourceOptions.model_validate({**self.model_dump(), **changes})

    def with_features(self, features: list[Feature]) -> "SourceOptions":
        """These options with `features` turned on as well; the same object when nothing is new."""
        missing = set(features) - set(self.features)
        return self.model_copy(update={"features": ordered([*self.features, *missing])}) if missing else self


class OptionsPatch(BaseModel):
    """The options to change; those left out stay as they are. A region of null is the whole frame again."""

    model_config = ConfigDict(extra="forbid")

    mode: Mode | None = None
    clip_limit: ClipLimit | None = None
    tiles: Tiles | None = None
    color: ColorMode | None = None
    chroma_gain: ChromaGain | None = None
    output: Output | None = None
    orientation: Orientation | None = None
    region: RegionOption | None = None
    clamp: bool | None = None
    features: Features | None = None
    hog_layout: HogLayout | None = None
    lbp_mapping: LbpMapping | None = None
    lbp_neighborhood: Neighborhood | None = None

    def changes(self) -> dict[str, Any]:
        """What was given."""
        whole = {"region": None} if "region" in self.model_fields_set else {}
        return {**whole, **self.model_dump(exclude_none=True)}
