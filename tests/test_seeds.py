"""The seeds' kernels against the oracles of the production ones, on the CPU and compiled for every GPU."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from cupy.cuda import nvrtc
from shim import ShimKernel, build

from pipeline.cuda import seeds
from pipeline.cuda.seeds import launch, source
from pipeline.errors import DeviceError
from pipeline.options import LbpMapping
from pipeline.tables import hog_gamma, lbp_labels
from service.bench.seeds import ladder_figures, measure_seeds

VARIANTS = [
    *(source("seed_histogram", WHERE=where, WIDE=wide) for where, wide in product(range(3), range(2))),
    *(source("seed_lut", WIDE=wide) for wide in range(2)),
    *(source("seed_transpose", WAY=way) for way in range(3)),
    *(source(name, WHERE=where) for name, where in product(("seed_lbp", "seed_hog"), range(2))),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this module's shared objects go."""
    return tmp_path_factory.mktemp("seeds")


@pytest.fixture
def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One variant, to be called like CuPy's kernels with NumPy arrays."""
    monkeypatch.setattr("shim.FOLDER", seeds.FOLDER)
    return lambda name, **defines: ShimKernel(build(folder, source(name, **defines)), 1)


def aligned(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins where 16 bytes may be read at once."""
    memory = np.empty(pixels.size + 16, np.uint8)
    start = -memory.ctypes.data % 16
    memory[start : start + pixels.size] = pixels.ravel()
    return memory[start : start + pixels.size].reshape(pixels.shape)


@pytest.mark.parametrize(("where", "wide"), [*product(range(3), range(2))])
def test_every_way_to_count_gives_the_histogram(kernel, rng, where, wide):
    pixels, bins = aligned(rng.integers(0, 256, (37, 61), np.uint8)), np.zeros(256, np.uint32)
    launch.count(None, kernel("seed_histogram", WHERE=where, WIDE=wide), pixels, bins, 3, 64)
    assert np.array_equal(bins, oracle.histogram(pixels))


@pytest.mark.parametrize("wide", range(2))
def test_every_way_to_map_gives_the_mapped_plane(kernel, rng, wide):
    pixels, lut = aligned(rng.integers(0, 256, (37, 61), np.uint8)), rng.permutation(256).astype(np.uint8)
    enhanced = aligned(np.zeros_like(pixels))
    launch.see(None, kernel("seed_lut", WIDE=wide), pixels, lut, enhanced, 3, 64)
    assert np.array_equal(enhanced, lut[pixels])


@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("shape", [(1, 1), (32, 64), (37, 61)])
def test_every_way_to_transpose_does(kernel, rng, way, shape):
    pixels = rng.integers(0, 256, shape, np.uint8)
    out = np.zeros(shape[::-1], np.uint8)
    launch.transpose(None, kernel("seed_transpose", WAY=way), pixels, out)
    assert np.array_equal(out, pixels.T)


@pytest.mark.parametrize("where", range(2))
def test_every_way_to_describe_by_lbp_gives_the_cells(kernel, rng, where):
    luma = rng.integers(0, 256, (37, 61), np.uint8)
    cells = np.zeros((3, 4, 59), np.uint32)
    table = lbp_labels(LbpMapping.UNIFORM)
    launch.describe_lbp(None, kernel("seed_lbp", WHERE=where), luma, table, cells)
    assert np.array_equal(cells, oracle.lbp_cells(oracle.lbp_labels(luma, False, "uniform"), 59))


@pytest.mark.parametrize("where", range(2))
def test_every_way_to_describe_by_hog_gives_the_cells(kernel, rng, where):
    luma = rng.integers(0, 256, (37, 61), np.uint8)
    cells = np.zeros((4, 7, 9), np.float32)
    launch.describe_hog(None, kernel("seed_hog", WHERE=where), luma, hog_gamma(), cells)
    np.testing.assert_allclose(cells, oracle.hog_cells(luma), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("architecture", [75, 90, 120])
def test_every_variant_compiles_without_a_warning(architecture):
    for variant in VARIANTS:
        program = nvrtc.createProgram(variant.text, f"{variant.kernel}.cu", (), ())
        nvrtc.compileProgram(program, (*variant.flags, f"-arch=sm_{architecture}"))
        assert not nvrtc.getProgramLog(program).strip("\0\n "), variant
        nvrtc.destroyProgram(program)


def test_the_ladder_is_held_against_its_first_rung() -> None:
    first, last = ladder_figures("ladder", {"CPU": 0.1, "final": 0.004})
    assert first.ratio == pytest.approx(1)
    assert last.median == pytest.approx(250)
    assert last.ratio == pytest.approx(25)


def test_seeds_ask_for_a_gpu() -> None:
    with pytest.raises(DeviceError, match="cpu was asked for"):
        list(measure_seeds("cpu"))
