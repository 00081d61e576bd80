"""Options: refused when they are made, never later."""

import math
from dataclasses import FrozenInstanceError

import pytest

from lumaflow import Equalization, Hog, LaneConfig, Lbp, LbpMapping, Mode, OptionError, Options
from lumaflow.options import MAX_TILES


def test_the_defaults_are_clahe_of_eight_by_eight():
    options = Options()
    assert options.equalization.mode is Mode.CLAHE
    assert (options.equalization.clip_limit, options.equalization.tiles) == (2.0, (8, 8))
    assert (options.hog, options.lbp, options.heatmap) == (None, None, False)
    assert LaneConfig().slots == 3


@pytest.mark.parametrize("clip_limit", [-0.1, 1000.1, math.inf, math.nan])
def test_a_clip_limit_out_of_range_is_refused(clip_limit):
    with pytest.raises(OptionError, match="must be from 0"):
        Equalization(clip_limit=clip_limit)


@pytest.mark.parametrize("tiles", [(0, 8), (8, 0), (MAX_TILES + 1, 8), (8, -1), (8,), (8, 8, 8)])
def test_a_grid_that_opencv_would_die_of_is_refused(tiles):
    with pytest.raises(OptionError, match=r"must be .columns, rows."):
        Equalization(tiles=tiles)


@pytest.mark.parametrize(
    ("make", "told"),
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
def test_an_option_of_another_kind_is_refused(make, told):
    with pytest.raises(OptionError, match=told):
        make()


@pytest.mark.parametrize("slots", [0, -1, 65])
def test_a_ring_depth_out_of_range_is_refused(slots):
    with pytest.raises(OptionError, match="1 to 64"):
        LaneConfig(slots=slots)


def test_timing_every_zeroth_frame_is_refused():
    with pytest.raises(OptionError, match="1 or more, got 0"):
        LaneConfig(timing_every=0)


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.IDENTITY])
def test_global_modes_have_one_lut(mode):
    assert Equalization(mode, tiles=(4, 3)).grid == (1, 1)
    assert Equalization(Mode.CLAHE, tiles=(4, 3)).grid == (4, 3)


def test_every_mapping_knows_its_number_of_labels():
    assert [mapping.labels for mapping in LbpMapping] == [256, 59, 10, 256]


def test_options_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Options().heatmap = True
    with pytest.raises(FrozenInstanceError):
        LaneConfig().slots = 5
