"""The functions of `lumaflow.functions` against the oracle and OpenCV, and their errors."""

import cv2
import numpy as np
import pytest

import oracle
import oracle_frames
from lumaflow import FrameError, OptionError, functions
from lumaflow.options import (
    Equalization,
    HogLayout,
    LbpMapping,
    Mode,
    Neighborhood,
    Orientation,
    Output,
    Region,
)
from synthetic_images import gray_image


class Exchanged:
    """An array of another library, of which nothing is known but DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **how):
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.fixture
def luma(rng):
    return gray_image(rng, (61, 47), 4)


@pytest.fixture
def deep(rng):
    return rng.integers(100, 3000, (45, 52)).astype(np.uint16)


def test_a_histogram_counts_every_level_of_the_depth(luma, deep):
    np.testing.assert_array_equal(functions.compute_histogram(luma), oracle.histogram(luma))
    for bits in (12, 14, 16):
        bins = functions.compute_histogram(deep, bits=bits)
        np.testing.assert_array_equal(bins, np.bincount(deep.ravel(), minlength=1 << bits))
        assert bins.dtype == np.uint32
    assert functions.compute_histogram(deep).size == 1 << 16


def test_a_histogram_of_a_region_counts_only_its_pixels(luma):
    bins = functions.compute_histogram(luma, region=Region(3, 5, 21, 17))
    np.testing.assert_array_equal(bins, oracle.histogram(luma[5:22, 3:24]))
    with pytest.raises(OptionError, match="inside the frame of 47x61"):
        functions.compute_histogram(luma, region=Region(30, 0, 18, 10))


@pytest.mark.parametrize("output", Output)
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.STRETCH, Mode.IDENTITY])
def test_build_lut_equals_the_oracle(deep, mode, output):
    equalization = Equalization(mode)
    lut = functions.build_lut(functions.compute_histogram(deep, bits=12), equalization, output=output)
    bits = 8 if output is Output.DISPLAY else 12
    np.testing.assert_array_equal(lut, oracle_frames.luts_of(deep, equalization, 12, False, bits)[0, 0])


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.STRETCH, Mode.CLAHE])
def test_the_gate_moves_luts_towards_the_identity(rng, mode):
    deep = rng.integers(100, 3600, (45, 52)).astype(np.uint16)
    equalization = Equalization(mode, tiles=(4, 2), gate=True)
    luts = oracle_frames.luts_of(deep, equalization, 12, False, 12)
    gated = oracle_frames.gated(luts, deep, 12, False, 12, equalization)
    assert (gated != luts).any()
    assert (gated != np.arange(4096)).any()
    if mode is Mode.CLAHE:
        found = functions.clahe(deep, equalization, bits=12)
        np.testing.assert_array_equal(found, oracle_frames.blended(deep, gated, deep.shape, (0, 0)))
    else:
        found = functions.build_lut(functions.compute_histogram(deep, bits=12), equalization)
        np.testing.assert_array_equal(found, gated[0, 0])


def test_histogram_lut_and_apply_equal_opencv_equalize_hist(luma):
    lut = functions.build_lut(functions.compute_histogram(luma))
    np.testing.assert_array_equal(functions.apply_lut(luma, lut), cv2.equalizeHist(luma))


def test_clahe_equals_opencv(luma, deep):
    np.testing.assert_array_equal(functions.clahe(luma), cv2.createCLAHE(2.0, (8, 8)).apply(luma))
    wanted = cv2.createCLAHE(3.0, (4, 2)).apply(deep)
    np.testing.assert_array_equal(functions.clahe(deep, Equalization(Mode.CLAHE, 3.0, (4, 2))), wanted)
    display = functions.clahe(deep, bits=12, output=Output.DISPLAY)
    luts = oracle_frames.luts_of(deep, Equalization(), 12, False, 8)
    np.testing.assert_array_equal(display, oracle_frames.blended(deep, luts, deep.shape, (0, 0)))


@pytest.mark.parametrize("layout", HogLayout)
def test_hog_equals_the_oracle(luma, layout):
    wanted = {HogLayout.OPENCV: oracle.hog_blocks, HogLayout.COMPACT: oracle.hog_cells}[layout](luma)
    np.testing.assert_allclose(functions.hog(luma, layout), wanted, rtol=2e-6, atol=2e-4)


def test_lbp_equals_the_oracle(luma):
    for neighborhood in Neighborhood:
        labels = oracle.lbp_labels(luma, neighborhood is Neighborhood.CIRCLE, LbpMapping.RIU2)
        cells = functions.lbp(luma, neighborhood, LbpMapping.RIU2)
        np.testing.assert_array_equal(cells, oracle.lbp_cells(labels, 10))


@pytest.mark.parametrize("shape", [(31, 47), (1, 13), (13, 1), (31, 47, 2), (31, 47, 3), (5, 64, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_orientations_equal_numpy(rng, shape, dtype):
    pixels = rng.integers(0, np.iinfo(dtype).max, shape).astype(dtype)
    for orientation in Orientation:
        wanted = oracle_frames.reoriented(pixels, orientation)
        np.testing.assert_array_equal(functions.apply_orientation(pixels, orientation), wanted)
    np.testing.assert_array_equal(functions.transpose(pixels), np.swapaxes(pixels, 0, 1))


CALLS = {
    "histogram": lambda luma, **how: functions.compute_histogram(luma, **how),
    "clahe": lambda luma, **how: functions.clahe(luma, **how),
    "hog": lambda luma, **how: functions.hog(luma, **how),
    "lbp": lambda luma, **how: functions.lbp(luma, **how),
    "transpose": lambda luma, **how: functions.transpose(luma, **how),
    "lut": lambda luma, **how: functions.build_lut(oracle.histogram(luma), **how),
    "apply": lambda luma, **how: functions.apply_lut(luma, np.arange(256, dtype=np.uint8)[::-1], **how),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_written_to_out(luma, name):
    wanted = CALLS[name](luma)
    packed = np.empty_like(wanted)
    sheet = np.zeros((*wanted.shape[:-1], wanted.shape[-1] + 3), wanted.dtype)
    for out in (packed, sheet[..., 2:-1]):
        assert CALLS[name](luma, out=out) is out
        np.testing.assert_array_equal(out, wanted)
    assert (sheet[..., :2] == 0).all()
    frozen = np.empty_like(wanted)
    frozen.flags.writeable = False
    with pytest.raises(FrameError, match="read-only array"):
        CALLS[name](luma, out=frozen)
    with pytest.raises(FrameError, match="expected out to be"):
        CALLS[name](luma, out=np.empty(7, wanted.dtype))


@pytest.mark.parametrize("name", CALLS)
def test_padded_read_only_and_dlpack_arrays_are_accepted(luma, name):
    sheet = np.zeros((70, 60), np.uint8)
    sheet[2:63, 7:54] = luma
    frozen = luma.copy()
    frozen.flags.writeable = False
    wanted = CALLS[name](luma)
    np.testing.assert_array_equal(CALLS[name](sheet[2:63, 7:54]), wanted)
    np.testing.assert_array_equal(CALLS[name](frozen), wanted)
    if name != "lut":
        np.testing.assert_array_equal(CALLS[name](Exchanged(luma)), wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: functions.compute_histogram([[1]]), "got list"),
        (lambda: functions.compute_histogram(np.zeros((4, 4), np.float32)), "float32"),
        (lambda: functions.compute_histogram(np.zeros((0, 4), np.uint8)), "with pixels"),
        (lambda: functions.compute_histogram(np.zeros((4, 4), np.uint8), bits=12), "got 12 bits"),
        (
            lambda: functions.compute_histogram(np.full((4, 4), 4096, np.uint16), bits=12),
            "up to 4095 .* got 4096",
        ),
        (lambda: functions.clahe(np.full((4, 4), 1024, np.uint16), bits=10), "up to 1023 .* got 1024"),
        (lambda: functions.build_lut(np.zeros(256, np.uint32)), "at least one pixel"),
        (lambda: functions.build_lut(np.ones(300, np.uint32)), r"\(300,\)"),
        (lambda: functions.build_lut(np.empty(0, np.uint32)), r"\(0,\)"),
        (
            lambda: functions.apply_lut(np.full((4, 4), 9, np.uint8), np.zeros(9, np.uint8)),
            "level 9, got 9 entries",
        ),
        (lambda: functions.apply_lut(np.zeros((4, 4), np.uint8), np.zeros(256)), "got .* float64"),
        (lambda: functions.apply_lut(np.zeros((4, 4), np.uint8), np.empty(0, np.uint8)), "got 0 entries"),
        (lambda: functions.hog(np.zeros((16, 16), np.uint16)), "for features, apply Output.DISPLAY"),
        (lambda: functions.transpose(np.zeros((4, 4, 5), np.uint8)), r"\(4, 4, 5\)"),
        (lambda: functions.transpose(np.zeros((4, 4), np.float64)), "float64"),
    ],
)
def test_unusable_arrays_are_rejected_with_advice(call, message):
    with pytest.raises(FrameError, match=message):
        call()


def test_an_orientation_in_place_is_rejected(luma):
    square = luma[:40, :40].copy()
    with pytest.raises(FrameError, match="share memory"):
        functions.transpose(square, out=square)


def test_modes_that_need_more_are_rejected(luma):
    with pytest.raises(OptionError, match="needs the pixels"):
        functions.build_lut(np.ones(256, np.uint32), Equalization(Mode.CLAHE))
    with pytest.raises(OptionError, match="open a lane"):
        functions.build_lut(np.ones(256, np.uint32), Equalization(Mode.AUTO))
    with pytest.raises(OptionError, match="open a lane"):
        functions.clahe(luma, Equalization(Mode.AUTO))
