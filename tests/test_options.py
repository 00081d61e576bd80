"""Options: defaults, and errors on construction."""

import math
from dataclasses import FrozenInstanceError

import pytest

from lumaflow import Equalization, Hog, LaneConfig, Lbp, LbpMapping, Mode, OptionError, Options
from lumaflow.options import MAX_TILES


def test_the_default_is_clahe_with_8x8_tiles():
    options = Options()
    assert options.equalization.mode is Mode.CLAHE
    assert (options.equalization.clip_limit, options.equalization.tiles) == (2.0, (8, 8))
    assert (options.hog, options.lbp, options.heatmap) == (None, None, False)
    assert LaneConfig().slots == 3


@pytest.mark.parametrize("clip_limit", [-0.1, 1000.1, math.inf, math.nan])
def test_a_clip_limit_out_of_range_is_rejected(clip_limit):
    with pytest.raises(OptionError, match="must be from 0"):
        Equalization(clip_limit=clip_limit)


@pytest.mark.parametrize("tiles", [(0, 8), (8, 0), (MAX_TILES + 1, 8), (8, -1), (8,), (8, 8, 8)])
def test_an_invalid_tile_grid_is_rejected(tiles):
    with pytest.raises(OptionError, match=r"must be .columns, rows."):
        Equalization(tiles=tiles)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Equalization("clahe"), r"expected Mode\.EQUALIZE or .* for mode, got 'clahe'"),
        (lambda: Equalization(color="luma"), r"expected ColorMode\.VALUE or ColorMode\.LUMA for color, got"),
        (lambda: Options(Mode.EQUALIZE), r"expected Equalization\(\.\.\.\) for equalization, got .*EQUALIZE"),
        (lambda: Options(hog=True), r"expected Hog\(\.\.\.\) for hog, got True"),
        (lambda: Options(output="display"), r"expected Output\.SAME or Output\.DISPLAY for output"),
        (lambda: Lbp(mapping="riu2"), r"expected LbpMapping\.RAW or .* for mapping, got 'riu2'"),
        (lambda: Hog("compact"), r"expected HogLayout\.OPENCV or .* for layout, got 'compact'"),
    ],
)
def test_an_option_of_the_wrong_type_is_rejected(make, message):
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize("slots", [0, -1, 65])
def test_a_number_of_slots_out_of_range_is_rejected(slots):
    with pytest.raises(OptionError, match="1 to 64"):
        LaneConfig(slots=slots)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"smoothing": 0.0}, "smoothing must be above 0, up to 1"),
        ({"smoothing": 1.1}, "smoothing must be above 0, up to 1"),
        ({"smoothing": math.nan}, "smoothing must be above 0"),
        ({"strength": -0.1}, "strength must be from 0"),
        ({"strength": 1.1}, "strength must be from 0"),
        ({"target": 39.9}, "target must be from 40 to 160, or None, got 39.9"),
        ({"target": 161}, "target must be from 40 to 160"),
        ({"gate": 1}, r"expected bool\(\.\.\.\) for gate, got 1"),
        ({"denoise": None}, r"expected bool\(\.\.\.\) for denoise, got None"),
    ],
)
def test_an_adaptive_option_out_of_range_is_refused(values, message):
    with pytest.raises(OptionError, match=message):
        Equalization(**values)


def test_three_modes_are_adaptive():
    assert [mode for mode in Mode if mode.adaptive] == [Mode.AUTO, Mode.LOWLIGHT, Mode.DEHAZE]
    assert Equalization(Mode.AUTO, tiles=(4, 3)).grid == (1, 1)


def test_timing_every_zero_is_rejected():
    with pytest.raises(OptionError, match="1 or more, got 0"):
        LaneConfig(timing_every=0)


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.IDENTITY])
def test_only_clahe_has_more_than_one_lut(mode):
    assert Equalization(mode, tiles=(4, 3)).grid == (1, 1)
    assert Equalization(Mode.CLAHE, tiles=(4, 3)).grid == (4, 3)


def test_number_of_labels_of_every_mapping():
    assert [mapping.labels for mapping in LbpMapping] == [256, 59, 10, 256]


def test_options_are_immutable():
    with pytest.raises(FrozenInstanceError):
        Options().heatmap = True
    with pytest.raises(FrozenInstanceError):
        LaneConfig().slots = 5
