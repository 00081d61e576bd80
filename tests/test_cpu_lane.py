"""Properties of the CPU lane alone: it allocates memory once and compiles kernels once."""

import tracemalloc

import numpy as np
import pytest

from lane_helpers import make_frame
from lumaflow import (
    Equalization,
    Frame,
    Geometry,
    Hog,
    HogLayout,
    Lbp,
    Mode,
    Options,
    Orientation,
    PixelFormat,
    open_lane,
)
from lumaflow.cpu import apply, color, heatmap, histogram, hog, lbp, lut, orientation, packed422, u16
from synthetic_frames import PLAIN_MODES, pitched, synthetic_frame

ALL = Options(hog=Hog(), lbp=Lbp(labels=True), heatmap=True)
KERNELS = [
    apply.apply_lut,
    apply.apply_clahe,
    apply.pack_luts,
    color.value_plane,
    color.luma_plane,
    color.recolor_value,
    color.recolor_luma,
    heatmap.measure_tiles,
    histogram.count_tiles,
    histogram.sum_tiles,
    histogram.clamp_bins,
    hog.hog_blocks,
    hog.hog_cells,
    lbp.lbp_cells,
    lut.equalize_lut,
    lut.clahe_luts,
    lut.stretch_lut,
    orientation.copy_samples,
    orientation.copy_pixels,
    packed422.swap_lumas,
    packed422.map_chroma,
    packed422.extract_luma,
    packed422.insert_luma,
    u16.clamp_samples,
    u16.max_sample,
    u16.shift_right,
    u16.shift_left,
]


@pytest.mark.parametrize("shape", [(480, 640), (240, 320, 3)])
@pytest.mark.parametrize("mode", PLAIN_MODES)
def test_processing_a_frame_allocates_no_frame_sized_memory(rng, shape, mode):
    sent = [make_frame(rng.integers(0, 256, shape, dtype=np.uint8)) for _ in range(4)]
    out = make_frame(np.empty(shape, np.uint8))
    with open_lane("cpu", sent[0].geometry, Options(Equalization(mode), ALL.hog, ALL.lbp, True)) as lane:
        lane.submit(sent[0], out)
        lane.collect()
        tracemalloc.start()
        try:
            for one in sent:
                lane.submit(one, out)
                lane.collect()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 32_000


def test_pitched_and_read_only_frames_compile_no_further_kernels(rng):
    sheet = rng.integers(0, 256, (60, 90, 3), dtype=np.uint8)
    frozen = sheet.copy()
    frozen.flags.writeable = False
    for options in (ALL, Options(Equalization(Mode.EQUALIZE), hog=Hog(HogLayout.COMPACT))):
        with open_lane("cpu", make_frame(sheet).geometry, options) as lane:
            lane.submit(make_frame(sheet))
            lane.collect()
            before = [len(kernel.signatures) for kernel in KERNELS]
            wide = np.zeros((60, 99, 3), np.uint8)
            lane.submit(make_frame(wide[:, 3:93]), make_frame(wide[:, 3:93]))
            lane.submit(make_frame(frozen))
            lane.collect()
            assert [len(kernel.signatures) for kernel in KERNELS] == before


def test_a_contiguous_frame_and_out_are_not_copied(rng):
    pixels = rng.integers(0, 256, (48, 64), dtype=np.uint8)
    out = np.empty_like(pixels)
    with open_lane("cpu", make_frame(pixels).geometry, Options()) as lane:
        own = lane.next_input().pixels
        own[:] = 123
        lane.submit(make_frame(pixels), make_frame(out))
        shown = lane.collect().frame.pixels
    assert (own == 123).all()
    assert shown is out


@pytest.mark.parametrize("pixel_format", PixelFormat)
def test_every_format_compiles_no_further_kernels_and_allocates_no_frame_sized_memory(rng, pixel_format):
    flipped = Orientation.ROTATE180
    options = Options(Equalization(chroma_gain=1.5), ALL.hog, ALL.lbp, clamp=True, orientation=flipped)
    sent = synthetic_frame(rng, Geometry(320, 240, pixel_format), 3)
    sheet, out = pitched(sent), Frame.empty(sent.geometry)
    with open_lane("cpu", sent.geometry, options) as lane:
        lane.submit(sent, out)
        lane.collect()
        before = [len(kernel.signatures) for kernel in KERNELS]
        tracemalloc.start()
        try:
            for one in (sent, sheet, sent):
                lane.submit(one, out)
                lane.collect()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [len(kernel.signatures) for kernel in KERNELS] == before
    assert peak < 32_000
