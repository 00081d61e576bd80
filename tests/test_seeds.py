"""The seeds' kernels against the oracles of the production ones, on the CPU and compiled for every GPU."""

from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import cupy
import cv2
import numpy as np
import pytest
from cupy.cuda import nvrtc

import oracle
from lumaflow import functions
from lumaflow.backend import available_devices
from lumaflow.cuda.bench import experiments
from lumaflow.cuda.bench.experiments import experiment_source, launch
from lumaflow.errors import DeviceError
from lumaflow.options import LbpMapping
from lumaflow.tables import hog_gamma, hog_weights, lbp_labels
from lumaflow_service.bench.experiments import measure_seeds
from lumaflow_service.bench.experiments.equalization import flight_figures, stage_figures
from lumaflow_service.bench.experiments.features import error_figures, ladder_figures, variant_figures
from lumaflow_service.bench.figure import Figure, Skipped
from lumaflow_service.bench.people_detector import people_weights, window_scores
from shim import ShimKernel, build, require_compiler
from synthetic_images import gray_image

detector = pytest.mark.skipif(
    not hasattr(cv2, "HOGDescriptor_getDefaultPeopleDetector"), reason="OpenCV 5 has no people detector"
)

VARIANTS = [
    *(
        experiment_source("seed_histogram", WHERE=where, WIDE=wide, PARTS=parts)
        for where, wide, parts in product(range(3), range(2), range(2))
        if where or not parts
    ),
    experiment_source("seed_merge"),
    experiment_source("seed_equalize"),
    *(experiment_source("seed_lut", WIDE=wide) for wide in range(2)),
    *(experiment_source("seed_transpose", WAY=way) for way in range(3)),
    *(experiment_source("seed_lbp", WHERE=where) for where in range(2)),
    *(experiment_source("seed_gradient", READ=read, HALF=half) for read, half in product(range(3), range(2))),
    *(experiment_source("seed_hog", SUM=sums, HALF=half) for sums, half in product(range(2), range(2))),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this module's shared objects go."""
    return tmp_path_factory.mktemp("seeds")


@pytest.fixture
def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One variant, to be called like CuPy's kernels with NumPy arrays."""
    require_compiler()
    monkeypatch.setattr("shim.FOLDER", experiments.FOLDER)
    return lambda name, **defines: ShimKernel(build(folder, experiment_source(name, **defines)), 1)


def aligned(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins where 16 bytes may be read at once."""
    memory = np.empty(pixels.size + 16, np.uint8)
    start = -memory.ctypes.data % 16
    memory[start : start + pixels.size] = pixels.ravel()
    return memory[start : start + pixels.size].reshape(pixels.shape)


@pytest.mark.parametrize(("where", "wide"), [*product(range(3), range(2))])
def test_every_way_to_count_gives_the_histogram(kernel, rng, where, wide):
    pixels, bins = aligned(rng.integers(0, 256, (37, 61), np.uint8)), np.zeros(256, np.uint32)
    counting = kernel("seed_histogram", WHERE=where, WIDE=wide, PARTS=0)
    launch.count(None, counting, pixels, bins, 3, 64)
    assert np.array_equal(bins, oracle.histogram(pixels))


@pytest.mark.parametrize(("where", "wide"), [*product((1, 2), range(2))])
def test_the_histograms_of_blocks_merge_to_that_of_the_frame(kernel, rng, where, wide):
    pixels, parts = aligned(rng.integers(0, 256, (37, 61), np.uint8)), np.full((5, 256), 77, np.uint32)
    bins = np.full(256, 77, np.uint32)
    counting = kernel("seed_histogram", WHERE=where, WIDE=wide, PARTS=1)
    launch.count(None, counting, pixels, parts, 5, 64)
    launch.merge(None, kernel("seed_merge"), parts, bins)
    assert np.array_equal(bins, oracle.histogram(pixels))


@pytest.mark.parametrize("levels", [(0, 256), (100, 101), (7, 9), (200, 256)])
def test_the_lut_of_bins_is_that_of_equalisation(kernel, rng, levels):
    pixels, lut = rng.integers(*levels, (37, 61), np.uint8), np.full(256, 77, np.uint8)
    launch.equalize(None, kernel("seed_equalize"), oracle.histogram(pixels).astype(np.uint32), lut)
    assert np.array_equal(lut, functions.build_lut(oracle.histogram(pixels).astype(np.uint32)))


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


@pytest.mark.parametrize(("read", "half"), [*product(range(3), range(2))])
@pytest.mark.parametrize("shape", [(2, 2), (37, 61), (16, 64)])
def test_every_way_to_take_gradients_gives_the_differences_of_neighbours(kernel, rng, read, half, shape):
    luma = rng.integers(0, 256, shape, np.uint8)
    gradients = np.full((*shape, 2), 77, (np.float32, np.float16)[half])
    texture = np.array([luma.ctypes.data, luma.strides[0]], np.uint64)
    given = texture if read == 1 else luma
    launch.take_gradients(None, kernel("seed_gradient", READ=read, HALF=half), given, hog_gamma(), gradients)
    roots = np.pad(hog_gamma()[luma], 1, mode="reflect")
    across, down = roots[1:-1, 2:] - roots[1:-1, :-2], roots[2:, 1:-1] - roots[:-2, 1:-1]
    assert np.array_equal(gradients, np.stack([across, down], axis=-1).astype(gradients.dtype))


@pytest.mark.parametrize(
    ("sums", "half", "tolerance"), [(0, 0, 2e-6), (1, 0, 2e-6), (0, 1, 5e-4), (1, 1, 5e-4)]
)
def test_every_way_to_describe_by_hog_gives_the_descriptors(kernel, rng, sums, half, tolerance):
    luma = gray_image(rng, (53, 77), 3)
    kind = (np.float32, np.float16)[half]
    gradients, wanted = np.zeros((*luma.shape, 2), kind), functions.hog(luma)
    hog, scratch = np.full(wanted.shape, 77, kind), np.zeros(wanted.shape, np.float32)
    launch.take_gradients(None, kernel("seed_gradient", READ=2, HALF=half), luma, hog_gamma(), gradients)
    describing = kernel("seed_hog", SUM=sums, HALF=half)
    launch.describe_hog(None, describing, gradients, hog_weights(), scratch, hog)
    np.testing.assert_allclose(hog.astype(np.float32), wanted, rtol=0, atol=tolerance)
    assert not scratch.any()


def test_no_gradient_is_too_large_for_half_precision(kernel):
    luma = np.kron(np.indices((24, 24)).sum(axis=0) % 2, np.ones((2, 2))).astype(np.uint8) * 255
    gradients = np.zeros((*luma.shape, 2), np.float16)
    launch.take_gradients(None, kernel("seed_gradient", READ=0, HALF=1), luma, hog_gamma(), gradients)
    wanted = functions.hog(luma)
    hog = np.zeros(wanted.shape, np.float16)
    scratch = np.zeros(wanted.shape, np.float32)
    launch.describe_hog(None, kernel("seed_hog", SUM=1, HALF=1), gradients, hog_weights(), scratch, hog)
    assert np.isfinite(hog).all()
    np.testing.assert_allclose(hog.astype(np.float32), wanted, rtol=0, atol=5e-4)


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
@pytest.mark.parametrize(("read", "half"), [*product(range(3), range(2))])
def test_gradients_on_a_gpu_are_those_of_the_cpu(rng, read, half):
    from lumaflow.cuda.bench.experiments import timing

    luma = cupy.asarray(rng.integers(0, 256, (64, 128), np.uint8))
    gradients = cupy.empty((*luma.shape, 2), timing.KINDS[half])
    texture = timing.texture_of(luma)
    kernel = timing._compiled("seed_gradient", READ=read, HALF=half)
    given = np.uint64(texture.ptr) if read == timing.TEXTURE else luma
    stream = cupy.cuda.get_current_stream()
    launch.take_gradients(stream, kernel, given, cupy.asarray(hog_gamma()), gradients)
    roots = np.pad(hog_gamma()[luma.get()], 1, mode="reflect")
    across, down = roots[1:-1, 2:] - roots[1:-1, :-2], roots[2:, 1:-1] - roots[:-2, 1:-1]
    assert np.array_equal(gradients.get(), np.stack([across, down], axis=-1).astype(gradients.dtype))


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
@pytest.mark.parametrize(("half", "tolerance"), [(0, 2e-6), (1, 5e-4)])
def test_descriptors_on_a_gpu_are_those_of_the_cpu(rng, half, tolerance):
    from lumaflow.cuda.bench.experiments import timing

    luma = gray_image(rng, (136, 264), 3)
    found = timing.describe(0, luma, half)
    np.testing.assert_allclose(found, functions.hog(luma), rtol=0, atol=tolerance)


def cuda_headers() -> Path:
    """Where CUDA's own headers lie, which CuPy finds by itself."""
    packages = find_spec("nvidia")
    roots = [Path(root) for root in packages.submodule_search_locations or ()] if packages else []
    found = [header.parent for root in roots for header in root.glob("*/include/cuda_fp16.h")]
    return found[0] if found else Path(cupy.cuda.get_cuda_path() or "/usr/local/cuda") / "include"


@pytest.mark.parametrize("architecture", [75, 90, 120])
def test_every_variant_compiles_without_a_warning(architecture):
    for variant in VARIANTS:
        program = nvrtc.createProgram(variant.text, f"{variant.kernel}.cu", (), ())
        nvrtc.compileProgram(program, (*variant.flags, f"-arch=sm_{architecture}", f"-I{cuda_headers()}"))
        assert not nvrtc.getProgramLog(program).strip("\0\n "), variant
        nvrtc.destroyProgram(program)


def test_the_ladder_is_held_against_its_first_rung() -> None:
    first, last = ladder_figures("ladder", {"CPU": 0.1, "final": 0.004})
    assert first.ratio == pytest.approx(1)
    assert last.median == pytest.approx(250)
    assert last.ratio == pytest.approx(25)


def test_seeds_ask_for_a_gpu() -> None:
    with pytest.raises(DeviceError, match="cpu was asked for"):
        list(measure_seeds("cpu", []))


def test_variants_are_held_against_the_first_and_stages_against_all() -> None:
    first, second = variant_figures("reads", {"global": [4e-6] * 3, "texture": [1e-6] * 3})
    assert first.ratio is None
    assert second.ratio == pytest.approx(0.25)
    count, apply, whole = stage_figures("stages", {"count": [3e-6], "apply": [1e-6]})
    assert (count.ratio, apply.ratio) == (pytest.approx(0.75), pytest.approx(0.25))
    assert whole.median == pytest.approx(4e-6)


def test_frames_in_flight_are_held_against_one_at_a_time() -> None:
    ratios = [figure.ratio for figure in flight_figures({1: 2e-3, 2: 1e-3})]
    assert ratios == [pytest.approx(1), pytest.approx(2)]


@detector
def test_the_score_of_a_window_is_that_of_opencvs_detector(rng) -> None:
    luma, weights = gray_image(rng, (160, 96), 3), people_weights()
    hog = functions.hog(luma)
    scores = window_scores(hog, weights)
    assert scores.shape == (5, 5)
    for y, x in ((0, 0), (4, 1)):
        window = hog[y : y + 15, x : x + 7].transpose(1, 0, 2).ravel()
        assert scores[y, x] == pytest.approx(window @ weights[:-1] + weights[-1], abs=1e-4)


@detector
def test_what_half_precision_costs_is_told_with_the_decisions_it_turns(rng) -> None:
    wanted = functions.hog(gray_image(rng, (160, 96), 3))
    same = {entry.name: entry for entry in error_figures("seed", "fp32", wanted, wanted)}
    apart = {entry.name: entry for entry in error_figures("seed", "fp16", wanted[::-1], wanted)}
    assert isinstance(error := same["HOG error"], Figure)
    assert error.median == 0
    assert isinstance(alike := same["people detector: windows decided alike"], Figure)
    assert alike.median == 100
    assert isinstance(worse := apart["HOG error"], Figure)
    assert worse.met is False


@detector
def test_without_a_people_detector_its_figures_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("cv2.HOGDescriptor_getDefaultPeopleDetector")
    hog = np.zeros((20, 20, 36), np.float32)
    _, missing = error_figures("seed", "fp16", hog, hog)
    assert isinstance(missing, Skipped)
    assert "has no people detector" in missing.reason
