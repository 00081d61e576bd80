"""RGB frames on the CPU lane: both colour modes against OpenCV and the oracle."""

import cv2
import numpy as np
import pytest

import opencv_reference
import oracle
from lane_helpers import enhance
from lumaflow import ColorMode, Equalization, Lbp, LbpMapping, Mode, Options
from lumaflow.cpu.color import recolor_value
from synthetic_images import color_images, gray_images

MODES = (Mode.EQUALIZE, Mode.CLAHE)


def options(mode, color):
    return Options(Equalization(mode, color=color))


@pytest.mark.parametrize("mode", MODES)
def test_value_mode_scales_the_channels_by_the_mapped_value(rng, mode):
    for pixels in color_images(rng):
        mapped = opencv_reference.tone_mapped(oracle.value(pixels), mode)
        result = enhance("cpu", pixels, options(mode, ColorMode.VALUE))
        np.testing.assert_array_equal(result.frame.pixels, oracle.recolor_value(pixels, mapped))
        np.testing.assert_array_equal(result.bins, oracle.histogram(oracle.value(pixels)))


@pytest.mark.parametrize("mode", MODES)
def test_luma_mode_equals_opencv_by_way_of_ycrcb(rng, mode):
    for pixels in color_images(rng):
        expected = cv2.cvtColor(pixels, cv2.COLOR_BGR2YCrCb)
        expected[..., 0] = opencv_reference.tone_mapped(np.ascontiguousarray(expected[..., 0]), mode)
        result = enhance("cpu", pixels, options(mode, ColorMode.LUMA))
        np.testing.assert_array_equal(result.frame.pixels, cv2.cvtColor(expected, cv2.COLOR_YCrCb2BGR))


def test_recolor_value_rounds_exactly_for_every_input():
    channel, value = (plane.ravel() for plane in np.meshgrid(np.arange(256), np.arange(256)))
    channel, value = (plane[channel <= value].astype(np.uint8) for plane in (channel, value))
    pixels = np.stack([channel, value, np.zeros_like(value)], axis=1)[None]
    plane, out = value[None], np.empty_like(pixels)
    for level in range(256):
        mapped = np.full_like(plane, level)
        recolor_value(pixels.reshape(1, -1), plane, mapped, (0, 0, value.size, 1), out.reshape(1, -1))
        np.testing.assert_array_equal(out, oracle.recolor_value(pixels, mapped))


@pytest.mark.parametrize("color", ColorMode)
def test_gray_pixels_of_colour_frames_stay_gray(rng, color):
    for luma in gray_images(rng, 60):
        shown = enhance("cpu", np.stack([luma] * 3, axis=2), options(Mode.EQUALIZE, color)).frame.pixels
        assert (shown == shown[..., :1]).all()


@pytest.mark.parametrize("color", ColorMode)
def test_identity_changes_no_colour(rng, color):
    for pixels in color_images(rng, 30):
        result = enhance("cpu", pixels, options(Mode.IDENTITY, color))
        np.testing.assert_array_equal(result.frame.pixels, pixels)


@pytest.mark.parametrize("color", ColorMode)
def test_features_are_computed_from_the_enhanced_luma(rng, color):
    wanted = Options(Equalization(Mode.EQUALIZE, color=color), lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    for pixels in color_images(rng, 60):
        result = enhance("cpu", pixels, wanted)
        luma = oracle.luma_of(result.frame.pixels)
        np.testing.assert_array_equal(result.lbp_labels, oracle.lbp_codes(luma))
