"""Change points in made-up histories: steps are found where they are, noise is not taken for one."""

import numpy as np
import pytest

from analyze.history import THRESHOLD, change_points
from analyze.statistics import MIN_UNITS


def noise(runs: int, spread: float = 0.03, seed: int = 1) -> np.ndarray:
    return np.exp(spread * np.random.default_rng(seed).standard_normal(runs))


def test_a_step_is_one_change_at_its_first_run():
    values = 50e6 * noise(30)
    values[17:] *= 1.25
    [found] = change_points(values.tolist())
    assert found.index == 17
    assert found.low < found.ratio < found.high
    assert found.ratio == pytest.approx(1.25, rel=0.05)
    assert found.before == pytest.approx(50e6, rel=0.03)
    assert (found.runs_before, found.runs_after) == (10, 10)


def test_up_and_down_again_are_two():
    values = 1e6 * noise(45, seed=2)
    values[15:30] *= 0.8
    found = change_points(values.tolist())
    assert [point.index for point in found] == [15, 30]
    assert found[0].ratio < 1 < found[1].ratio


def test_a_step_at_the_edge_needs_enough_runs_on_both_sides():
    values = np.ones(MIN_UNITS + 8)
    values[8:] = 2.0
    assert [point.index for point in change_points(values.tolist())] == [8]
    values = np.ones(MIN_UNITS + 7)
    values[MIN_UNITS - 1 + 8 :] = 2.0  # four runs after it
    assert change_points(values.tolist()) == []
    assert change_points([1.0] * (2 * MIN_UNITS - 1)) == []
    assert change_points([]) == []


def test_one_slow_run_is_no_change():
    values = 1e6 * noise(30)
    values[12] *= 5
    assert change_points(values.tolist()) == []


def test_a_change_that_does_not_matter_is_not_marked():
    values = np.array([1.0, 1.001] * 20)
    values[20:] *= 1 + THRESHOLD / 2
    assert change_points(values.tolist()) == []
    assert len(change_points(values.tolist(), threshold=THRESHOLD / 4)) == 1


def test_the_same_history_has_the_same_changes():
    values = (noise(40, 0.06, seed=3) * np.repeat([1.0, 1.15], 20)).tolist()
    assert change_points(values) == change_points(values)


def test_noise_is_seldom_taken_for_a_change():
    wrong = sum(bool(change_points(noise(40, 0.1, seed).tolist())) for seed in range(30))
    assert wrong <= 3
