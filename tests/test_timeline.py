"""Times of frames: kept when they make sense, monotonic in any case."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lumaflow_service.camera.timeline import Timeline

F = Fraction


def stamped(
    times: list[Fraction | None], arrived: list[float] | None = None, live: bool = True
) -> list[Fraction]:
    line = Timeline(live)
    clock = arrived or [0.04 * n for n in range(len(times))]
    return [line.stamp(time, at) for time, at in zip(times, clock, strict=True)]


def test_plausible_times_are_kept_exactly() -> None:
    times = [F(7, 90_000), F(3000, 90_000), F(3001, 90_000), F(90_000, 90_000), F(270_000, 90_000)]
    assert stamped(list(times)) == times


def test_one_outlier_is_replaced() -> None:
    times = [F(0), F(1, 25), F(3600), F(3, 25)]
    assert stamped(list(times)) == [F(0), F(1, 25), F(2, 25), F(3, 25)]


def test_three_outliers_in_a_row_reset_the_offset() -> None:
    wild = [F(3600) + F(n, 25) for n in range(6)]
    out = stamped([F(0), F(1, 25), *wild])
    assert [b - a for a, b in pairwise(out)] == [F(1, 25)] * 7


def test_the_timeline_continues_after_a_reset_to_zero() -> None:
    out = stamped([F(100) + F(n, 25) for n in range(5)] + [F(n, 25) for n in range(5)])
    assert out == [F(100) + F(n, 25) for n in range(10)]


def test_a_new_connection_continues_after_the_real_time_that_passed() -> None:
    line = Timeline(live=True)
    assert [line.stamp(F(n, 25), n / 25) for n in range(3)][-1] == F(2, 25)
    line.restart()
    assert line.stamp(F(0), 2 / 25 + 7) == F(2, 25) + 7
    assert line.stamp(F(1, 25), 3 / 25 + 7) == F(3, 25) + 7


def test_a_real_pause_is_not_an_outlier() -> None:
    assert stamped([F(0), F(60)], [0.0, 60.0])[-1] == F(60)
    assert stamped([F(0), F(60)], [0.0, 0.1])[-1] != F(60)


def test_missing_times_are_extrapolated() -> None:
    out = stamped([None] * 4, [0.0, 0.1, 0.3, 0.4])
    assert out == [F(0), F(1, 10), F(3, 10), F(4, 10)]
    assert stamped([None] * 3, live=False) == [F(0), F(1, 25), F(2, 25)]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.fractions(-10_000, 10_000, max_denominator=90_000)),
            st.floats(0, 10),
            st.booleans(),
        ),
        max_size=40,
    ),
    st.booleans(),
)
def test_the_output_always_increases(frames: list[tuple[Fraction | None, float, bool]], live: bool) -> None:
    line, clock, last = Timeline(live), 0.0, None
    for time, passed, new in frames:
        clock += passed
        if new:
            line.restart()
        now = line.stamp(time, clock)
        assert last is None or now > last
        last = now
