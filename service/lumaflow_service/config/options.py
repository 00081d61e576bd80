"""The options of a source as JSON: one flat object; unknown keys are rejected."""

import re
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from lumaflow.geometry import MAX_SIDE_PX
from lumaflow.options import (
    MAX_CHROMA_GAIN,
    MAX_TARGET,
    MAX_TILES,
    MIN_TARGET,
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
from lumaflow_service.config.presets import DEFAULTS, Preset, expand_preset, merge_options, parse_off

TILES_PATTERN = r"^[1-9][0-9]?x[1-9][0-9]?$"


class Feature(StrEnum):
    """An extra output of the pipeline: descriptors, the histogram with the LUT, or the heat map."""

    HOG = "hog"
    LBP = "lbp"
    HISTOGRAM = "histogram"
    HEATMAP = "heatmap"


def sort_features(features: list[Feature]) -> list[Feature]:
    """The features without duplicates, in the order of `Feature`, so that equal sets compare equal."""
    return [feature for feature in Feature if feature in features]


def check_tiles(tiles: Any) -> Any:
    """Return a valid tile grid unchanged. Raises ValueError."""
    if not (isinstance(tiles, str) and re.fullmatch(TILES_PATTERN, tiles)):
        raise ValueError(f"expected COLUMNSxROWS such as 8x8, got {str(tiles)[:40]!r}")
    if max(map(int, tiles.split("x"))) > MAX_TILES:
        raise ValueError(f"expected at most {MAX_TILES}x{MAX_TILES}, got {tiles}")
    return tiles


Features = Annotated[
    list[Feature], AfterValidator(sort_features), Field(description="what to extract from each frame")
]
Tiles = Annotated[
    str,
    BeforeValidator(check_tiles),
    Field(pattern=TILES_PATTERN, description="columns x rows of the CLAHE grid and of the heat map"),
]
ClipLimit = Annotated[float, Field(ge=0, le=1000, description="relative to a flat histogram; 0: no clipping")]
ChromaGain = Annotated[float, Field(ge=0, le=MAX_CHROMA_GAIN, description="of YUV frames; 1: unchanged")]
Strength = Annotated[
    float, Field(ge=0, le=1, description="of the modes auto, lowlight and dehaze; 0: unchanged")
]
Target = Annotated[float, Field(ge=MIN_TARGET, le=MAX_TARGET)]
Smoothing = Annotated[
    float, Field(gt=0, le=1, description="weight of a frame in the LUT of the other modes; 1: no smoothing")
]


class RegionOption(BaseModel):
    """The rectangle whose histogram the LUT is computed from, in pixels after the orientation is applied.

    `everywhere` applies the LUT to the whole frame; without it pixels outside the rectangle stay unchanged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: int = Field(ge=0, le=MAX_SIDE_PX, description="left column of the rectangle")
    y: int = Field(ge=0, le=MAX_SIDE_PX, description="top row of the rectangle")
    width: int = Field(ge=1, le=MAX_SIDE_PX, description="in pixels")
    height: int = Field(ge=1, le=MAX_SIDE_PX, description="in pixels")
    everywhere: bool = Field(
        True, description="apply the LUT to the whole frame; false: pixels outside stay unchanged"
    )

    def to_pipeline(self) -> Region:
        """The pipeline's Region."""
        return Region(self.x, self.y, self.width, self.height, self.everywhere)


class SourceOptions(BaseModel):
    """How the frames of a source are enhanced, and which features are extracted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Annotated[
        Preset | None,
        BeforeValidator(parse_off),
        Field(description="values for a kind of scene; options given next to it override them"),
    ] = Preset.AUTO
    mode: Annotated[Mode, Field(description="how levels are mapped")] = DEFAULTS["mode"]
    clip_limit: ClipLimit = 2.0
    tiles: Tiles = "8x8"
    color: Annotated[
        ColorMode, Field(description="of RGB frames: map V of HSV (the largest channel), or the luma")
    ] = ColorMode.VALUE
    chroma_gain: ChromaGain = 1.0
    strength: Strength = 1.0
    target: Annotated[
        Target | None,
        Field(
            description="mean level of the darker half, modes auto and lowlight; null: chosen for each frame"
        ),
    ] = None
    denoise: Annotated[bool, Field(description="filter noise in the modes auto and lowlight")] = True
    smoothing: Smoothing = 1.0
    gate: Annotated[
        bool, Field(description="change frames that already use all levels less, in the other modes")
    ] = False
    output: Annotated[
        Output, Field(description="bit depth of the enhanced frame: as the input, or 8 bits (gray only)")
    ] = Output.SAME
    orientation: Annotated[
        Orientation, Field(description="rotate or flip the frame before its histogram; rotations clockwise")
    ] = Orientation.NONE
    region: Annotated[
        RegionOption | None, Field(description="rectangle whose histogram the LUT is computed from")
    ] = None
    clamp: Annotated[
        bool, Field(description="clamp and count values above the bit depth instead of rejecting the frame")
    ] = False
    features: Features = []
    hog_layout: Annotated[
        HogLayout, Field(description="blocks of 36 values as OpenCV's, or cells of 9 bins")
    ] = HogLayout.OPENCV
    lbp_mapping: Annotated[LbpMapping, Field(description="how the 256 LBP codes become labels")] = (
        LbpMapping.UNIFORM
    )
    lbp_neighborhood: Annotated[Neighborhood, Field(description="3x3 square, or circle of radius 1")] = (
        Neighborhood.SQUARE
    )

    @model_validator(mode="before")
    @classmethod
    def _expand_preset(cls, options: Any) -> Any:
        return expand_preset(options) if isinstance(options, dict) else options

    def to_pipeline(self) -> Options:
        """The pipeline's Options. Raises OptionError."""
        columns, rows = map(int, self.tiles.split("x"))
        return Options(
            equalization=Equalization(
                self.mode,
                self.clip_limit,
                (columns, rows),
                self.color,
                self.chroma_gain,
                self.smoothing,
                self.gate,
                self.strength,
                self.target,
                self.denoise,
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
        """A validated copy with `changes` applied; a preset in them sets all its values."""
        return SourceOptions.model_validate(merge_options(self.model_dump(), changes))

    def with_features(self, features: list[Feature]) -> "SourceOptions":
        """A copy with `features` enabled too; the same object if all of them are enabled already."""
        missing = set(features) - set(self.features)
        return (
            self.model_copy(update={"features": sort_features([*self.features, *missing])})
            if missing
            else self
        )


_NULLABLE_FIELDS: dict[str, Any] = {
    name: (hint | None, None)
    for name, hint in get_type_hints(SourceOptions, include_extras=True).items()
    if name in SourceOptions.model_fields
}


UNSETTABLE = ("region", "target", "preset")
"""Options for which null is a value."""


class OptionsPatch(create_model("NullableOptions", **_NULLABLE_FIELDS)):  # type: ignore[misc]
    """Options to change: the fields of SourceOptions, each optional.

    A null for `region`, `target` or `preset` unsets it; for another option it changes nothing.
    """

    model_config = ConfigDict(extra="forbid")

    def changes(self) -> dict[str, Any]:
        """The given options."""
        changes: dict[str, Any] = self.model_dump(exclude_none=True)
        return {**{name: None for name in UNSETTABLE if name in self.model_fields_set}, **changes}
