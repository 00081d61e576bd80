"""Seed 2: HOG and LBP at 1080p, by where gradients are read, votes summed and results kept, rung by rung."""

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

SUBJECT = "seed: HOG and LBP, 1920x1080"
READS = {"global memory": 0, "texture": 1, "shared tile": 2}
SUMS = {"plain atomics in global memory": 0, "privatised in shared memory": 1}
KEPT = {"fp32": 0, "fp16": 1}
TILE, PRIVATE = 2, 1
"""How gradients are read and votes summed where fp32 and fp16 are compared."""
TOLERANCES = {"fp32": 2e-6, "fp16": 5e-4}
"""Largest difference from the CPU lane that the specification allows a descriptor."""
SCORE_TOLERANCE = 1e-4

OPTIONS = Options(Equalization(Mode.IDENTITY), hog=Hog(), lbp=Lbp())
CONFIG = LaneConfig(timing_every=16, features_on_device=True)
CPU_FRAMES, LANE_FRAMES = 5, 300


def measure_features(index: int, shown: Sequence[Frame]) -> Iterator[Entry]:
    """Yield the figures of every variant, what half precision costs, and the ladder.

    shown : 1080p gray8
    """
    from lumaflow.cuda.bench.experiments.timing import time_gradients, time_hog, time_lbp

    pixels = [frame.pixels for frame in shown]
    reads = {name: time_gradients(index, pixels, read, 0) for name, read in READS.items()}
    hogs = {name: time_hog(index, pixels, sums, 0) for name, sums in SUMS.items()}
    lbps = {name: time_lbp(index, pixels, sums) for name, sums in SUMS.items()}
    final = {name: kernel_seconds(index, FULL_HD, OPTIONS, shown, name) for name in ("hog", "lbp")}
    yield from variant_figures(f"{SUBJECT}: gradients read from", reads)
    yield from variant_figures(f"{SUBJECT}: HOG of gradients", hogs | {"final, of pixels": final["hog"]})
    yield from variant_figures(f"{SUBJECT}: LBP", lbps | {"final": final["lbp"]})

    kept = {
        name: (time_gradients(index, pixels, TILE, half), time_hog(index, pixels, PRIVATE, half))
        for name, half in KEPT.items()
    }
    yield from _storage(index, pixels[0], kept)
    plain, private = SUMS
    rungs = {
        "CPU lane": lane_seconds("cpu", OPTIONS, CONFIG, shown, CPU_FRAMES),
        "first CUDA: global memory": _sum(reads["global memory"], hogs[plain], lbps[plain]),
        "memory: shared tiles and sums": _sum(*kept["fp32"], lbps[private]),
        "fp16": _sum(*kept["fp16"], lbps[private]),
        "fused kernels": _sum(*final.values()),
        "fused + graph + streams, copies too": lane_seconds(
            f"cuda:{index}", OPTIONS, CONFIG, shown, LANE_FRAMES
        ),
    }
    yield from ladder_figures(SUBJECT, rungs)


def variant_figures(subject: str, variants: Mapping[str, Sequence[float]]) -> Iterator[Figure]:
    """Yield each variant, held against the first one."""
    first = None
    for name, samples in variants.items():
        figure = Figure.of(subject, name, "s", samples, first)
        first = first or Limit(name, figure.median)
        yield figure


def ladder_figures(subject: str, rungs: Mapping[str, float]) -> Iterator[Figure]:
    """Yield each rung in frames a second, held against the first one."""
    rates = {name: 1 / seconds for name, seconds in rungs.items()}
    first = next(iter(rates))
    for name, rate in rates.items():
        yield Figure(subject, name, "frames/s", rate, limit=Limit(first, rates[first]))


def _storage(
    index: int, picture: NDArray[np.uint8], kept: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> Iterator[Entry]:
    from lumaflow.cuda.bench.experiments.timing import describe

    wanted = hog(picture)
    for name, half in KEPT.items():
        for step, samples in zip(("gradients", "HOG of gradients"), kept[name], strict=True):
            yield Figure.of(f"{SUBJECT}: {name}", step, "s", samples)
        yield from error_figures(f"{SUBJECT}: {name}", name, describe(index, picture, half), wanted)


def error_figures(
    subject: str, kept: str, found: NDArray[np.float32], wanted: NDArray[np.float32]
) -> Iterator[Entry]:
    """Yield how far descriptors kept in fp32 or fp16 are from the CPU's, and what a detector makes of it."""
    apart = float(np.abs(found - wanted).max())
    yield Figure(subject, "HOG error", "of 1", apart, limit=Limit("the tolerance", TOLERANCES[kept], 1.0))
    try:
        weights = people_weights()
    except OptionError as error:
        yield Skipped(subject, "people detector", str(error))
        return
    scores, exact = window_scores(found, weights), window_scores(wanted, weights)
    agreed = 100 * float(np.mean((scores > 0) == (exact > 0)))
    limit = Limit("the tolerance", SCORE_TOLERANCE, 1.0 if kept == "fp32" else None)
    yield Figure(
        subject, "people detector: score error", "", float(np.abs(scores - exact).max()), limit=limit
    )
    yield Figure(subject, "people detector: windows decided alike", "%", agreed, limit=Limit("all", 100.0))
    yield Figure(subject, "people detector: windows with people", "windows", float((exact > 0).sum()))


def _sum(*steps: Sequence[float]) -> float:
    """Of kernels that run one after the other."""
    return sum(float(np.median(samples)) for samples in steps)
