"""Colour on the CPU: the mapped plane and the way back, in both colour modes."""

import cv2
import numpy as np
import pytest

import opencv
import oracle
from lumaflow import ColorMode, Equalization, Lbp, LbpMapping, Mode, Options
from lumaflow.cpu.color import recolor_value
from one import enhance
from pictures import colored, pictures

MODES = (Mode.EQUALIZE, Mode.CLAHE)


def options(mode, color):
    return Options(Equalization(mode, color=color))


@pytest.mark.parametrize("mode", MODES)
def test_value_scales_the_channels_by_the_mapped_value(rng, mode):
    for pixels in colored(rng):
        mapped = opencv.mapped(oracle.value(pixels), mode)
        result = enhance("cpu", pixels, options(mode, ColorMode.VALUE))
        np.testing.assert_array_equal(result.frame.pixels, oracle.recolor_value(pixels, mapped))
        np.testing.assert_array_equal(result.bins, oracle.histogram(oracle.value(pixels)))


@pytest.mark.parametrize("mode", MODES)
def test_luma_is_exchanged_in_opencvs_ycrcb(rng, mode):
    for pixels in colored(rng):
        expected = cv2.cvtColor(pixels, cv2.COLOR_BGR2YCrCb)
        expected[..., 0] = opencv.mapped(np.ascontiguousarray(expected[..., 0]), mode)
        result = enhance("cpu", pixels, options(mode, ColorMode.LUMA))
        np.testing.assert_array_equal(result.frame.pixels, cv2.cvtColor(expected, cv2.COLOR_YCrCb2BGR))


def test_every_channel_under_every_value_and_every_lut_entry_is_rounded_exactly():
    channel, value = (plane.ravel() for plane in np.meshgrid(np.arange(256), np.arange(256)))
    channel, value = (plane[channel <= value].astype(np.uint8) for plane in (channel, value))
    pixels = np.stack([channel, value, np.zeros_like(value)], axis=1)[None]
    plane, out = value[None], np.empty_like(pixels)
    for level in range(256):
        mapped = np.full_like(plane, level)
        recolor_value(pixels.reshape(1, -1), plane, mapped, (0, 0, value.size, 1), out.reshape(1, -1))
        np.testing.assert_array_equal(out, oracle.recolor_value(pixels, mapped))


@pytest.mark.parametrize("color", ColorMode)
def test_gray_in_colour_stays_gray(rng, color):
    for luma in pictures(rng, 60):
        shown = enhance("cpu", np.stack([luma] * 3, axis=2), options(Mode.EQUALIZE, color)).frame.pixels
        assert (shown == shown[..., :1]).all()


@pytest.mark.parametrize("color", ColorMode)
def test_identity_leaves_every_colour_alone(rng, color):
    for pixels in colored(rng, 30):
        result = enhance("cpu", pixels, options(Mode.IDENTITY, color))
        np.testing.assert_array_equal(result.frame.pixels, pixels)


@pytest.mark.parametrize("color", ColorMode)
def test_features_see_the_luma_of_the_enhanced_frame(rng, color):
    wanted = Options(Equalization(Mode.EQUALIZE, color=color), lbp=Lbp(mapping=LbpMapping.RAW, labels=True))
    for pixels in colored(rng, 60):
        result = enhance("cpu", pixels, wanted)
        luma = oracle.luma_of(result.frame.pixels)
        np.testing.assert_array_equal(result.lbp_labels, oracle.lbp_codes(luma))
