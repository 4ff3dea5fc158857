"""Ratios of medians with an interval, and what may be said of them.

The unit of replication is given by the caller: a repeat of the whole generation, or a whole run. Steps inside one
repeat share its caches, clocks and neighbours and are not independent, so they are never resampled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

# How often the 95 % interval leaves out "no difference" where there is none, over 2,000 simulated pairs of sides, with
# normal and with skewed noise: up to 6.8 % with 4 units a side, 3.2 % with 5, 4.5 % with 6, 4.1 % with 20. Below 5
# the interval promises more than it holds, so there is none. tests/unit/analyze/test_statistics.py simulates it again.
MIN_UNITS = 5
CONFIDENCE = 0.95
RESAMPLES = 9_999
SEED = 20_260_101  # the same values give the same interval on every machine

Verdict = Literal["slower", "faster", "higher", "lower", "same", "not established"]
Better = Literal["lower", "higher"] | None


@dataclass(frozen=True)
class Interval:
    """A number with the interval that repeats of the measurement would leave; no bounds where there are too few units.

    `value` is a ratio of medians (B over A) or one median; `units_a`, `units_b` say how many independent values stand
    behind it (`units_a` is 0 for a single median). `reason` says why there are no bounds.
    """

    value: float
    low: float | None
    high: float | None
    units_a: int
    units_b: int
    confidence: float
    reason: str | None = None

    def within(self, low: float, high: float) -> bool:
        """Whether the whole interval lies between the two."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high

    @property
    def excludes_one(self) -> bool:
        """Whether "no difference" lies outside."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


@dataclass(frozen=True)
class Judgement:
    """What the interval allows to say. `beyond`: whether the change is over the practical threshold, None if open."""

    verdict: Verdict
    beyond: bool | None
    reason: str | None = None


def ratio_of_medians(
    a: Sequence[float],
    b: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
    min_units: int = MIN_UNITS,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """median(b) / median(a) with a bootstrap interval (percentile method) over independent values of both sides.

    None where a side has no value or A's median is 0. Fewer than `min_units` on a side (never under MIN_UNITS): the
    ratio without an interval. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13;
    the percentile method, because BCa's acceleration is not defined for medians of a handful of values.
    """
    if len(a) == 0 or len(b) == 0 or not np.median(a):
        return None
    value = float(np.median(b) / np.median(a))
    low, high, reason = None, None, too_few(len(a), len(b), min_units)
    if reason is None:
        bounds = _bounds((np.asarray(a, float), np.asarray(b, float)), _ratio, confidence, resamples)
        low, high = float(bounds[0]), float(bounds[1])
    return Interval(value, low, high, len(a), len(b), confidence, reason)


def ratios_of_medians(
    a: Sequence[Sequence[float]],
    b: Sequence[Sequence[float]],
    *,
    confidence: float = CONFIDENCE,
    min_units: int = MIN_UNITS,
    resamples: int = RESAMPLES,
) -> list[Interval | None]:
    """`ratio_of_medians` for many rows at once, `a[row]` against `b[row]`; rows of a side have one length."""
    if len(a) == 0 or len(b) == 0:
        return []
    first, second = np.asarray(a, float), np.asarray(b, float)
    reason = too_few(first.shape[1], second.shape[1], min_units)
    middle = np.median(first, axis=-1)
    values = np.divide(np.median(second, axis=-1), middle, out=np.full(len(middle), np.nan), where=middle > 0)
    lows = highs = np.full(len(values), np.nan)
    if reason is None and (middle > 0).all():
        lows, highs = _bounds((first, second), _ratio, confidence, resamples)
    return [
        None
        if np.isnan(value)
        else Interval(
            float(value),
            None if np.isnan(low) else float(low),
            None if np.isnan(high) else float(high),
            first.shape[1],
            second.shape[1],
            confidence,
            reason,
        )
        for value, low, high in zip(values, lows, highs, strict=True)
    ]


def median_interval(
    values: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
    min_units: int = MIN_UNITS,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The median of independent values with its bootstrap interval; None where there is no value."""
    if len(values) == 0:
        return None
    low, high, reason = None, None, too_few(len(values), len(values), min_units)
    if reason is None:
        bounds = _bounds((np.asarray(values, float),), _median, confidence, resamples)
        low, high = float(bounds[0]), float(bounds[1])
    return Interval(float(np.median(values)), low, high, 0, len(values), confidence, reason)


def too_few(units_a: int, units_b: int, min_units: int = MIN_UNITS) -> str | None:
    """Why so few units allow no verdict; None where there are enough."""
    needed = max(min_units, MIN_UNITS)
    if min(units_a, units_b) >= needed:
        return None
    return f"{units_a} against {units_b} independent measurements; a verdict needs at least {needed} a side"


def judge(interval: Interval | None, threshold: float, better: Better) -> Judgement:
    """What may be said of a ratio B over A. `threshold`: the smallest change that matters, as a share (0.05 for 5 %).

    slower or faster (higher or lower where neither is better): 1 lies outside the interval. same: the whole interval
    lies within the threshold of 1 and holds 1. Otherwise not established: noise hides the answer.
    """
    if interval is None:
        return Judgement("not established", None, "one side has no measurement")
    if interval.low is None or interval.high is None:
        return Judgement("not established", None, interval.reason)
    # A quarter less time is a third more speed: thresholds are the same factor both ways, 1.05 and 1 / 1.05.
    factor = 1 + threshold
    inside = interval.within(1 / factor, factor)
    outside = interval.low > factor or interval.high < 1 / factor
    beyond = False if inside else True if outside else None
    if not interval.excludes_one:
        if inside:
            return Judgement("same", False)
        return Judgement("not established", beyond, "the interval holds both no change and a change that matters")
    return Judgement(_word(interval.value > 1, better), beyond)


def _word(up: bool, better: Better) -> Verdict:
    if better is None:
        return "higher" if up else "lower"
    return "slower" if up == (better == "lower") else "faster"


def _ratio(a: Any, b: Any, axis: int = -1) -> Any:
    return np.median(b, axis=axis) / np.median(a, axis=axis)


def _median(values: Any, axis: int = -1) -> Any:
    return np.median(values, axis=axis)


def _bounds(samples: tuple[Any, ...], statistic: Any, confidence: float, resamples: int) -> Any:
    from scipy.stats import bootstrap

    found = bootstrap(
        samples,
        statistic,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(SEED),
    )
    return found.confidence_interval.low, found.confidence_interval.high
