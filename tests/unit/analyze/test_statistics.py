"""Intervals and what may be said of them, with the rate of false alarms that the docstring states."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.statistics import (
    MIN_UNITS,
    Interval,
    judge,
    median_interval,
    ratio_of_medians,
    ratios_of_medians,
)


def interval(value: float, low: float | None, high: float | None) -> Interval:
    return Interval(value, low, high, 6, 6, 0.95, None if low is not None else "too few")


def test_ratio_is_of_medians_and_lies_in_its_interval():
    a, b = [100.0, 101, 99, 102, 500], [50.0, 51, 49, 52, 20]
    found = ratio_of_medians(a, b)
    assert found is not None
    assert found.value == 50 / 101
    assert found.low is not None
    assert found.high is not None
    assert 20 / 500 <= found.low <= found.value <= found.high <= 52 / 99
    assert (found.units_a, found.units_b) == (5, 5)


def test_the_same_values_give_the_same_interval():
    a, b = [1.0, 2, 3, 4, 5], [2.0, 3, 4, 5, 6]
    assert ratio_of_medians(a, b) == ratio_of_medians(a, b)


@pytest.mark.parametrize("units", range(1, MIN_UNITS))
def test_too_few_units_give_a_ratio_and_no_bounds(units):
    found = ratio_of_medians([2.0] * units, [1.0] * 20)
    assert found is not None
    assert found.value == 0.5
    assert (found.low, found.high) == (None, None)
    assert found.reason == f"{units} against 20 independent measurements; a verdict needs at least 5 a side"
    assert judge(found, 0.05, "lower").verdict == "not established"


def test_a_policy_may_ask_for_more_units_but_not_for_fewer():
    values = [1.0, 2, 3, 4, 5]
    assert ratio_of_medians(values, values, min_units=6).low is None
    assert ratio_of_medians(values, values, min_units=1).low is not None
    assert ratio_of_medians(values[:4], values[:4], min_units=1).low is None


def test_nothing_to_compare():
    assert ratio_of_medians([], [1.0]) is None
    assert ratio_of_medians([1.0], []) is None
    assert ratio_of_medians([0.0] * 5, [1.0] * 5) is None
    assert median_interval([]) is None


def test_many_rows_at_once_are_as_each_row_alone():
    rng = np.random.default_rng(3)
    a, b = rng.normal(100, 5, (4, 6)), rng.normal(110, 5, (4, 6))
    together = ratios_of_medians(a, b)
    for row, found in enumerate(together):
        alone = ratio_of_medians(a[row], b[row])
        assert found.value == alone.value
        assert found.low == pytest.approx(alone.low, abs=0.02)  # both sides draw their resamples from one stream
        assert found.high == pytest.approx(alone.high, abs=0.02)


def test_median_interval_holds_the_median():
    values = [5.0, 7, 6, 9, 8]
    found = median_interval(values)
    assert found.value == median(values)
    assert 5 <= found.low <= 7 <= found.high <= 9


@pytest.mark.parametrize("units", [5, 6, 10])
@pytest.mark.parametrize("skewed", [False, True])
def test_false_alarms_stay_at_the_stated_rate(units, skewed):
    """Where nothing changed, 95 % intervals leave out 1 in about 5 % of cases: 500 cases, bound at 3 sigma over 5 %."""
    rng = np.random.default_rng(11)
    size = (500, units)
    a, b = (
        (100 * np.exp(rng.exponential(0.05, size)) if skewed else rng.normal(100, 3, size)) for _ in range(2)
    )  # fmt: skip
    alarms = sum(found.excludes_one for found in ratios_of_medians(a, b, resamples=500))
    assert alarms / 500 < 0.05 + 3 * (0.05 * 0.95 / 500) ** 0.5


def test_a_real_change_is_found():
    rng = np.random.default_rng(12)
    a, b = rng.normal(100, 2, (100, 5)), rng.normal(115, 2, (100, 5))
    found = [judge(each, 0.05, "lower") for each in ratios_of_medians(a, b, resamples=500)]
    assert sum(each.verdict == "slower" and each.beyond is True for each in found) >= 95


@pytest.mark.parametrize(
    ("low", "value", "high", "verdict", "beyond"),
    [
        (1.08, 1.10, 1.12, "slower", True),
        (1.02, 1.10, 1.12, "slower", None),
        (1.01, 1.02, 1.03, "slower", False),
        (0.80, 0.85, 0.90, "faster", True),
        (0.97, 0.98, 0.99, "faster", False),
        (0.98, 1.00, 1.02, "same", False),
        (0.90, 1.00, 1.10, "not established", None),
        (0.94, 1.00, 1.02, "not established", None),
    ],
)
def test_verdicts_of_a_time(low, value, high, verdict, beyond):
    found = judge(interval(value, low, high), 0.05, "lower")
    assert (found.verdict, found.beyond) == (verdict, beyond)


def test_more_tokens_a_second_is_faster_and_a_neutral_number_only_higher():
    more = interval(1.2, 1.1, 1.3)
    assert judge(more, 0.05, "higher").verdict == "faster"
    assert judge(more, 0.05, None).verdict == "higher"
    assert judge(interval(0.8, 0.7, 0.9), 0.05, "higher").verdict == "slower"
    assert judge(None, 0.05, "lower").verdict == "not established"


@given(
    st.lists(st.floats(1, 1e9), min_size=5, max_size=12),
    st.lists(st.floats(1, 1e9), min_size=5, max_size=12),
)
@settings(max_examples=40, deadline=None)
def test_turning_the_sides_around_turns_the_verdict_around(a, b):
    there, back = ratio_of_medians(a, b, resamples=200), ratio_of_medians(b, a, resamples=200)
    assert there.value == pytest.approx(1 / back.value)
    verdicts = {judge(there, 0.05, "lower").verdict, judge(back, 0.05, "lower").verdict}
    assert verdicts != {"faster"}
    assert verdicts != {"slower"}
