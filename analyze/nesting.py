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

_ROWS_A_PIECE = 200_000
_QUERY = (
    "select s.id as id, cast(s.name as int) as number, coalesce(s.parent_id, -1) as parent_id, s.depth as depth, "
    "s.ts / 1000 as ts, s.dur / 1000 as dur from slice s"
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
    number = table["number"].to_numpy()
    same = (
        len(number) == len(order)
        and bool(np.array_equal(np.sort(number), np.arange(len(order))))
        and bool(np.array_equal(table["ts"].to_numpy(), start_ns[number]))
        and bool(np.array_equal(table["dur"].to_numpy(), dur_ns[number]))
    )
    if not same:
        raise PhasescopeError(
            f"{source}: trace processor returned {len(number)} slices for {len(order)}, or other times; "
            "nothing was loaded, please report this trace"
        )
    number_of_id = np.full(int(pc.max(table["id"]).as_py() or 0) + 1, -1, np.int64)
    number_of_id[table["id"].to_numpy()] = number
    parent_id = table["parent_id"].to_numpy()
    parent = np.full(len(order), -1, np.int64)
    parent[number] = np.where(parent_id >= 0, number_of_id[parent_id], -1)
    depth = np.zeros(len(order), np.int32)
    depth[number] = table["depth"].to_numpy()
    return Nesting(parent, depth)


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
    joined = b",".join(rows.to_pylist()) if pa.types.is_binary(rows.type) else ",".join(rows.to_pylist()).encode()
    return (b"[" if first else b",") + joined


def self_time(nesting: Nesting, dur_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Duration less the durations of direct children, in ns; children of a lane never overlap."""
    own = dur_ns.copy()
    child = nesting.parent >= 0
    np.subtract.at(own, nesting.parent[child], dur_ns[child])
    return own
