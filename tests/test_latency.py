"""Percentiles over the last minute: correct within 5 %, without older durations."""

import numpy as np
import pytest

from lumaflow_service.control.latency import Latency


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_percentiles_are_within_five_percent(rng: np.random.Generator) -> None:
    latency = Latency(Clock())
    took = rng.lognormal(-7, 1, 5000)
    for seconds in took:
        latency.add({"apply": float(seconds)})
    p50, p99 = latency.percentiles()["apply"]
    assert p50 == pytest.approx(np.quantile(took, 0.5), rel=0.05)
    assert p99 == pytest.approx(np.quantile(took, 0.99), rel=0.05)


def test_names_keep_the_order_of_the_first_add() -> None:
    latency = Latency(Clock())
    latency.add({"upload": 1e-3, "histogram": 2e-3, "apply": 3e-3})
    assert list(latency.percentiles()) == ["upload", "histogram", "apply"]


def test_durations_older_than_a_minute_do_not_count() -> None:
    clock = Clock()
    latency = Latency(clock)
    latency.add({"apply": 1.0})
    for _ in range(5):
        clock.now += 10
        latency.add({"apply": 0.01})
    assert latency.percentiles()["apply"].p99 == pytest.approx(1.0, rel=0.05)
    clock.now += 10
    latency.add({"apply": 0.01})
    assert latency.percentiles()["apply"].p99 == pytest.approx(0.01, rel=0.05)
    clock.now += 3600
    assert latency.percentiles() == {}


def test_a_duration_of_zero_is_counted() -> None:
    latency = Latency(Clock())
    latency.add({"upload": 0.0})
    assert latency.percentiles()["upload"].p50 == pytest.approx(1e-6)
