"""Parent and depth of slices, from Perfetto's trace processor.

What trace processor needs is little: a time, a duration and a lane. It gets integer nanoseconds in the field of
microseconds (a double holds them exactly up to 2**53), and the number of the slice as its name; everything else is
joined back by that number.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analyze.engines import Engine
from analyze.errors import PhasescopeError

_ROWS_A_PIECE = 100_000
_QUERY = "select cast(name as int) as number, coalesce(parent_id, -1) as parent_id, depth from slice order by id"
# Sums in place of the times themselves, which would double what is fetched; each time is weighed by its slice's
# number, so that exchanged times show, and reduced by a prime below 2**31, so that no sum leaves 64 bits.
_PRIME, _WEIGHTS = 2_147_483_629, 251
_SUMS = (
    f"select min(id) as first_id, max(id) as last_id, sum((ts / 1000 % {_PRIME}) * (name % {_WEIGHTS} + 1)) as ts, "
    f"sum((dur / 1000 % {_PRIME}) * (name % {_WEIGHTS} + 1)) as dur, "
    "sum(ts % 1000) + sum(dur % 1000) as rest from slice"
)


@dataclass
class Nesting:
    """For each slice: the number of its parent (-1 at the top) and its depth."""

    parent: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int32]


def nest(
    engine: Engine,
    order: npt.NDArray[np.int64],
    lanes: npt.NDArray[np.int32],
    start_ns: npt.NDArray[np.int64],
    dur_ns: npt.NDArray[np.int64],
    source: str,
) -> Nesting:
    """Hand slices over in `order`, on `lanes` (of that order), and read their nesting.

    `start_ns` and `dur_ns` are in the slices' own numbering and count from the first event. Raises PhasescopeError
    if trace processor returns other slices or other times than it was given: nothing may be lost here.
    """
    if not len(order):
        return Nesting(np.zeros(0, np.int64), np.zeros(0, np.int32))
    for at in range(0, len(order), _ROWS_A_PIECE):
        piece = order[at : at + _ROWS_A_PIECE]
        engine.parse(_json(piece, lanes[at : at + _ROWS_A_PIECE], start_ns[piece], dur_ns[piece], first=at == 0))
    engine.parse(b"]")
    engine.finish()
    table = engine.query(_QUERY)
    sums = engine.query(_SUMS).to_pylist()[0]
    number = table["number"].to_numpy()
    weight = np.arange(len(order), dtype=np.int64) % _WEIGHTS + 1
    same = (
        len(number) == len(order)
        and bool(np.array_equal(np.bincount(number, minlength=len(order)), np.ones(len(order))))
        and sums["last_id"] - sums["first_id"] == len(order) - 1
        and sums["ts"] == int((start_ns % _PRIME * weight).sum())
        and sums["dur"] == int((dur_ns % _PRIME * weight).sum())
        and sums["rest"] == 0
    )
    if not same:
        raise PhasescopeError(
            f"{source}: trace processor returned {len(number)} slices for {len(order)}, or other times; "
            "nothing was loaded, please report this trace"
        )
    # Ids count up without a gap, so that the n-th row is the n-th id.
    parent_row = table["parent_id"].to_numpy() - sums["first_id"]
    parent = np.full(len(order), -1, np.int64)
    parent[number] = np.where(parent_row >= 0, number[parent_row], -1)
    depth = np.zeros(len(order), np.int32)
    depth[number] = table["depth"].to_numpy()
    nesting = Nesting(parent, depth)
    _nest_deeper(nesting, order, lanes, start_ns[order], (start_ns + dur_ns)[order])
    return nesting


def _nest_deeper(
    nesting: Nesting,
    order: npt.NDArray[np.int64],
    lanes: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
) -> None:
    """Nest the lanes again in which trace processor has put a slice at the top that lies inside another.

    It follows 512 levels (seen with v52), which recursion in Python exceeds. Starts and ends are in `order`.
    """
    top = np.flatnonzero(nesting.parent[order] < 0)
    inside = (lanes[top][1:] == lanes[top][:-1]) & (starts[top][1:] < ends[top][:-1])
    for lane in np.unique(lanes[top[1:][inside]]).tolist():
        rows = np.flatnonzero(lanes == lane)
        stack: list[int] = []
        for row, start, end in zip(rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), strict=True):
            while stack and ends[stack[-1]] <= start:
                stack.pop()
            nesting.parent[order[row]] = order[stack[-1]] if stack else -1
            nesting.depth[order[row]] = len(stack)
            if end > start:
                stack.append(row)


def _json(
    number: npt.NDArray[np.int64],
    lane: npt.NDArray[np.int32],
    start: npt.NDArray[np.int64],
    dur: npt.NDArray[np.int64],
    *,
    first: bool,
) -> bytes:
    # Lanes count from 1: older trace processors merge thread 0 with thread 1.
    def text(values: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> pa.Array:
        return pc.cast(pa.array(values), pa.string())

    rows = pc.binary_join_element_wise(
        '{"ph":"X","pid":1,"name":"', text(number), '","tid":', text(lane + 1), ',"ts":', text(start),
        ',"dur":', text(dur), "}", "",
    )  # fmt: skip
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(rows)], rows), ",")[0].as_buffer()
    return (b"[" if first else b",") + joined


def self_time(nesting: Nesting, dur_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Duration less the durations of direct children, in ns; children of a lane never overlap."""
    own = dur_ns.copy()
    child = nesting.parent >= 0
    np.subtract.at(own, nesting.parent[child], dur_ns[child])
    return own
