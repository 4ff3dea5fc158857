"""Lanes: tracks on which slices nest legally, so that trace processor keeps every one of them."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt


def assign_lanes(
    group: npt.NDArray[np.int32], start_ns: npt.NDArray[np.int64], dur_ns: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]:
    """Put each slice on a lane of its group such that on every lane slices are disjoint or nested.

    Trace processor drops or displaces a slice that partly overlaps another on its track. A slice goes on the
    first lane of its group where it is legal, so slices that were legal together stay together.

    Returns the order in which slices must be handed over (by group, begin, longest first, then as given), the
    lane of each slice in that order (lanes are numbered over all groups), and how many slices left lane one.
    """
    order = np.lexsort((-dur_ns, start_ns, group))
    groups, starts = group[order], start_ns[order]
    ends = starts + dur_ns[order]
    firsts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1)).tolist()
    lanes = np.empty(len(order), np.int32)
    next_lane, displaced = 0, 0
    for first, end in pairwise([*firsts, len(order)]):
        part = slice(first, end)
        if _nests(starts[part], ends[part]):
            lanes[part] = next_lane
            next_lane += 1
            continue
        own, used = _first_legal(starts[part].tolist(), ends[part].tolist())
        lanes[part] = next_lane + own
        next_lane += used
        displaced += int(np.count_nonzero(own))
    return order, lanes, displaced


def sessions(
    group: npt.NDArray[np.int32], start_ns: npt.NDArray[np.int64], dur_ns: npt.NDArray[np.int64], slices: int
) -> list[tuple[int, int]]:
    """Cut slices in the order of `assign_lanes` into ranges of about `slices` that can be nested one by one.

    A cut lies where a group begins or where nothing of the group is still open; a range is longer where a slice
    covers more.
    """
    n = len(group)
    if n <= slices:
        return [(0, n)]
    changes = np.diff(group, prepend=group[:1] - 1) != 0
    legal = changes.copy()
    firsts = np.flatnonzero(changes).tolist()
    for first, end in pairwise([*firsts, n]):
        covered = np.maximum.accumulate(start_ns[first:end] + dur_ns[first:end])
        legal[first + 1 : end] = start_ns[first + 1 : end] >= covered[:-1]
    places = np.flatnonzero(legal)
    cuts = [0]
    while n - cuts[-1] > slices:
        at = int(np.searchsorted(places, cuts[-1] + slices, side="right")) - 1
        if places[at] <= cuts[-1]:
            at += 1
        if at == len(places):
            break
        cuts.append(int(places[at]))
    return list(pairwise([*cuts, n]))


def _nests(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> bool:
    """Whether the slices, by begin and longest first, are all disjoint or nested.

    As brackets: they nest if, depth by depth, the k-th to open is the k-th to close.
    """
    # Slices without length nest anywhere.
    long = ends > starts
    starts, ends = starts[long], ends[long]
    n = len(starts)
    if n < 2 or bool((starts[1:] >= ends[:-1]).all()):
        return True
    by_end = np.lexsort((-np.arange(n), ends))  # of those that end together the last to open closes first
    closes = ends[by_end]
    closed_before_open = np.searchsorted(closes, starts, side="right")
    depth_of_open = np.arange(n) - closed_before_open
    opened_before_close = np.searchsorted(starts, closes, side="left")
    depth_of_close = opened_before_close - np.arange(n) - 1
    opening = np.argsort(depth_of_open, kind="stable")
    closing = by_end[np.argsort(depth_of_close, kind="stable")]
    return bool(np.array_equal(opening, closing))


def _first_legal(starts: list[int], ends: list[int]) -> tuple[npt.NDArray[np.int32], int]:
    """Each slice on the first lane where it is legal; the lanes, and how many there are."""
    out = np.empty(len(starts), np.int32)
    stacks: list[list[int]] = [[]]
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        k = 0
        for stack in stacks:
            # A slice that ended is no parent; one that ends later is; anything between is an overlap.
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or stack[-1] >= end:
                break
            k += 1
        else:
            stack = []
            stacks.append(stack)
        stack.append(end)
        out[i] = k
    return out, len(stacks)
