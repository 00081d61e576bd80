"""Experiment: HOG and LBP at 1080p by source of gradients, place of sums, precision, and optimization."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lumaflow.errors import OptionError
from lumaflow.frame import Frame
from lumaflow.functions import hog
from lumaflow.options import Equalization, Hog, LaneConfig, Lbp, Mode, Options
from lumaflow_service.bench.experiments.timing import FULL_HD, kernel_seconds, lane_seconds
from lumaflow_service.bench.figure import Entry, Figure, Limit, Skipped
from lumaflow_service.bench.people_detector import people_weights, window_scores

SUBJECT = "experiment: HOG and LBP, 1920x1080"
READS = {"global memory": 0, "texture": 1, "shared tile": 2}
SUMS = {"plain atomics in global memory": 0, "privatised in shared memory": 1}
PRECISIONS = {"fp32": 0, "fp16": 1}
SHARED_TILE, SHARED_SUMS = 2, 1
"""Source of gradients and place of sums for the comparison of fp32 with fp16."""
TOLERANCES = {"fp32": 2e-6, "fp16": 5e-4}
"""Maximum difference from the CPU lane that docs/spec.md allows."""
SCORE_TOLERANCE = 1e-4

OPTIONS = Options(Equalization(Mode.IDENTITY), hog=Hog(), lbp=Lbp())
CONFIG = LaneConfig(timing_every=16, features_on_device=True)
CPU_FRAMES, LANE_FRAMES = 5, 300


def measure_features(index: int, images: Sequence[Frame]) -> Iterator[Entry]:
    """Yield the figures of all variants, the error of half precision, and the steps of optimization.

    images : 1080p gray8
    """
    from lumaflow.cuda.bench.experiments.timing import time_gradients, time_hog, time_lbp

    pixels = [frame.pixels for frame in images]
    reads = {name: time_gradients(index, pixels, read_from, 0) for name, read_from in READS.items()}
    hogs = {name: time_hog(index, pixels, sum_in, 0) for name, sum_in in SUMS.items()}
    lbps = {name: time_lbp(index, pixels, count_in) for name, count_in in SUMS.items()}
    final = {name: kernel_seconds(index, FULL_HD, OPTIONS, images, name) for name in ("hog", "lbp")}
    yield from variant_figures(f"{SUBJECT}: gradients read from", reads)
    yield from variant_figures(f"{SUBJECT}: HOG of gradients", hogs | {"final, of pixels": final["hog"]})
    yield from variant_figures(f"{SUBJECT}: LBP", lbps | {"final": final["lbp"]})

    precisions = {
        name: (
            time_gradients(index, pixels, SHARED_TILE, fp16),
            time_hog(index, pixels, SHARED_SUMS, fp16),
        )
        for name, fp16 in PRECISIONS.items()
    }
    yield from _precision_figures(index, pixels[0], precisions)
    in_global, in_shared = SUMS
    steps = {
        "CPU lane": lane_seconds("cpu", OPTIONS, CONFIG, images, CPU_FRAMES),
        "first CUDA: global memory": _sum(reads["global memory"], hogs[in_global], lbps[in_global]),
        "memory: shared tiles and sums": _sum(*precisions["fp32"], lbps[in_shared]),
        "fp16": _sum(*precisions["fp16"], lbps[in_shared]),
        "fused kernels": _sum(*final.values()),
        "fused + graph + streams, copies too": lane_seconds(
            f"cuda:{index}", OPTIONS, CONFIG, images, LANE_FRAMES
        ),
    }
    yield from optimization_figures(SUBJECT, steps)


def variant_figures(subject: str, variants: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yield the time of each variant relative to the first one."""
    first = None
    for name, samples in variants.items():
        figure = Figure.of(subject, name, "s", samples, first)
        first = first or Limit(name, figure.median)
        yield figure


def optimization_figures(subject: str, steps: Mapping[str, float]) -> Iterator[Figure]:
    """Yield the frame rate of each step of optimization relative to the first; `steps` in seconds."""
    rates = {name: 1 / seconds for name, seconds in steps.items()}
    first = next(iter(rates))
    for name, rate in rates.items():
        yield Figure(subject, name, "frames/s", rate, limit=Limit(first, rates[first]))


def _precision_figures(
    index: int, image: NDArray[np.uint8], times: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> Iterator[Entry]:
    from lumaflow.cuda.bench.experiments.timing import compute_hog

    expected = hog(image)
    for name, fp16 in PRECISIONS.items():
        for step, samples in zip(("gradients", "HOG of gradients"), times[name], strict=True):
            yield Figure.of(f"{SUBJECT}: {name}", step, "s", samples)
        yield from error_figures(f"{SUBJECT}: {name}", name, compute_hog(index, image, fp16), expected)


def error_figures(
    subject: str, precision: str, found: NDArray[np.float32], expected: NDArray[np.float32]
) -> Iterator[Entry]:
    """Yield the error of HOG relative to the CPU, and its effect on the scores of a people detector."""
    error = float(np.abs(found - expected).max())
    tolerance = Limit("the tolerance", TOLERANCES[precision], 1.0)
    yield Figure(subject, "HOG error", "of 1", error, limit=tolerance)
    try:
        weights = people_weights()
    except OptionError as missing:
        yield Skipped(subject, "people detector", str(missing))
        return
    scores, exact = window_scores(found, weights), window_scores(expected, weights)
    agreed = 100 * float(np.mean((scores > 0) == (exact > 0)))
    limit = Limit("the tolerance", SCORE_TOLERANCE, 1.0 if precision == "fp32" else None)
    yield Figure(
        subject, "people detector: score error", "", float(np.abs(scores - exact).max()), limit=limit
    )
    yield Figure(subject, "people detector: windows decided alike", "%", agreed, limit=Limit("all", 100.0))
    yield Figure(subject, "people detector: windows with people", "windows", float((exact > 0).sum()))


def _sum(*kernels: Sequence[float]) -> float:
    """Seconds of kernels that run one after another: the sum of their medians."""
    return sum(float(np.median(samples)) for samples in kernels)
