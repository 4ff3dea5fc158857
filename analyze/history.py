"""Changes in the history of one workload: windows of consecutive runs against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyze.statistics import MIN_UNITS, ratio_of_medians

WINDOW = 10  # most runs a side: older ones tell of another time
THRESHOLD = 0.05  # smallest change that is marked
# A history has many splits and each could mislead, so each has to be surer than a single comparison. Over 300 simulated
# histories of 40 runs without a change, one was marked in 0.3 % (normal noise of 3 %), 0.7 % (lognormal, 3 %), 2.7 %
# (normal, 10 %) and 2.0 % (lognormal, 10 %). Of 200 with a step of 10 % and noise of 3 %, 99.5 % got exactly one mark,
# 98 % at most one run off. tests/unit/analyze/test_history.py simulates some of them again.
CONFIDENCE = 0.999
RESAMPLES = 9_999


@dataclass(frozen=True)
class ChangePoint:
    """A step in a history. index: the first run after it. ratio: median after over median before, with its interval."""

    index: int
    ratio: float
    low: float
    high: float
    before: float
    after: float
    runs_before: int
    runs_after: int


def change_points(values: Sequence[float], *, threshold: float = THRESHOLD) -> list[ChangePoint]:
    """The steps in `values`, one a run in the order of time; each run is one independent measurement.

    For every split with at least MIN_UNITS runs on both sides, up to WINDOW runs before it are compared with up to
    WINDOW after it: a bootstrap interval (99.9 %) of the ratio of medians. Splits whose interval leaves out 1 and whose
    ratio is over the threshold lie together around a step; of each such group the split with the least absolute
    deviation from the two medians is the step. Slow drifts and changes of spread are not looked for.
    """
    logs = np.log(np.asarray(values, float))
    groups: list[list[ChangePoint]] = []
    for split in range(MIN_UNITS, len(values) - MIN_UNITS + 1):
        point = _compare(values, split, threshold)
        if point is None:
            continue
        last = groups[-1][-1] if groups else None
        if last and point.index - last.index <= MIN_UNITS and (point.ratio > 1) == (last.ratio > 1):
            groups[-1].append(point)
        else:
            groups.append([point])
    return [_sharpest(group, logs) for group in groups]


def _compare(values: Sequence[float], split: int, threshold: float) -> ChangePoint | None:
    before, after = values[max(0, split - WINDOW) : split], values[split : split + WINDOW]
    middle = float(np.median(before)), float(np.median(after))
    factor = 1 + threshold
    if not middle[0] or 1 / factor <= middle[1] / middle[0] <= factor:
        return None  # a change that small is not marked, so no interval is needed
    interval = ratio_of_medians(before, after, confidence=CONFIDENCE, resamples=RESAMPLES)
    if interval is None or interval.low is None or interval.high is None or not interval.excludes_one:
        return None
    return ChangePoint(split, interval.value, interval.low, interval.high, *middle, len(before), len(after))


def _sharpest(group: list[ChangePoint], logs: np.ndarray) -> ChangePoint:
    low, high = max(0, group[0].index - WINDOW), group[-1].index + WINDOW

    def deviation(point: ChangePoint) -> float:
        parts = logs[low : point.index], logs[point.index : high]
        return float(sum(np.abs(part - np.median(part)).sum() for part in parts))

    return min(group, key=deviation)
