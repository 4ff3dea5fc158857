"""Lanes: tracks on which slices nest legally, so that trace processor keeps every one of them."""

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
    groups = group[order].tolist()
    starts = start_ns[order].tolist()
    ends = (start_ns + dur_ns)[order].tolist()
    lanes = np.empty(len(order), np.int32)
    next_lane, displaced = 0, 0
    current: int | None = None
    stacks: list[list[int]] = []
    numbers: list[int] = []
    out = [0] * len(groups)
    for i, (g, start, end) in enumerate(zip(groups, starts, ends, strict=True)):
        if g != current:
            current, stacks, numbers = g, [[]], [next_lane]
            next_lane += 1
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
            numbers.append(next_lane)
            next_lane += 1
        stack.append(end)
        displaced += k > 0
        out[i] = numbers[k]
    lanes[:] = out
    return order, lanes, displaced
