"""Lanes are legal, stable, and keep nesting where it was legal; trace processor agrees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.engines import open_engine
from analyze.lanes import assign_lanes, sessions
from analyze.nesting import nest, self_time

SLICES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 20)), min_size=0, max_size=40
)  # fmt: skip


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 3)
    return array[:, 0].astype(np.int32), array[:, 1].copy(), array[:, 2].copy()


def brute_parent(i: int, lane: np.ndarray, rank: np.ndarray, start: np.ndarray, end: np.ndarray) -> int:
    """The innermost slice of the lane, handed over before i, that still runs when i begins and ends no sooner.

    Of slices without length at one time, trace processor puts each into the one before it.
    """
    holders = [
        j for j in range(len(start))
        if j != i and lane[j] == lane[i] and rank[j] < rank[i] and end[j] >= end[i]
        and (end[j] > start[i] or start[j] == end[j] == start[i])
    ]  # fmt: skip
    return max(holders, key=lambda j: rank[j], default=-1)


@given(SLICES)
def test_no_partial_overlap_on_a_lane(rows: list[tuple[int, int, int]]) -> None:
    group, start, dur = columns(rows)
    order, lanes, _ = assign_lanes(group, start, dur)
    assert sorted(order.tolist()) == list(range(len(rows)))
    for a in range(len(order)):
        for b in range(a + 1, len(order)):
            if lanes[a] != lanes[b]:
                continue
            i, j = order[a], order[b]
            assert group[i] == group[j]
            disjoint = start[i] + dur[i] <= start[j]
            nested = start[i] <= start[j] and start[j] + dur[j] <= start[i] + dur[i]
            assert disjoint or nested


@given(SLICES)
def test_legal_groups_stay_on_one_lane(rows: list[tuple[int, int, int]]) -> None:
    group, start, dur = columns(rows)
    order, lanes, displaced = assign_lanes(group, start, dur)
    for g in set(group.tolist()):
        mine = [(start[i], start[i] + dur[i]) for i in range(len(rows)) if group[i] == g]
        legal = all(
            a[1] <= b[0] or b[1] <= a[0] or (a[0] <= b[0] and b[1] <= a[1]) or (b[0] <= a[0] and a[1] <= b[1])
            for k, a in enumerate(mine) for b in mine[k + 1 :]
        )  # fmt: skip
        used = {int(lane) for i, lane in zip(order, lanes, strict=True) if group[i] == g}
        if legal:
            assert len(used) == 1
        else:
            assert displaced >= 1
            assert len(used) >= 2


@settings(max_examples=40, deadline=None)
@given(SLICES)
def test_trace_processor_gives_the_nesting_that_the_times_say(rows: list[tuple[int, int, int]]) -> None:
    group, start, dur = columns(rows)
    order, lanes, _ = assign_lanes(group, start, dur)
    with open_engine("wasm") as engine:
        nesting = nest(engine, order, lanes, start, dur, "test")
    lane, rank = np.empty(len(rows), int), np.empty(len(rows), int)
    lane[order], rank[order] = lanes, np.arange(len(rows))
    for i in range(len(rows)):
        assert nesting.parent[i] == brute_parent(i, lane, rank, start, start + dur)
    own = self_time(nesting, dur)
    assert (own >= 0).all()
    assert own.sum() == sum(dur[i] for i in range(len(rows)) if nesting.parent[i] < 0)


def test_epoch_sized_traces_keep_every_nanosecond() -> None:
    """A child of 1 ns at the far end of 50 days: a double in microseconds could not hold it."""
    end = 50 * 24 * 3600 * 10**9
    start = np.array([0, end - 2], np.int64)
    dur = np.array([end, 1], np.int64)
    order, lanes, displaced = assign_lanes(np.zeros(2, np.int32), start, dur)
    assert displaced == 0
    with open_engine("wasm") as engine:
        nesting = nest(engine, order, lanes, start, dur, "test")
    assert nesting.parent.tolist() == [-1, 0]
    assert self_time(nesting, dur).tolist() == [end - 1, 1]


@given(SLICES, st.integers(1, 6))
def test_sessions_cut_where_nothing_is_open(rows: list[tuple[int, int, int]], size: int) -> None:
    group, start, dur = columns(rows)
    order, _, _ = assign_lanes(group, start, dur)
    parts = sessions(group[order], start[order], dur[order], size)
    assert [i for first, end in parts for i in range(first, end)] == list(range(len(rows)))
    for first, end in parts:
        for i, j in ((i, j) for i in order[:first] for j in order[first:end]):
            assert group[i] != group[j] or start[i] + dur[i] <= start[j]
        # No range is longer than it must be: none could be cut again at a place within its size.
        for cut in range(first + 1, min(first + size, end - 1) + 1 if end - first > size else first):
            later = [j for j in order[cut:end] if group[j] == group[order[cut]]]
            assert any(
                group[i] == group[j] and start[i] + dur[i] > start[j] for i in order[first:cut] for j in later
            )  # fmt: skip
