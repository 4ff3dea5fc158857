"""Joining a recording's clock with a pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.instruments.clock import ClockJoin, Mark, PassClock, TimeInfo, join_clock

EPOCH = TimeInfo(mabs_epoch=24_000_001, numerator=125, denominator=3)


def test_time_info_is_the_documented_formula() -> None:
    join = join_clock([EPOCH, EPOCH], toc_start_unix_ns=5, pass_clock=PassClock(1, 2))
    assert (join.method, join.start_uptime_ns, join.uncertainty_ns) == ("time_info", 1_000_000_041, 1)
    assert join.trace_ns(1_000_000_141) == 100


@given(
    epoch=st.integers(0, 2**60),
    timebase=st.sampled_from([(125, 3), (1, 1), (1000, 24)]),
    ticks=st.integers(0, 2**50),
)
def test_round_trip_and_exactness(epoch: int, timebase: tuple[int, int], ticks: int) -> None:
    numerator, denominator = timebase
    join = join_clock([TimeInfo(epoch, numerator, denominator)])
    trace_ns = ticks * numerator // denominator
    uptime_ns = join.uptime_ns(trace_ns)
    assert uptime_ns is not None
    assert join.trace_ns(uptime_ns) == trace_ns
    read_by_python = (epoch + ticks) * numerator // denominator  # clock_gettime_nsec_np cuts to whole ns
    assert abs(join.trace_ns(read_by_python) - trace_ns) <= 1  # type: ignore[operator]


def test_several_epochs_are_refused_and_nothing_less_is_taken() -> None:
    other = TimeInfo(99_000_000, 125, 3)
    join = join_clock([EPOCH, other], toc_start_unix_ns=5, pass_clock=PassClock(1, 2))
    assert join.method == "none"
    assert "2 epochs: the machine slept" in (join.reason or "")
    assert join.trace_ns(7) is None
    assert join.uptime_ns(7) is None


def test_a_shared_signpost_bounds_the_start() -> None:
    clock = PassClock(0, 1000, (Mark("a", 2000, 2010), Mark("b", 3000, 3004)))
    join = join_clock([], [("a", 1003), ("b", 2001), ("other", 5)], 10**18, clock)
    # a: 997..1007, b: 999..1003
    assert join == ClockJoin("signpost", 1001, 2)


def test_signposts_that_disagree_or_repeat_are_not_used() -> None:
    clock = PassClock(5_000, 1_000, (Mark("a", 2000, 2010), Mark("b", 3000, 3004)))
    assert join_clock([], [("a", 1003), ("b", 9)], 4_000, clock).method == "toc_start_date"
    assert join_clock([], [("a", 1003), ("a", 1004)], 4_000, clock).method == "toc_start_date"


@given(st.integers(0, 10**18), st.integers(0, 10**15), st.integers(-(10**12), 10**12))
def test_start_date_keeps_its_uncertainty(unix_ns: int, uptime_ns: int, before: int) -> None:
    join = join_clock([], [], unix_ns - before, PassClock(unix_ns, uptime_ns))
    assert (join.method, join.uncertainty_ns) == ("toc_start_date", 1_000_000)
    assert join.trace_ns(uptime_ns) == before


@pytest.mark.parametrize("clock", [None, PassClock(1, 2)])
def test_nothing_to_join_with(clock: PassClock | None) -> None:
    assert join_clock([], [], None, clock).method == "none"
