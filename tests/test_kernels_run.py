"""All CUDA kernels, run on the CPU by the shim, equal the CPU lane bit for bit (HOG: 2e-6)."""

import dataclasses
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import oracle_frames
from lane_helpers import enhance, enhance_all, make_frame
from lumaflow import (
    Alignment,
    ColorMode,
    Enhanced,
    Equalization,
    Frame,
    Geometry,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    Orientation,
    Output,
    PixelFormat,
    Range,
    Region,
    functions,
)
from lumaflow.cuda import compiler, launch, launch_u16, orientation
from lumaflow.cuda.arrays import constant_tables, result_arrays, scratch_arrays
from lumaflow.cuda.frame_plan import plan_frame
from lumaflow.cuda.tone_mapper import open_tone_mapper
from lumaflow.tables import level_range, rescale_lut
from shim import Shim, ShimError, open_shim, run_step
from synthetic_frames import PLAIN_MODES, copy_frame, pitched, synthetic_frame
from synthetic_images import SIZES, gray_image

FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
ALL = {"hog": Hog(), "lbp": Lbp(labels=True), "heatmap": True}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder for the shared objects of this session."""
    return tmp_path_factory.mktemp("kernels")


def pixels_of(rng, size, pixel_format, kind):
    """One picture of `size` = (height, width)."""
    if pixel_format is PixelFormat.GRAY8:
        return gray_image(rng, size, kind)
    return np.stack([gray_image(rng, size, kind + channel * (kind % 2)) for channel in range(3)], axis=2)


def run(folder, pixels, options, enhanced=None):
    """Run a step on gray or BGR pixels, or on a frame."""
    one = pixels if isinstance(pixels, Frame) else make_frame(pixels)
    return run_step(open_shim(folder, one.geometry, options), one, options, enhanced)


def assert_same(found, expected: Enhanced):
    """The results of the kernels equal those of the CPU lane."""
    exact = {
        "enhanced": expected.frame.pixels,
        "bins": expected.bins,
        "luts": expected.lut,
        "lbp": expected.lbp,
    }
    exact |= {"lbp_labels": expected.lbp_labels}
    if expected.heatmap is not None:
        exact |= {"deviation": expected.heatmap.deviation, "distance": expected.heatmap.distance}
    for name, value in exact.items():
        if value is not None:
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    for plane, value in zip(found["chroma"], expected.frame.chroma, strict=True):
        np.testing.assert_array_equal(plane, value, err_msg="chroma")
    assert found.get("out_of_range", [0])[0] == expected.clamped
    if "hog" in found:
        largest = 1.0 if expected.hog.shape[-1] == 36 else max(1.0, float(expected.hog.max()))
        np.testing.assert_allclose(found["hog"], expected.hog, rtol=0, atol=2e-6 * largest)
    else:
        assert expected.hog is None or expected.hog.size == 0


@pytest.mark.parametrize("mode", compiler.MODES)
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_each_mode_and_size_equals_the_cpu_lane(folder, rng, pixel_format, mode):
    options = Options(Equalization(mode), **ALL)
    sizes = SIZES if mode is Mode.CLAHE else SIZES[::2]
    for number, size in enumerate([*sizes, (97, 203)]):
        pixels = pixels_of(rng, size, pixel_format, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
def test_luma_mode_equals_the_cpu_lane(folder, rng, mode):
    options = Options(Equalization(mode, color=ColorMode.LUMA), lbp=Lbp())
    for number, size in enumerate(SIZES[1::2]):
        pixels = pixels_of(rng, size, PixelFormat.BGR24, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


def test_each_pair_of_channel_and_value_is_scaled_as_on_the_cpu(folder):
    options = Options(Equalization(Mode.EQUALIZE))
    blue, green = np.indices((256, 256), np.uint8)
    pixels = np.ascontiguousarray(np.dstack([blue, green, blue // 2]))
    assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize(
    ("tiles", "clip_limit"), [((1, 1), 2.0), ((3, 5), 0.0), ((16, 2), 0.5), ((5, 16), 40.0), ((64, 64), 2.0)]
)
def test_each_grid_and_clip_limit_equals_the_cpu_lane(folder, rng, tiles, clip_limit):
    options = Options(Equalization(Mode.CLAHE, clip_limit, tiles), heatmap=True)
    for number, size in enumerate([(5, 3), (61, 47), (64, 80)][: 1 if tiles == (64, 64) else 3]):
        pixels = gray_image(rng, size, number + 2)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("mapping", LbpMapping)
@pytest.mark.parametrize("neighborhood", Neighborhood)
def test_each_lbp_equals_the_cpu_lane(folder, rng, neighborhood, mapping):
    options = Options(Equalization(Mode.IDENTITY), lbp=Lbp(neighborhood, mapping, labels=True))
    for number, size in enumerate([(1, 1), (16, 16), (37, 41), (33, 300)]):
        pixels = gray_image(rng, size, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("layout", HogLayout)
def test_each_hog_layout_equals_the_cpu_lane(folder, rng, layout):
    options = Options(Equalization(Mode.IDENTITY), hog=Hog(layout))
    for number, size in enumerate([(8, 8), (15, 16), (16, 15), (16, 16), (41, 57), (150, 275)]):
        pixels = gray_image(rng, size, number + 3)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
def test_a_view_at_any_offset_reads_and_writes_only_its_pixels(folder, rng, pixel_format, mode):
    options = Options(Equalization(mode, tiles=(3, 2)), **ALL)
    for left, pitch in product(range(8), (96, 101)):
        whole = pixels_of(rng, (40, pitch), pixel_format, left)
        padded_out = np.full_like(whole, 99)
        inside = np.s_[3:37, left : left + 85]
        expected = enhance("cpu", np.ascontiguousarray(whole[inside]), options)
        # Output with the alignment of the input, and with another one.
        for target in (np.s_[3:37, left : left + 85], np.s_[2:36, left // 2 : left // 2 + 85]):
            padded_out[:] = 99
            assert_same(run(folder, whole[inside], options, padded_out[target]), expected)
            padded_out[target] = 99
            assert (padded_out == 99).all()


def test_a_large_frame_of_many_parts_equals_the_cpu_lane(folder, rng):
    options = Options(**ALL)
    pixels = gray_image(rng, (270, 482), 4)
    assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("pixel_format", FORMATS)
def test_counters_in_shared_memory_do_not_overflow(folder, pixel_format):
    """One block counts many more equal pixels than fit in 16 bits."""
    options = Options(Equalization(Mode.EQUALIZE))
    geometry = Geometry(1024, 300, pixel_format)
    plan = launch.plan_histogram(plan_frame(geometry, options))
    tile_width, tile_height, _, *rest = plan.scalars
    plan = dataclasses.replace(plan, grid=(1, 1, 1), scalars=(tile_width, tile_height, tile_height, *rest))
    scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    found = {name: np.empty(*spec) for name, spec in result_arrays(geometry, options).items()}
    pixels = np.full(geometry.shape, 7, np.uint8)
    kernels = open_shim(folder, geometry, options)
    tables = constant_tables(geometry, options)
    launch.launch_histogram(None, kernels, plan, pixels, tables, scratch, found["bins"], found["luts"])
    assert found["bins"][7] == found["bins"].sum() == 1024 * 300


def test_the_order_of_threads_and_blocks_does_not_change_results(folder, rng):
    options = Options(**ALL)
    pixels = gray_image(rng, (67, 101), 3)
    gray12 = synthetic_frame(rng, Geometry(45, 33, PixelFormat.GRAY12), 2)
    rotated = Options(lbp=Lbp(), heatmap=True, orientation=Orientation.ROTATE270)
    for sent, chosen in ((make_frame(pixels), options), (gray12, rotated)):
        kernels = open_shim(folder, sent.geometry, chosen)
        first = run_step(kernels, sent, chosen)
        for seed in range(1, 4):
            kernels.seed = seed
            again = run_step(kernels, sent, chosen)
            for name, value in first.items():
                assert np.asarray(value).tobytes() == np.asarray(again[name]).tobytes(), name


# Every format


U16_FORMATS = (
    PixelFormat.GRAY10,
    PixelFormat.GRAY12,
    PixelFormat.GRAY14,
    PixelFormat.GRAY16,
    PixelFormat.P010,
)
PACKED_FORMATS = (PixelFormat.YUYV, PixelFormat.UYVY)
SMALL_TILES = (3, 2)


def assert_step(folder, one, options):
    """All planes and results of a step equal those of the CPU lane."""
    assert_same(run(folder, one, options), enhance_all("cpu", [copy_frame(one)], options)[0])


@pytest.mark.parametrize("mode", [Mode.CLAHE, Mode.STRETCH])
@pytest.mark.parametrize("pixel_format", [*PixelFormat])
def test_each_format_equals_the_cpu_lane(folder, rng, pixel_format, mode):
    options = Options(Equalization(mode, tiles=SMALL_TILES), lbp=Lbp(labels=True), heatmap=True)
    sizes = [(1, 1), (31, 46), (33, 1), (1, 33), (27, 53)] if mode is Mode.CLAHE else [(1, 1), (27, 53)]
    # Kernels clear and sum all levels of each tile, which takes the shim long.
    for kind, (height, width) in enumerate(sizes[-2:] if pixel_format.layout.bits > 12 else sizes):
        assert_step(folder, synthetic_frame(rng, Geometry(width, height, pixel_format), kind), options)


@pytest.mark.parametrize("output", Output)
@pytest.mark.parametrize("alignment", Alignment)
@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY12, PixelFormat.GRAY16])
def test_each_mode_and_output_of_high_bit_depth_equals_the_cpu_lane(
    folder, rng, pixel_format, alignment, output
):
    geometry = Geometry(41, 37, pixel_format, Range.LIMITED, alignment)
    for kind, mode in enumerate(PLAIN_MODES):
        options = Options(Equalization(mode, tiles=SMALL_TILES), lbp=Lbp(labels=True), output=output)
        assert_step(folder, synthetic_frame(rng, geometry, kind), options)


@pytest.mark.parametrize("mode", [mode for mode in PLAIN_MODES if mode is not Mode.IDENTITY])
def test_limited_range_equals_the_cpu_lane(folder, rng, mode):
    for kind in range(6):
        geometry = Geometry(37, 29, PixelFormat.GRAY8, Range.LIMITED)
        options = Options(Equalization(mode, tiles=SMALL_TILES))
        assert_step(folder, synthetic_frame(rng, geometry, kind), options)


@pytest.mark.parametrize("orientation", [each for each in Orientation if each is not Orientation.NONE])
def test_each_orientation_equals_the_cpu_lane(folder, rng, orientation):
    formats = [PixelFormat.I420, PixelFormat.P010, PixelFormat.BGR24, PixelFormat.BGRA32]
    if not orientation.swaps_sides:
        formats += PACKED_FORMATS
    options = Options(Equalization(Mode.EQUALIZE), orientation=orientation)
    for pixel_format in formats:
        for kind, (height, width) in enumerate([(1, 2), (2, 98), (97, 2), (45, 62), (64, 130)]):
            assert_step(
                folder, synthetic_frame(rng, Geometry(width, height, pixel_format), kind + 1), options
            )


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(
    "pixel_format", [PixelFormat.NV12, PixelFormat.RGB24, PixelFormat.YUYV, *U16_FORMATS[1:3]]
)
def test_regions_equal_the_cpu_lane(folder, rng, pixel_format, everywhere):
    for offset in range(1, 8):
        mode = (Mode.CLAHE, Mode.EQUALIZE)[offset % 2]
        region = Region(offset, 8 - offset, 23, 17, everywhere)
        options = Options(Equalization(mode, tiles=SMALL_TILES), lbp=Lbp(labels=True), region=region)
        assert_step(folder, synthetic_frame(rng, Geometry(53, 31, pixel_format), 3), options)


@pytest.mark.parametrize(
    "pixel_format", [PixelFormat.NV12, PixelFormat.I420, PixelFormat.P010, *PACKED_FORMATS]
)
def test_chroma_gain_equals_the_cpu_lane(folder, rng, pixel_format):
    options = Options(Equalization(Mode.EQUALIZE, chroma_gain=1.7))
    assert_step(folder, synthetic_frame(rng, Geometry(19, 14, pixel_format), 3), options)


@pytest.mark.parametrize("pixel_format", [PixelFormat.NV12, PixelFormat.GRAY12])
def test_padding_of_pitched_planes_is_ignored(folder, rng, pixel_format):
    for beside in (1, 3, 4, 8):
        one = synthetic_frame(rng, Geometry(46, 31, pixel_format), 3)
        expected = enhance_all("cpu", [copy_frame(one)], Options())[0]
        sheet = np.full((33, 60), 77, one.pixels.dtype)
        assert_same(run(folder, pitched(one, beside), Options(), sheet[1:32, beside : beside + 46]), expected)
        sheet[1:32, beside : beside + 46] = 77
        assert (sheet == 77).all()


def test_values_above_the_bit_depth_are_clamped_and_counted(folder, rng):
    one = synthetic_frame(rng, Geometry(45, 33, PixelFormat.GRAY10), 3)
    one.pixels[3:5, 4:9] = 1024
    one.pixels[6, 6] = 65535
    for mode in (Mode.CLAHE, Mode.EQUALIZE, Mode.IDENTITY):
        assert_step(folder, one, Options(Equalization(mode), lbp=Lbp(labels=True), clamp=True))
    assert list(run(folder, one, Options(clamp=True))["out_of_range"]) == [11, 65535]


def test_a_rejected_frame_keeps_the_previous_lut(folder, rng):
    geometry, options = Geometry(45, 33, PixelFormat.GRAY10), Options(Equalization(Mode.EQUALIZE))
    rejected = synthetic_frame(rng, geometry, 3)
    rejected.pixels[6, 6] = 1024
    kernels, frame_plan = open_shim(folder, geometry, options), plan_frame(geometry, options)
    scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    mapper = open_tone_mapper(frame_plan, kernels, constant_tables(geometry, options), scratch)
    previous = {"luts": rng.integers(0, 1024, (1, 1, 1024)).astype(np.uint16)}
    for pixels, kept in ((rejected.pixels, True), (np.minimum(rejected.pixels, 1023), False)):
        found = {name: np.zeros(*spec) for name, spec in result_arrays(geometry, options).items()}
        mapper.build_luts(None, pixels, found, previous)
        assert np.array_equal(found["luts"], previous["luts"]) is kept


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLIPPED, Mode.STRETCH])
def test_a_lut_of_given_bins_equals_the_cpu(folder, rng, mode):
    equalization = Equalization(mode)
    for number, levels in product((1, 2, 5000), (Range.FULL, Range.LIMITED)):
        bins = np.bincount(rng.integers(3, 256, number), minlength=256).astype(np.uint32)
        gray = Geometry(1, 1, PixelFormat.GRAY8, levels)
        span, lut = level_range(gray, gray), np.zeros(256, np.uint8)
        plan = launch_u16.plan_build_lut(span, equalization, number, 1, "u16_build_lut")
        kernels = Shim(folder, (compiler.build_lut_source(8, 8, mode),))
        launch_u16.launch_build_lut(
            None, kernels, plan, bins, rescale_lut(span), launch.NULL, launch.NULL, lut
        )
        np.testing.assert_array_equal(lut, functions.build_lut(bins, equalization, range=levels))


@pytest.mark.parametrize(
    ("pixel_bytes", "kind", "channels"),
    [
        (1, np.uint8, ()),
        (2, np.uint16, ()),
        (3, np.uint8, (3,)),
        (4, np.uint16, (2,)),
        (6, np.uint16, (3,)),
        (8, np.uint16, (4,)),
    ],
)
def test_pixels_of_each_size_are_reoriented(folder, rng, pixel_bytes, kind, channels):
    for chosen, (height, width) in product(Orientation, [(1, 1), (5, 131), (66, 67)]):
        if chosen is Orientation.NONE:
            continue
        source = rng.integers(0, 255, (height, width, *channels)).astype(kind)
        expected = oracle_frames.reoriented(source, chosen)
        swapped = chosen.swaps_sides
        for naive in {False, swapped}:
            shim = Shim(folder, (compiler.orientation_source(swapped, pixel_bytes, naive=naive),))
            out = np.zeros_like(expected)
            plan = orientation.plan_reorient(chosen, width, height, pixel_bytes)
            orientation.launch_reorient(None, shim, plan, source, out)
            np.testing.assert_array_equal(out, expected)


# Errors that the shim detects


def break_kernel(folder, monkeypatch, kernel, pattern, replacement):
    """Let the shim compile the kernels with one line replaced."""
    kernels = folder / "broken"
    kernels.mkdir()
    for path in compiler.FOLDER.iterdir():
        text = path.read_text()
        if path.name == kernel:
            text, count = re.subn(pattern, replacement, text, count=1)
            assert count == 1
        (kernels / path.name).write_text(text)
    monkeypatch.setattr("shim.FOLDER", kernels)
    return kernels


def test_a_missing_barrier_is_detected(tmp_path, rng, monkeypatch):
    break_kernel(tmp_path, monkeypatch, "lbp.cu", r"= 0;\n    __syncthreads\(\);", "= 0;")
    options = Options(Equalization(Mode.IDENTITY), lbp=Lbp())
    pixels = gray_image(rng, (33, 47), 3)
    with pytest.raises(AssertionError):
        assert_same(run(tmp_path, pixels, options), enhance("cpu", pixels, options))


def test_a_divergent_barrier_is_detected(tmp_path, rng, monkeypatch):
    break_kernel(
        tmp_path, monkeypatch, "lbp.cu", r"= 0;\n    (__syncthreads\(\);)", r"= 0; if (threadIdx.x) \1"
    )
    with pytest.raises(ShimError, match="deadlock in block"):
        run(tmp_path, gray_image(rng, (20, 20), 3), Options(Equalization(Mode.IDENTITY), lbp=Lbp()))


def test_a_wrong_argument_list_is_detected(folder):
    kernel = open_shim(folder, Geometry(16, 16, PixelFormat.GRAY8), Options(hog=Hog()))["hog_blocks"]
    with pytest.raises(ShimError, match="number of arguments"):
        kernel((1, 1, 1), (16, 8, 1), (np.int32(3),))


def run_asan(folder, kernels=compiler.FOLDER):
    """Run tests/asan_runner.py in a separate process, which AddressSanitizer requires."""
    library = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    environment = os.environ | {
        "LD_PRELOAD": library.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
    }
    command = [sys.executable, str(Path(__file__).with_name("asan_runner.py")), str(folder), str(kernels)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_kernels_access_only_their_arrays(tmp_path):
    done = run_asan(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "clean"


def test_a_write_past_the_end_is_detected(tmp_path, monkeypatch):
    kernels = break_kernel(tmp_path, monkeypatch, "lbp.cu", r"min\(top \+ ROWS, height\)", "top + ROWS")
    done = run_asan(tmp_path, kernels)
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
    assert "lbp.cu:" in done.stderr
