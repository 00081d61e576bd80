"""`bench lanes`: sources with fixed rates, scaling with lanes and frames, and the PCIe reference."""

from collections import deque
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

import pytest

from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig
from lumaflow_service.bench.figure import Figure
from lumaflow_service.bench.lane_scaling import measure_lane_scaling, measure_memory_growth
from lumaflow_service.bench.limits import PcieTimes
from lumaflow_service.bench.mixed_load import (
    LoadSource,
    ProcessCost,
    equal_sources,
    load_figures,
    mixed_sources,
    run_load,
)
from lumaflow_service.bench.pipeline import LatencyRun, PipelinedRun, pcie_figures

SMALL = Geometry(48, 32, PixelFormat.GRAY8)


@dataclass
class SlowLane:
    """A lane whose frames take `seconds` from submit to done."""

    seconds: float
    config: LaneConfig = field(default_factory=lambda: LaneConfig(slots=2))
    done_at: deque[float] = field(default_factory=deque)

    @property
    def in_flight(self) -> int:
        return len(self.done_at)

    def next_input(self) -> None:
        pass

    def submit(self, frame: Any) -> None:
        assert self.in_flight < self.config.slots
        self.done_at.append(perf_counter() + self.seconds)

    def collect(self) -> None:
        sleep(max(self.done_at.popleft() - perf_counter(), 0.0))


def test_each_source_is_processed_at_its_rate() -> None:
    sources = [LoadSource(SlowLane(0.001), 50.0), LoadSource(SlowLane(0.001), 20.0)]  # type: ignore[arg-type]
    cost = run_load(sources, 0.5)
    assert [source.due for source in sources] == pytest.approx([25, 10], abs=2)
    assert all(source.served == 1.0 for source in sources)
    assert all(source.lane.in_flight == 0 for source in sources)
    assert cost.seconds >= 0.45


def test_a_frame_for_a_full_lane_is_counted_as_missed() -> None:
    sources = [LoadSource(SlowLane(0.1), 100.0), LoadSource(SlowLane(0.0), 5.0)]  # type: ignore[arg-type]
    run_load(sources, 0.5)
    assert sources[0].missed > 0
    assert sources[0].served < 0.9
    assert len(sources[0].seconds) + sources[0].missed == sources[0].due


def test_figures_include_the_slowest_and_the_least_served_lane() -> None:
    quick = LoadSource(SlowLane(0), 30.0, seconds=[0.001] * 100, due=100)  # type: ignore[arg-type]
    slow = LoadSource(SlowLane(0), 30.0, seconds=[0.006] * 50, due=100)  # type: ignore[arg-type]
    figures = {figure.name: figure for figure in load_figures("load", [quick, slow], ProcessCost(10.0, 25.0))}
    assert figures["frames"].median == pytest.approx(15)
    assert figures["the slowest lane's p99"].goal_reached is False
    assert figures["the least served lane"].median == pytest.approx(50)
    assert figures["the least served lane"].goal_reached is False
    assert figures["starved lanes"].median == 1
    assert figures["starved lanes"].goal_reached is False
    assert figures["host CPU"].median == pytest.approx(2.5)
    assert figures["host CPU"].goal_reached


def test_different_kinds_of_sources_have_separate_figures() -> None:
    sources = [
        LoadSource(SlowLane(0), rate, kind, [0.001 * rate] * 10, due=10)  # type: ignore[arg-type]
        for rate, kind in ((1.0, "small"), (4.0, "large"), (4.0, "large"))
    ]
    figures = {figure.name.strip(): figure for figure in load_figures("load", sources, ProcessCost(1.0, 1.0))}
    assert figures["small"].median == pytest.approx(0.001)
    assert figures["large, p99"].median == pytest.approx(0.004)
    assert figures["starved lanes"].goal_reached
    alike = [figure.name for figure in load_figures("load", sources[1:], ProcessCost(1.0, 1.0))]
    assert not any("large" in name for name in alike)


def test_loads_have_the_requested_number_of_lanes() -> None:
    assert sum(kind.count for kind in equal_sources(64)) == 64
    assert sum(kind.count for kind in mixed_sources(64)) == 64
    assert len({(kind.geometry, kind.rate) for kind in mixed_sources(64)}) == 4


def test_memory_growth_and_lane_scaling_run_on_the_cpu() -> None:
    growth = {
        figure.name: figure
        for figure in measure_memory_growth("cpu", SMALL, 30)
        if isinstance(figure, Figure)
    }
    assert growth["a frame, last tenth"].median > 0
    assert growth["a frame, last tenth"].limit is not None
    scaling = [
        figure.name for figure in measure_lane_scaling("cpu", SMALL, 8, (1, 2)) if isinstance(figure, Figure)
    ]
    assert {"a frame, 1 lanes", "a frame, 2 lanes", "to open one of 2"} <= set(scaling)


def test_rate_and_latency_are_relative_to_pcie_transfers() -> None:
    pcie = PcieTimes(up=40e-6, down=40e-6, both=50e-6)
    pipelined = PipelinedRun(frames_per_second=[17_000.0, 18_000.0, 19_000.0])
    single = LatencyRun([110e-6] * 99 + [200e-6], {}, None)  # type: ignore[arg-type]
    geometry = Geometry(1920, 1080, PixelFormat.GRAY8)
    figures = {figure.name: figure for figure in pcie_figures("lane", geometry, pcie, pipelined, single)}
    assert figures["sustained"].ratio == pytest.approx(0.9)
    assert figures["sustained"].goal_reached
    assert figures["latency, one frame"].ratio == pytest.approx(110 / 80)
    assert figures["latency, one frame"].goal_reached is False
    assert figures["latency, p99"].goal_reached
    assert figures["PCIe, upload"].median == pytest.approx(25_000)
