"""The experiment kernels, compared with reference implementations on the CPU, and compiled for GPUs."""

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
from lumaflow_service.bench.experiments import measure_experiments
from lumaflow_service.bench.experiments.equalization import in_flight_figures, stage_figures
from lumaflow_service.bench.experiments.features import error_figures, optimization_figures, variant_figures
from lumaflow_service.bench.figure import Figure, Skipped
from lumaflow_service.bench.people_detector import people_weights, window_scores
from shim import ShimKernel, build, require_compiler
from synthetic_images import gray_image

detector = pytest.mark.skipif(
    not hasattr(cv2, "HOGDescriptor_getDefaultPeopleDetector"), reason="OpenCV 5 has no people detector"
)

VARIANTS = [
    *(
        experiment_source("experiment_histogram", COUNT_IN=count_in, VECTOR=vector, PER_BLOCK=per_block)
        for count_in, vector, per_block in product(range(3), range(2), range(2))
        if count_in or not per_block
    ),
    experiment_source("experiment_sum_histograms"),
    experiment_source("experiment_build_lut"),
    *(experiment_source("experiment_apply_lut", VECTOR=vector) for vector in range(2)),
    *(experiment_source("experiment_transpose", METHOD=method) for method in range(3)),
    *(experiment_source("experiment_lbp", COUNT_IN=count_in) for count_in in range(2)),
    *(
        experiment_source("experiment_gradients", READ_FROM=read_from, FP16=fp16)
        for read_from, fp16 in product(range(3), range(2))
    ),
    *(
        experiment_source("experiment_hog", SUM_IN=sum_in, FP16=fp16)
        for sum_in, fp16 in product(range(2), range(2))
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for the shared objects of this module."""
    return tmp_path_factory.mktemp("experiments")


@pytest.fixture
def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compiles one variant for the CPU; it is called like a CuPy kernel, with NumPy arrays."""
    require_compiler()
    monkeypatch.setattr("shim.FOLDER", experiments.FOLDER)
    return lambda name, **defines: ShimKernel(build(folder, experiment_source(name, **defines)), 1)


def aligned(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that is aligned to 16 bytes."""
    memory = np.empty(pixels.size + 16, np.uint8)
    start = -memory.ctypes.data % 16
    memory[start : start + pixels.size] = pixels.ravel()
    return memory[start : start + pixels.size].reshape(pixels.shape)


@pytest.mark.parametrize(("count_in", "vector"), [*product(range(3), range(2))])
def test_each_histogram_variant_is_correct(kernel, rng, count_in, vector):
    pixels, bins = aligned(rng.integers(0, 256, (37, 61), np.uint8)), np.zeros(256, np.uint32)
    histogram = kernel("experiment_histogram", COUNT_IN=count_in, VECTOR=vector, PER_BLOCK=0)
    launch.histogram(None, histogram, pixels, bins, 3, 64)
    assert np.array_equal(bins, oracle.histogram(pixels))


@pytest.mark.parametrize(("count_in", "vector"), [*product((1, 2), range(2))])
def test_histograms_of_blocks_sum_to_the_histogram_of_the_frame(kernel, rng, count_in, vector):
    pixels, parts = aligned(rng.integers(0, 256, (37, 61), np.uint8)), np.full((5, 256), 77, np.uint32)
    bins = np.full(256, 77, np.uint32)
    histogram = kernel("experiment_histogram", COUNT_IN=count_in, VECTOR=vector, PER_BLOCK=1)
    launch.histogram(None, histogram, pixels, parts, 5, 64)
    launch.sum_histograms(None, kernel("experiment_sum_histograms"), parts, bins)
    assert np.array_equal(bins, oracle.histogram(pixels))


@pytest.mark.parametrize("levels", [(0, 256), (100, 101), (7, 9), (200, 256)])
def test_the_lut_is_that_of_global_equalisation(kernel, rng, levels):
    pixels, lut = rng.integers(*levels, (37, 61), np.uint8), np.full(256, 77, np.uint8)
    launch.build_lut(None, kernel("experiment_build_lut"), oracle.histogram(pixels).astype(np.uint32), lut)
    assert np.array_equal(lut, functions.build_lut(oracle.histogram(pixels).astype(np.uint32)))


@pytest.mark.parametrize("vector", range(2))
def test_each_apply_lut_variant_is_correct(kernel, rng, vector):
    pixels, lut = aligned(rng.integers(0, 256, (37, 61), np.uint8)), rng.permutation(256).astype(np.uint8)
    enhanced = aligned(np.zeros_like(pixels))
    launch.apply_lut(None, kernel("experiment_apply_lut", VECTOR=vector), pixels, lut, enhanced, 3, 64)
    assert np.array_equal(enhanced, lut[pixels])


@pytest.mark.parametrize("method", range(3))
@pytest.mark.parametrize("shape", [(1, 1), (32, 64), (37, 61)])
def test_each_transpose_variant_is_correct(kernel, rng, method, shape):
    pixels = rng.integers(0, 256, shape, np.uint8)
    out = np.zeros(shape[::-1], np.uint8)
    launch.transpose(None, kernel("experiment_transpose", METHOD=method), pixels, out)
    assert np.array_equal(out, pixels.T)


@pytest.mark.parametrize("count_in", range(2))
def test_each_lbp_variant_is_correct(kernel, rng, count_in):
    luma = rng.integers(0, 256, (37, 61), np.uint8)
    cells = np.zeros((3, 4, 59), np.uint32)
    table = lbp_labels(LbpMapping.UNIFORM)
    launch.lbp(None, kernel("experiment_lbp", COUNT_IN=count_in), luma, table, cells)
    assert np.array_equal(cells, oracle.lbp_cells(oracle.lbp_labels(luma, False, "uniform"), 59))


@pytest.mark.parametrize(("read_from", "fp16"), [*product(range(3), range(2))])
@pytest.mark.parametrize("shape", [(2, 2), (37, 61), (16, 64)])
def test_each_gradient_variant_is_correct(kernel, rng, read_from, fp16, shape):
    luma = rng.integers(0, 256, shape, np.uint8)
    gradients = np.full((*shape, 2), 77, (np.float32, np.float16)[fp16])
    texture = np.array([luma.ctypes.data, luma.strides[0]], np.uint64)
    source = texture if read_from == 1 else luma
    launch.gradients(
        None, kernel("experiment_gradients", READ_FROM=read_from, FP16=fp16), source, hog_gamma(), gradients
    )
    roots = np.pad(hog_gamma()[luma], 1, mode="reflect")
    horizontal, vertical = roots[1:-1, 2:] - roots[1:-1, :-2], roots[2:, 1:-1] - roots[:-2, 1:-1]
    assert np.array_equal(gradients, np.stack([horizontal, vertical], axis=-1).astype(gradients.dtype))


@pytest.mark.parametrize(
    ("sum_in", "fp16", "tolerance"), [(0, 0, 2e-6), (1, 0, 2e-6), (0, 1, 5e-4), (1, 1, 5e-4)]
)
def test_each_hog_variant_is_correct(kernel, rng, sum_in, fp16, tolerance):
    luma = gray_image(rng, (53, 77), 3)
    dtype = (np.float32, np.float16)[fp16]
    gradients, expected = np.zeros((*luma.shape, 2), dtype), functions.hog(luma)
    hog, scratch = np.full(expected.shape, 77, dtype), np.zeros(expected.shape, np.float32)
    launch.gradients(
        None, kernel("experiment_gradients", READ_FROM=2, FP16=fp16), luma, hog_gamma(), gradients
    )
    compiled = kernel("experiment_hog", SUM_IN=sum_in, FP16=fp16)
    launch.hog(None, compiled, gradients, hog_weights(), scratch, hog)
    np.testing.assert_allclose(hog.astype(np.float32), expected, rtol=0, atol=tolerance)
    assert not scratch.any()


def test_the_largest_gradients_fit_in_float16(kernel):
    luma = np.kron(np.indices((24, 24)).sum(axis=0) % 2, np.ones((2, 2))).astype(np.uint8) * 255
    gradients = np.zeros((*luma.shape, 2), np.float16)
    launch.gradients(None, kernel("experiment_gradients", READ_FROM=0, FP16=1), luma, hog_gamma(), gradients)
    expected = functions.hog(luma)
    hog = np.zeros(expected.shape, np.float16)
    scratch = np.zeros(expected.shape, np.float32)
    launch.hog(None, kernel("experiment_hog", SUM_IN=1, FP16=1), gradients, hog_weights(), scratch, hog)
    assert np.isfinite(hog).all()
    np.testing.assert_allclose(hog.astype(np.float32), expected, rtol=0, atol=5e-4)


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
@pytest.mark.parametrize(("read_from", "fp16"), [*product(range(3), range(2))])
def test_gradients_on_a_gpu_equal_the_cpu(rng, read_from, fp16):
    from lumaflow.cuda.bench.experiments import timing

    luma = cupy.asarray(rng.integers(0, 256, (64, 128), np.uint8))
    gradients = cupy.empty((*luma.shape, 2), timing.DTYPES[fp16])
    texture = timing.texture_of(luma)
    kernel = timing._compiled("experiment_gradients", READ_FROM=read_from, FP16=fp16)
    source = np.uint64(texture.ptr) if read_from == timing.TEXTURE else luma
    stream = cupy.cuda.get_current_stream()
    launch.gradients(stream, kernel, source, cupy.asarray(hog_gamma()), gradients)
    roots = np.pad(hog_gamma()[luma.get()], 1, mode="reflect")
    horizontal, vertical = roots[1:-1, 2:] - roots[1:-1, :-2], roots[2:, 1:-1] - roots[:-2, 1:-1]
    assert np.array_equal(gradients.get(), np.stack([horizontal, vertical], axis=-1).astype(gradients.dtype))


@pytest.mark.skipif("cuda:0" not in available_devices(), reason="no GPU here: see `lumaflow doctor`")
@pytest.mark.parametrize(("fp16", "tolerance"), [(0, 2e-6), (1, 5e-4)])
def test_hog_on_a_gpu_equals_the_cpu(rng, fp16, tolerance):
    from lumaflow.cuda.bench.experiments import timing

    luma = gray_image(rng, (136, 264), 3)
    found = timing.compute_hog(0, luma, fp16)
    np.testing.assert_allclose(found, functions.hog(luma), rtol=0, atol=tolerance)


def cuda_headers() -> Path:
    """The folder of the CUDA headers."""
    packages = find_spec("nvidia")
    roots = [Path(root) for root in packages.submodule_search_locations or ()] if packages else []
    found = [header.parent for root in roots for header in root.glob("*/include/cuda_fp16.h")]
    return found[0] if found else Path(cupy.cuda.get_cuda_path() or "/usr/local/cuda") / "include"


@pytest.mark.parametrize("architecture", [75, 90, 120])
def test_each_variant_compiles_without_warnings(architecture):
    for variant in VARIANTS:
        program = nvrtc.createProgram(variant.text, f"{variant.kernel}.cu", (), ())
        nvrtc.compileProgram(program, (*variant.flags, f"-arch=sm_{architecture}", f"-I{cuda_headers()}"))
        assert not nvrtc.getProgramLog(program).strip("\0\n "), variant
        nvrtc.destroyProgram(program)


def test_optimization_steps_are_relative_to_the_first() -> None:
    first, last = optimization_figures("steps", {"CPU": 0.1, "final": 0.004})
    assert first.ratio == pytest.approx(1)
    assert last.median == pytest.approx(250)
    assert last.ratio == pytest.approx(25)


def test_experiments_require_a_gpu() -> None:
    with pytest.raises(DeviceError, match="expected a GPU, got cpu"):
        list(measure_experiments("cpu", []))


def test_variants_are_relative_to_the_first_and_stages_to_their_sum() -> None:
    first, second = variant_figures("reads", {"global": [4e-6] * 3, "texture": [1e-6] * 3})
    assert first.ratio is None
    assert second.ratio == pytest.approx(0.25)
    histogram, apply, total = stage_figures("stages", {"count": [3e-6], "apply": [1e-6]})
    assert (histogram.ratio, apply.ratio) == (pytest.approx(0.75), pytest.approx(0.25))
    assert total.median == pytest.approx(4e-6)


def test_frames_in_flight_are_relative_to_one() -> None:
    ratios = [figure.ratio for figure in in_flight_figures({1: 2e-3, 2: 1e-3})]
    assert ratios == [pytest.approx(1), pytest.approx(2)]


@detector
def test_window_scores_equal_opencvs_people_detector(rng) -> None:
    luma, weights = gray_image(rng, (160, 96), 3), people_weights()
    hog = functions.hog(luma)
    scores = window_scores(hog, weights)
    assert scores.shape == (5, 5)
    for y, x in ((0, 0), (4, 1)):
        window = hog[y : y + 15, x : x + 7].transpose(1, 0, 2).ravel()
        assert scores[y, x] == pytest.approx(window @ weights[:-1] + weights[-1], abs=1e-4)


@detector
def test_errors_of_precision_include_changed_decisions_of_the_detector(rng) -> None:
    expected = functions.hog(gray_image(rng, (160, 96), 3))
    same = {entry.name: entry for entry in error_figures("seed", "fp32", expected, expected)}
    apart = {entry.name: entry for entry in error_figures("seed", "fp16", expected[::-1], expected)}
    assert isinstance(error := same["HOG error"], Figure)
    assert error.median == 0
    assert isinstance(alike := same["people detector: windows decided alike"], Figure)
    assert alike.median == 100
    assert isinstance(worse := apart["HOG error"], Figure)
    assert worse.goal_reached is False


@detector
def test_without_a_people_detector_its_figures_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("cv2.HOGDescriptor_getDefaultPeopleDetector")
    hog = np.zeros((20, 20, 36), np.float32)
    _, missing = error_figures("seed", "fp16", hog, hog)
    assert isinstance(missing, Skipped)
    assert "has no people detector" in missing.reason
