"""A source's options as a client writes them."""

import pytest
from pydantic import ValidationError

from pipeline.options import Hog, HogLayout, Lbp, LbpMapping, Mode, Neighborhood, Options
from service.options import Feature, OptionsPatch, SourceOptions


def test_defaults_are_the_pipelines() -> None:
    assert SourceOptions().to_pipeline() == Options()


def test_every_key_reaches_the_pipeline() -> None:
    options = SourceOptions.model_validate(
        {
            "mode": "clipped",
            "clip_limit": 3.5,
            "tiles": "4x16",
            "color": "luma",
            "features": ["hog", "lbp", "heatmap"],
            "hog_layout": "compact",
            "lbp_mapping": "riu2",
            "lbp_neighborhood": "circle",
        }
    ).to_pipeline()
    equalization = options.equalization
    assert (equalization.mode, equalization.clip_limit, equalization.tiles) == (Mode.CLIPPED, 3.5, (4, 16))
    assert equalization.color == "luma"
    assert options.hog == Hog(HogLayout.COMPACT)
    assert options.lbp == Lbp(Neighborhood.CIRCLE, LbpMapping.RIU2)
    assert options.heatmap


@pytest.mark.parametrize(
    "given",
    [
        {"mood": "clahe"},
        {"mode": "loud"},
        {"clip_limit": -1},
        {"clip_limit": 1001},
        {"clip_limit": float("nan")},
        {"tiles": "8"},
        {"tiles": "0x8"},
        {"tiles": "65x1"},
        {"features": ["colour"]},
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SourceOptions.model_validate(given)


def test_a_patch_changes_only_what_is_given() -> None:
    before = SourceOptions(clip_limit=4.0, tiles="4x4")
    after = before.changed(OptionsPatch.model_validate({"mode": "equalize"}).changes())
    assert after == SourceOptions(mode=Mode.EQUALIZE, clip_limit=4.0, tiles="4x4")


def test_the_same_features_in_another_order_are_the_same_options() -> None:
    assert SourceOptions(features=[Feature.LBP, Feature.HOG]) == SourceOptions(
        features=[Feature.HOG, Feature.LBP, Feature.HOG]
    )


def test_features_are_added_to_those_there_are() -> None:
    options = SourceOptions(features=[Feature.LBP])
    assert options.with_features([Feature.HOG]).features == [Feature.HOG, Feature.LBP]
    assert options.with_features([Feature.LBP]) is options
