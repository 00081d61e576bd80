"""Every CUDA kernel, run on the CPU, against the CPU lane: the same bits, HOG within 2e-6."""

import dataclasses
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from one import enhance
from pictures import SIZES, picture
from shim import ShimError, open_shim, run_step

from pipeline import (
    ColorMode,
    Enhanced,
    Equalization,
    Geometry,
    Hog,
    HogLayout,
    Lbp,
    LbpMapping,
    Mode,
    Neighborhood,
    Options,
    PixelFormat,
)
from pipeline.cuda import compiler, launch
from pipeline.cuda.arrays import constant_tables, result_arrays, scratch_arrays

FORMATS = (PixelFormat.GRAY8, PixelFormat.BGR24)
ALL = {"hog": Hog(), "lbp": Lbp(labels=True), "heatmap": True}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where this session's shared objects lie."""
    return tmp_path_factory.mktemp("kernels")


def frame_of(rng, size, pixel_format, kind):
    """One picture of `size` = (height, width)."""
    if pixel_format is PixelFormat.GRAY8:
        return picture(rng, size, kind)
    return np.stack([picture(rng, size, kind + channel * (kind % 2)) for channel in range(3)], axis=2)


def run(folder, pixels, options, enhanced=None):
    pixel_format = PixelFormat.GRAY8 if pixels.ndim == 2 else PixelFormat.BGR24
    geometry = Geometry(pixels.shape[1], pixels.shape[0], pixel_format)
    return run_step(open_shim(folder, pixel_format, options), geometry, options, pixels, enhanced)


def assert_same(found, wanted: Enhanced):
    """The kernels' results are the CPU lane's."""
    exact = {"enhanced": wanted.frame.pixels, "bins": wanted.bins, "luts": wanted.lut, "lbp": wanted.lbp}
    exact |= {"lbp_labels": wanted.lbp_labels}
    if wanted.heatmap is not None:
        exact |= {"deviation": wanted.heatmap.deviation, "distance": wanted.heatmap.distance}
    for name, value in exact.items():
        if value is not None:
            np.testing.assert_array_equal(found[name], value, err_msg=name)
    if "hog" in found:
        largest = 1.0 if wanted.hog.shape[-1] == 36 else max(1.0, float(wanted.hog.max()))
        np.testing.assert_allclose(found["hog"], wanted.hog, rtol=0, atol=2e-6 * largest)
    else:
        assert wanted.hog is None or wanted.hog.size == 0


@pytest.mark.parametrize("mode", compiler.MODES)
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_every_mode_is_the_cpu_lanes_at_every_size(folder, rng, pixel_format, mode):
    options = Options(Equalization(mode), **ALL)
    sizes = SIZES if mode is Mode.CLAHE else SIZES[::2]
    for number, size in enumerate([*sizes, (97, 203)]):
        pixels = frame_of(rng, size, pixel_format, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
def test_luma_is_mapped_as_on_the_cpu(folder, rng, mode):
    options = Options(Equalization(mode, color=ColorMode.LUMA), lbp=Lbp())
    for number, size in enumerate(SIZES[1::2]):
        pixels = frame_of(rng, size, PixelFormat.BGR24, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


def test_every_pair_of_channel_and_value_is_scaled_as_on_the_cpu(folder):
    options = Options(Equalization(Mode.EQUALIZE))
    blue, green = np.indices((256, 256), np.uint8)
    pixels = np.ascontiguousarray(np.dstack([blue, green, blue // 2]))
    assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize(
    ("tiles", "clip_limit"), [((1, 1), 2.0), ((3, 5), 0.0), ((16, 2), 0.5), ((5, 16), 40.0), ((64, 64), 2.0)]
)
def test_every_grid_and_clip_limit_is_the_cpu_lanes(folder, rng, tiles, clip_limit):
    options = Options(Equalization(Mode.CLAHE, clip_limit, tiles), heatmap=True)
    for number, size in enumerate([(5, 3), (61, 47), (64, 80)][: 1 if tiles == (64, 64) else 3]):
        pixels = picture(rng, size, number + 2)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("mapping", LbpMapping)
@pytest.mark.parametrize("neighborhood", Neighborhood)
def test_every_lbp_is_the_cpu_lanes(folder, rng, neighborhood, mapping):
    options = Options(Equalization(Mode.IDENTITY), lbp=Lbp(neighborhood, mapping, labels=True))
    for number, size in enumerate([(1, 1), (16, 16), (37, 41), (33, 300)]):
        pixels = picture(rng, size, number)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("layout", HogLayout)
def test_every_hog_layout_is_the_cpu_lanes(folder, rng, layout):
    options = Options(Equalization(Mode.IDENTITY), hog=Hog(layout))
    for number, size in enumerate([(8, 8), (15, 16), (16, 15), (16, 16), (41, 57), (150, 275)]):
        pixels = picture(rng, size, number + 3)
        assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("mode", [Mode.EQUALIZE, Mode.CLAHE])
def test_a_region_at_any_offset_counts_and_writes_its_own_pixels_alone(folder, rng, pixel_format, mode):
    options = Options(Equalization(mode, tiles=(3, 2)), **ALL)
    for left, pitch in product(range(8), (96, 101)):
        whole = frame_of(rng, (40, pitch), pixel_format, left)
        beyond = np.full_like(whole, 99)
        inside = np.s_[3:37, left : left + 85]
        wanted = enhance("cpu", np.ascontiguousarray(whole[inside]), options)
        # Into the same alignment as it came from, and into another.
        for target in (np.s_[3:37, left : left + 85], np.s_[2:36, left // 2 : left // 2 + 85]):
            beyond[:] = 99
            assert_same(run(folder, whole[inside], options, beyond[target]), wanted)
            beyond[target] = 99
            assert (beyond == 99).all()


def test_a_large_frame_of_many_parts_is_the_cpu_lanes(folder, rng):
    options = Options(**ALL)
    pixels = picture(rng, (270, 482), 4)
    assert_same(run(folder, pixels, options), enhance("cpu", pixels, options))


@pytest.mark.parametrize("pixel_format", FORMATS)
def test_the_private_counters_never_overflow(folder, pixel_format):
    """One block counts far more equal pixels than the bytes of its threads can hold."""
    options = Options(Equalization(Mode.EQUALIZE))
    geometry = Geometry(1024, 300, pixel_format)
    plan = launch.plan_histogram(geometry, options)
    tile_width, tile_height, _, *rest = plan.numbers
    plan = dataclasses.replace(plan, grid=(1, 1, 1), numbers=(tile_width, tile_height, tile_height, *rest))
    scratch = {name: np.zeros(*spec) for name, spec in scratch_arrays(geometry, options).items()}
    found = {name: np.empty(*spec) for name, spec in result_arrays(geometry, options).items()}
    pixels = np.full(geometry.shape, 7, np.uint8)
    kernels = open_shim(folder, pixel_format, options)
    tables = constant_tables(geometry, options)
    launch.launch_histogram(None, kernels, plan, pixels, tables, scratch, found["bins"], found["luts"])
    assert found["bins"][7] == found["bins"].sum() == 1024 * 300


def test_no_order_of_threads_and_blocks_changes_a_bit(folder, rng):
    options = Options(**ALL)
    pixels = picture(rng, (67, 101), 3)
    geometry = Geometry(101, 67, PixelFormat.GRAY8)
    kernels = open_shim(folder, PixelFormat.GRAY8, options)
    first = run_step(kernels, geometry, options, pixels)
    for seed in range(1, 6):
        kernels.seed = seed
        again = run_step(kernels, geometry, options, pixels)
        for name, value in first.items():
            assert value.tobytes() == again[name].tobytes(), name


def broken(folder, monkeypatch, kernel, pattern, replacement):
    """Let the shim compile the kernels with one line changed."""
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


def test_a_missing_barrier_is_noticed(tmp_path, rng, monkeypatch):
    broken(tmp_path, monkeypatch, "lbp.cu", r"= 0;\n    __syncthreads\(\);", "= 0;")
    options = Options(Equalization(Mode.IDENTITY), lbp=Lbp())
    pixels = picture(rng, (33, 47), 3)
    with pytest.raises(AssertionError):
        assert_same(run(tmp_path, pixels, options), enhance("cpu", pixels, options))


def test_a_barrier_that_not_all_threads_reach_is_noticed(tmp_path, rng, monkeypatch):
    broken(tmp_path, monkeypatch, "lbp.cu", r"= 0;\n    (__syncthreads\(\);)", r"= 0; if (threadIdx.x) \1")
    with pytest.raises(ShimError, match="deadlock in block"):
        run(tmp_path, picture(rng, (20, 20), 3), Options(Equalization(Mode.IDENTITY), lbp=Lbp()))


def test_a_wrong_argument_list_is_noticed(folder):
    kernel = open_shim(folder, PixelFormat.GRAY8, Options(hog=Hog()))["hog_blocks"]
    with pytest.raises(ShimError, match="number of arguments"):
        kernel((1, 1, 1), (16, 8, 1), (np.int32(3),))


def sanitized(folder, kernels=compiler.FOLDER):
    """Run tests/sanitized.py in a process of its own, which AddressSanitizer demands."""
    library = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    environment = os.environ | {"LD_PRELOAD": library.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, str(Path(__file__).with_name("sanitized.py")), str(folder), str(kernels)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_no_kernel_touches_what_is_not_its_own(tmp_path):
    done = sanitized(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "clean"


def test_a_write_past_the_end_is_noticed(tmp_path, monkeypatch):
    kernels = broken(tmp_path, monkeypatch, "lbp.cu", r"min\(top \+ ROWS, height\)", "top + ROWS")
    done = sanitized(tmp_path, kernels)
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr
    assert "lbp.cu:" in done.stderr
