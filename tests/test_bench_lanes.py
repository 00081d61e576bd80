"""Driving many sources at their own rates, and the figures of it."""

from collections import deque
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

import pytest

from lumaflow.formats import PixelFormat
from lumaflow.geometry import Geometry
from lumaflow.options import LaneConfig
from lumaflow_service.bench.figure import Figure
from lumaflow_service.bench.limits import Wire
from lumaflow_service.bench.mixed_load import (
    LoadSource,
    ProcessCost,
    drive,
    equal,
    lot_figures,
    measure_crowd,
    measure_flatness,
    unequal,
)
from lumaflow_service.bench.pipeline import Calls, LatencyRun, wire_figures

SMALL = Geometry(48, 32, PixelFormat.GRAY8)


@dataclass
class Slow:
    """A lane whose frames are done so many seconds after they were submitted."""

    seconds: float
    config: LaneConfig = field(default_factory=lambda: LaneConfig(slots=2))
    flying: deque[float] = field(default_factory=deque)

    @property
    def in_flight(self) -> int:
        return len(self.flying)

    def next_input(self) -> None:
        pass

    def submit(self, frame: Any) -> None:
        assert self.in_flight < self.config.slots
        self.flying.append(perf_counter() + self.seconds)

    def collect(self) -> None:
        sleep(max(self.flying.popleft() - perf_counter(), 0.0))


def test_every_source_is_served_at_its_own_rate() -> None:
    feeds = [LoadSource(Slow(0.001), 50.0), LoadSource(Slow(0.001), 20.0)]  # type: ignore[arg-type]
    cost = drive(feeds, 0.5)
    assert [feed.due for feed in feeds] == pytest.approx([25, 10], abs=2)
    assert all(feed.served == 1.0 for feed in feeds)
    assert all(feed.lane.in_flight == 0 for feed in feeds)
    assert cost.seconds >= 0.45


def test_a_frame_for_a_full_lane_is_missed_and_shows_in_what_was_served() -> None:
    feeds = [LoadSource(Slow(0.1), 100.0), LoadSource(Slow(0.0), 5.0)]  # type: ignore[arg-type]
    drive(feeds, 0.5)
    assert feeds[0].missed > 0
    assert feeds[0].served < 0.9
    assert len(feeds[0].seconds) + feeds[0].missed == feeds[0].due


def test_the_slowest_and_the_least_served_lane_are_told() -> None:
    quick = LoadSource(Slow(0), 30.0, seconds=[0.001] * 100, due=100)  # type: ignore[arg-type]
    slow = LoadSource(Slow(0), 30.0, seconds=[0.006] * 50, due=100)  # type: ignore[arg-type]
    figures = {figure.name: figure for figure in lot_figures("lot", [quick, slow], ProcessCost(10.0, 25.0))}
    assert figures["frames"].median == pytest.approx(15)
    assert figures["the slowest lane's p99"].met is False
    assert figures["the least served lane"].median == pytest.approx(50)
    assert figures["the least served lane"].met is False
    assert figures["starved lanes"].median == 1
    assert figures["starved lanes"].met is False
    assert figures["host CPU"].median == pytest.approx(2.5)
    assert figures["host CPU"].met


def test_unequal_lanes_are_told_kind_by_kind() -> None:
    feeds = [
        LoadSource(Slow(0), rate, kind, [0.001 * rate] * 10, due=10)  # type: ignore[arg-type]
        for rate, kind in ((1.0, "small"), (4.0, "large"), (4.0, "large"))
    ]
    figures = {figure.name.strip(): figure for figure in lot_figures("lot", feeds, ProcessCost(1.0, 1.0))}
    assert figures["small"].median == pytest.approx(0.001)
    assert figures["large, p99"].median == pytest.approx(0.004)
    assert figures["starved lanes"].met
    alike = [figure.name for figure in lot_figures("lot", feeds[1:], ProcessCost(1.0, 1.0))]
    assert not any("large" in name for name in alike)


def test_the_lots_have_as_many_lanes_as_asked_for() -> None:
    assert sum(sources.count for sources in equal(64)) == 64
    assert sum(sources.count for sources in unequal(64)) == 64
    assert len({(sources.geometry, sources.rate) for sources in unequal(64)}) == 4


def test_flatness_and_a_crowd_are_measured_on_any_device() -> None:
    flat = {
        figure.name: figure for figure in measure_flatness("cpu", SMALL, 30) if isinstance(figure, Figure)
    }
    assert flat["a frame, last tenth"].median > 0
    assert flat["a frame, last tenth"].limit is not None
    crowd = [figure.name for figure in measure_crowd("cpu", SMALL, 8, (1, 2)) if isinstance(figure, Figure)]
    assert {"a frame, 1 lanes", "a frame, 2 lanes", "to open one of 2"} <= set(crowd)


def test_a_lane_is_held_against_the_wire_of_its_bytes() -> None:
    wire = Wire(up=40e-6, down=40e-6, both=50e-6)
    calls = Calls(frames_per_second=[17_000.0, 18_000.0, 19_000.0])
    singles = LatencyRun([110e-6] * 99 + [200e-6], {}, None)  # type: ignore[arg-type]
    geometry = Geometry(1920, 1080, PixelFormat.GRAY8)
    figures = {figure.name: figure for figure in wire_figures("lane", geometry, wire, calls, singles)}
    assert figures["sustained"].ratio == pytest.approx(0.9)
    assert figures["sustained"].met
    assert figures["latency, one frame"].ratio == pytest.approx(110 / 80)
    assert figures["latency, one frame"].met is False
    assert figures["latency, p99"].met
    assert figures["wire, up"].median == pytest.approx(25_000)
