"""The synchronization of the CUDA lane, on a simulated GPU that uses any order that the events allow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cupy.cuda.runtime import CUDARuntimeError

from lumaflow import (
    DeviceMemoryError,
    Enhanced,
    Equalization,
    Frame,
    Geometry,
    Hog,
    LaneConfig,
    Lbp,
    Mode,
    Options,
    PixelFormat,
    StateError,
    open_lane,
)
from lumaflow.cuda import lane as cuda
from lumaflow.cuda.cuda_errors import OUT_OF_MEMORY
from lumaflow.cuda.lane import CudaLane
from simulation import simulate
from synthetic_frames import synthetic_frame
from test_cuda_lane import assert_same, copied

GEOMETRIES = [Geometry(35, 18, form) for form in (PixelFormat.GRAY8, PixelFormat.NV12, PixelFormat.GRAY12)]
FOUR_TILES = Equalization(tiles=(2, 2))
FEATURES, CONFIG = Options(FOUR_TILES, hog=Hog(), lbp=Lbp()), LaneConfig(timing_every=4)
FRAMES = 12


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder for the shared objects of the kernels."""
    return tmp_path_factory.mktemp("order")


def plan(rng: np.random.Generator, geometry: Geometry) -> list[tuple[Frame, bool, bool]]:
    """Frames, some of them corrupt; for each whether it is in its slot, and whether `out` is given."""
    frames = [synthetic_frame(rng, geometry, kind) for kind in range(4)]
    return [
        (replace(frames[n % 4], corrupt=bool(rng.random() < 0.2)), rng.random() < 0.6, rng.random() < 0.2)
        for n in range(FRAMES)
    ]


def through(fast: CudaLane, sent: list[tuple[Frame, bool, bool]]) -> list[dict[str, Any]]:
    """Process all frames with full slots."""
    found = []
    for frame, born, given in sent:
        if fast.in_flight == fast.config.slots:
            found.append(result(fast.collect()))
        one = frame
        if born:
            slot = fast.next_input()
            for plane, source in zip(slot.planes, frame.planes, strict=True):
                plane[...] = source
            one = replace(slot, corrupt=frame.corrupt)
        fast.submit(one, Frame.empty(fast.output) if given else None)
    while fast.in_flight:
        found.append(result(fast.collect()))
    return found


def result(enhanced: Enhanced) -> dict[str, Any]:
    """Copies of all results, with the chroma."""
    chroma = {f"chroma {number}": np.array(plane) for number, plane in enumerate(enhanced.frame.chroma)}
    return copied(enhanced) | chroma


def expected(
    geometry: Geometry, options: Options, sent: list[tuple[Frame, bool, bool]]
) -> list[dict[str, Any]]:
    """The results of the CPU lane for the same frames."""
    with open_lane("cpu", geometry, options) as exact:
        answers = []
        for frame, _, _ in sent:
            exact.submit(frame)
            answers.append(result(exact.collect()))
        return answers


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize(
    ("options", "config"),
    [
        (FEATURES, CONFIG),
        (FEATURES, replace(CONFIG, slots=2)),
        (FEATURES, replace(CONFIG, slots=1, graph=False)),
        (Options(FOUR_TILES), LaneConfig(timing_every=3, slots=4)),
    ],
)
def test_any_order_that_the_events_allow_gives_the_same_results(
    monkeypatch, folder, rng, geometry, options, config
):
    sent = plan(rng, geometry)
    wanted = expected(geometry, options, sent)
    for _ in range(2):
        simulate(monkeypatch, folder, rng, geometry, options)
        with CudaLane(0, geometry, options, config) as fast:
            assert_same(through(fast, sent), wanted)


@pytest.mark.parametrize(
    ("pixel_format", "config"),
    [
        (PixelFormat.NV12, LaneConfig(timing_every=3, slots=2)),
        (PixelFormat.GRAY12, LaneConfig(graph=False)),
    ],
)
def test_any_order_in_an_adaptive_mode_gives_the_same_results(monkeypatch, folder, rng, pixel_format, config):
    geometry, options = Geometry(35, 18, pixel_format), Options(Equalization(Mode.AUTO), lbp=Lbp())
    sent = plan(rng, geometry)[:5]
    wanted = expected(geometry, options, sent)
    simulate(monkeypatch, folder, rng, geometry, options)
    with CudaLane(0, geometry, options, config) as fast:
        assert_same(through(fast, sent), wanted)


@pytest.mark.parametrize("pixel_format", [PixelFormat.GRAY8, PixelFormat.GRAY12])
@pytest.mark.parametrize("smoothing", [0.3, 1.0])
@pytest.mark.parametrize("config", [CONFIG, LaneConfig(graph=False)])
def test_any_order_with_smoothing_and_gate_gives_the_same_results(
    monkeypatch, folder, rng, pixel_format, smoothing, config
):
    equalization = replace(FOUR_TILES, smoothing=smoothing, gate=True)
    geometry, options = Geometry(35, 18, pixel_format), Options(equalization, lbp=Lbp())
    sent = plan(rng, geometry)
    wanted = expected(geometry, options, sent)
    simulate(monkeypatch, folder, rng, geometry, options)
    with CudaLane(0, geometry, options, config) as fast:
        assert_same(through(fast, sent), wanted)


@pytest.mark.parametrize("omitted", ["wait_external", "record_external"])
def test_a_missing_dependency_is_detected(monkeypatch, folder, rng, omitted):
    geometry = GEOMETRIES[0]
    sent = [(frame, True, False) for frame, _, _ in plan(rng, geometry)]
    wanted = expected(geometry, FEATURES, sent)
    monkeypatch.setattr(cuda, omitted, lambda *_: None)
    differs = 0
    for _ in range(3):
        simulate(monkeypatch, folder, rng, geometry, FEATURES)
        with CudaLane(0, geometry, FEATURES, CONFIG) as fast:
            try:
                assert_same(through(fast, sent), wanted)
            except AssertionError:
                differs += 1
    assert differs


@pytest.mark.parametrize("graph", [True, False])
def test_a_lane_works_after_a_failed_submit(monkeypatch, folder, rng, graph):
    geometry, options, config = GEOMETRIES[0], FEATURES, replace(CONFIG, graph=graph)
    sent = plan(rng, geometry)[:4]
    wanted = expected(geometry, options, sent)
    simulate(monkeypatch, folder, rng, geometry, options)
    with CudaLane(0, geometry, options, config) as fast:
        enqueue = fast._compute_features

        def fail(*_: object) -> None:
            monkeypatch.setattr(fast, "_compute_features", enqueue)
            raise CUDARuntimeError(OUT_OF_MEMORY)

        monkeypatch.setattr(fast, "_compute_features", fail)
        with pytest.raises(DeviceMemoryError, match="out of memory while enqueuing a frame"):
            fast.submit(sent[0][0])
        assert fast.in_flight == 0
        assert_same(through(fast, sent), wanted)


def test_a_lane_closes_with_frames_in_flight(monkeypatch, folder, rng):
    simulate(monkeypatch, folder, rng, GEOMETRIES[0], FEATURES)
    fast = CudaLane(0, GEOMETRIES[0], FEATURES, CONFIG)
    for frame, _, _ in plan(rng, GEOMETRIES[0])[:3]:
        fast.submit(frame)
    fast.close()
    fast.close()
    with pytest.raises(StateError, match="closed"):
        fast.collect()
