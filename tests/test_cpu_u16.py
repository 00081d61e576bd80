"""Gray above 8 bits on the CPU lane, against OpenCV's 16-bit CLAHE and against the formulas."""

import cv2
import numpy as np
import pytest

from lane_helpers import enhance_all
from lumaflow import Equalization, Frame, Geometry, Mode, Options, Output, PixelFormat
from synthetic_frames import synthetic_frame

DEPTHS = {
    10: PixelFormat.GRAY10,
    12: PixelFormat.GRAY12,
    14: PixelFormat.GRAY14,
    16: PixelFormat.GRAY16,
}
SIZES = [(1, 1), (1, 40), (37, 1), (31, 47), (64, 48), (101, 67)]


def shown(pixels, bits, mode, output=Output.SAME, clip=2.0, tiles=(8, 8)):
    """The plane of a first frame."""
    options = Options(Equalization(mode, clip, tiles), output=output)
    return enhance_all("cpu", [Frame(pixels, DEPTHS[bits])], options)[0]


@pytest.mark.parametrize("bits", DEPTHS)
@pytest.mark.parametrize("clip", [0.0, 2.0, 40.0])
def test_clahe_equals_opencv_on_the_shifted_frame_at_every_depth(rng, bits, clip):
    for kind, size in enumerate(SIZES):
        pixels = synthetic_frame(rng, Geometry(size[1], size[0], DEPTHS[bits]), kind).pixels
        tiles = [(8, 8), (3, 5), (1, 1)][kind % 3]
        clahe = cv2.createCLAHE(clip, tiles)
        clahe.setBitShift(16 - bits)
        expected = clahe.apply(pixels << (16 - bits)) >> (16 - bits)
        result = shown(pixels, bits, Mode.CLAHE, clip=clip, tiles=tiles)
        np.testing.assert_array_equal(result.frame.pixels, expected, f"{size} {tiles}")


@pytest.mark.parametrize("bits", DEPTHS)
def test_clipped_equals_opencv_clahe_with_one_tile_at_every_depth(rng, bits):
    pixels = synthetic_frame(rng, Geometry(61, 53, DEPTHS[bits]), 4).pixels
    clahe = cv2.createCLAHE(2.0, (1, 1))
    clahe.setBitShift(16 - bits)
    expected = clahe.apply(pixels << (16 - bits)) >> (16 - bits)
    np.testing.assert_array_equal(shown(pixels, bits, Mode.CLIPPED).frame.pixels, expected)


def test_a_large_12_bit_frame_equals_opencv(rng):
    pixels = (rng.binomial(4095, 0.1, (1080, 1920)) + rng.integers(0, 500, (1080, 1920))).astype(np.uint16)
    clahe = cv2.createCLAHE(2.0, (8, 8))
    clahe.setBitShift(4)
    expected = clahe.apply(pixels << 4) >> 4
    np.testing.assert_array_equal(shown(pixels, 12, Mode.CLAHE).frame.pixels, expected)


def test_display_output_is_equalised_from_the_bins_at_full_depth():
    pixels = np.array([[100, 101, 102, 103]], np.uint16)
    result = shown(pixels, 12, Mode.EQUALIZE, Output.DISPLAY)
    np.testing.assert_array_equal(result.frame.pixels, [[0, 85, 170, 255]])
    assert result.bins.shape == (4096,)
    assert (result.lut.shape, result.lut.dtype) == ((1, 1, 4096), np.uint8)


@pytest.mark.parametrize("mode", [Mode.IDENTITY, Mode.EQUALIZE, Mode.STRETCH])
def test_a_constant_frame_keeps_its_level(mode):
    for level, seen in ((0, 0), (8, 0), (9, 1), (2048, 128), (4095, 255)):  # 255 / 4095 of each
        pixels = np.full((5, 7), level, np.uint16)
        assert (shown(pixels, 12, mode, Output.DISPLAY).frame.pixels == seen).all()
        assert (shown(pixels, 12, mode).frame.pixels == level).all()


def test_stretch_clips_a_thousandth_at_each_end():
    pixels = np.full(4000, 1000, np.uint16)
    pixels[:3], pixels[3:2000] = 5, 700  # 3 of 4000 are less than a thousandth, so 700 becomes black
    pixels[-3:] = 4000
    result = shown(pixels.reshape(50, 80), 12, Mode.STRETCH)
    lut = result.lut[0, 0]
    assert (lut[:701] == 0).all()
    assert (lut[1000:] == 4095).all()
    assert lut[850] == 2048  # of 2047.5, to even


@pytest.mark.parametrize("output", Output)
def test_luts_above_8_bits_are_monotone(rng, output):
    for mode in (Mode.EQUALIZE, Mode.CLIPPED, Mode.CLAHE, Mode.STRETCH):
        for kind in range(6):
            pixels = synthetic_frame(rng, Geometry(40, 30, PixelFormat.GRAY14), kind).pixels
            lut = shown(pixels, 14, mode, output).lut.astype(int)
            assert lut.shape[2] == 1 << 14
            assert (np.diff(lut, axis=2) >= 0).all()
