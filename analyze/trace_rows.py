"""From a normalised trace to rows of the store, inside the transaction of its run."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyze.engines import Engine
from analyze.errors import PhasescopeError
from analyze.lanes import assign_lanes, sessions
from analyze.nesting import Nesting, nest, self_time
from analyze.normalised_trace import NormalisedTrace, Slices
from analyze.sql_text import sql_text
from analyze.store import scalar

# A thread may carry slices of several layers; each layer gets lanes of its own.
_LAYERS = 8
_DEVICE_LAYER = 3
# Trace processor works on one core; two of them at once nest in little more than half the time. Its memory grows with
# the slices it holds, by about 230 bytes each; a session of fewer than the least is over before another has started.
_SESSIONS_AT_ONCE = 2
_LEAST_SLICES_A_SESSION = 100_000
_MOST_SLICES_A_SESSION = 250_000
_SLICES_IN_4_GIB = 12_000_000


OpenEngine = Callable[[bool], Engine]


def insert_trace(
    con: duckdb.DuckDBPyConnection, trace: NormalisedTrace, open_: OpenEngine, *, run_id: str, pass_: str, rank: int
) -> Engine:
    """Nest the slices through trace processor and insert every row; ids go on from those of the run so far.

    `open_` opens an engine, with 64-bit memory where its argument is true. Returns the (closed) engine for its name
    and version. Raises PhasescopeError where trace processor loses or changes anything.
    """
    slices = trace.slices
    values: dict[str, Any] = {
        "run_id": run_id,
        "pass": pass_,
        "rank": rank,
        "first_id": _next(con, run_id, "greatest((SELECT max(op_id) FROM ops WHERE run_id = $run_id), "
                          "(SELECT max(kernel_id) FROM kernels WHERE run_id = $run_id))"),
    }  # fmt: skip
    first_thread = _next(con, run_id, "(SELECT max(thread_id) FROM threads WHERE run_id = $run_id)")
    rows = _SliceRows(slices)
    con.register("trace_threads", trace.tables["threads"])
    try:
        # Before anything is inserted: then trace processor's memory is free again.
        nesting, engine = _nested(trace, open_)
        _insert_slices(con, "insert_kernels", rows.source(~rows.on_host), values)
        for name, table in trace.tables.items():
            insert_rows(con, name, table, run_id=run_id, pass_=pass_, rank=rank, first_thread=first_thread)
        rows.nest(nesting)
        _insert_slices(con, "insert_ops", rows.source(rows.on_host), {**values, "first_thread": first_thread})
        inserted = scalar(
            con,
            "SELECT (SELECT count(*) FROM ops WHERE run_id = $run_id AND op_id >= $first) + "
            "(SELECT count(*) FROM kernels WHERE run_id = $run_id AND kernel_id >= $first)",
            {"run_id": run_id, "first": values["first_id"]},
        )
    finally:
        con.unregister("trace_threads")
    if inserted != len(slices):
        raise PhasescopeError(f"{trace.name}: {len(slices)} slices gave {inserted} rows; nothing was loaded")
    return engine


def _insert_slices(
    con: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | pa.RecordBatchReader | None, values: dict[str, Any]
) -> None:
    if rows is None:
        return
    con.register("slices", rows)
    try:
        con.execute(sql_text(f"load/{name}.sql"), values)
    finally:
        con.unregister("slices")


def _nested(trace: NormalisedTrace, open_: OpenEngine) -> tuple[Nesting, Engine]:
    """The nesting of all slices, by as many engines in turn as keep the memory of each small."""
    slices = trace.slices
    layer = np.minimum(slices.kind, _DEVICE_LAYER).astype(np.int32)
    group = slices.thread * _LAYERS + layer
    order, lanes, displaced = assign_lanes(group, slices.start_ns, slices.dur_ns)
    if displaced:
        trace.notes.append(
            ("overlapping_slices", displaced, "slices that partly overlap another of their thread, kept on extra lanes")
        )
    # As many for each core, and each a little larger than its share, or the last cut leaves a crumb.
    sessions_a_core = max(1, -(-len(order) // (_SESSIONS_AT_ONCE * _MOST_SLICES_A_SESSION)))
    share = len(order) * 51 // (50 * _SESSIONS_AT_ONCE * sessions_a_core)
    parts = sessions(group[order], slices.start_ns[order], slices.dur_ns[order], max(share, _LEAST_SLICES_A_SESSION))
    whole = Nesting(np.full(len(order), -1, np.int64), np.zeros(len(order), np.int32))

    def nest_part(part: tuple[int, int]) -> Engine:
        own = order[slice(*part)]
        counting = np.arange(len(own), dtype=np.int64)
        with open_(len(own) > _SLICES_IN_4_GIB) as engine:
            found = nest(engine, counting, lanes[slice(*part)], slices.start_ns[own], slices.dur_ns[own], trace.name)
        whole.parent[own] = np.where(found.parent >= 0, own[found.parent], -1)
        whole.depth[own] = found.depth
        return engine

    with ThreadPoolExecutor(_SESSIONS_AT_ONCE, "trace-processor") as pool:
        engines = list(pool.map(nest_part, parts))
    return whole, engines[-1]


class _SliceRows:
    """Slices with their nesting, as something that DuckDB reads: a table, or batches where arguments lie on disk."""

    def __init__(self, slices: Slices) -> None:
        self.slices = slices
        host = [slices.kinds.index(kind) for kind in ("operator", "python", "annotation")]
        self.on_host = np.isin(slices.kind, host)
        kinds = pa.DictionaryArray.from_arrays(pa.array(slices.kind), pa.array(slices.kinds))
        self.columns = pa.table(
            {
                "number": pa.array(np.arange(len(slices), dtype=np.int64)),
                "thread": pa.array(slices.thread),
                "kind": kinds,
                "name": slices.name,
                "category": slices.category,
                "start_ns": pa.array(slices.start_ns),
                "dur_ns": pa.array(slices.dur_ns),
            }
        )

    def nest(self, nesting: Nesting) -> None:
        """Add what trace processor says."""
        for name, values in (
            ("parent", nesting.parent),
            ("depth", nesting.depth),
            ("self_ns", self_time(nesting, self.slices.dur_ns)),
        ):
            self.columns = self.columns.append_column(name, pa.array(values))

    def source(self, used: npt.NDArray[np.bool_]) -> pa.Table | pa.RecordBatchReader | None:
        """At least the rows that `used` chooses, to be read once; None where there are none."""
        if not used.any():
            return None
        if self.slices.args.in_memory:
            return self.columns.append_column("args", self.slices.args.whole())  # the query leaves the others out
        schema = self.columns.schema.append(pa.field("args", pa.string()))
        return pa.RecordBatchReader.from_batches(schema, self._batches(used, schema))

    def _batches(self, used: npt.NDArray[np.bool_], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        first = 0
        for args in self.slices.args.pieces():
            end = first + len(args)
            chosen = used[first:end]
            if chosen.any():
                table = self.columns.slice(first, end - first).append_column("args", args)
                yield from table.filter(pa.array(chosen)).combine_chunks().cast(schema).to_batches()
            first = end


def insert_rows(
    con: duckdb.DuckDBPyConnection,
    table: str,
    rows: pa.Table,
    *,
    run_id: str,
    pass_: str | None = None,
    rank: int | None = None,
    first_thread: int = 0,
) -> None:
    """Insert rows by column name, with run, pass and rank filled in; thread and span numbers go on in the run."""
    if rows.num_rows == 0:
        return
    have = [row[0] for row in con.execute(f'SELECT column_name FROM (DESCRIBE "{table}")').fetchall()]
    constants = {"run_id": run_id, "pass": pass_, "rank": rank}
    chosen, values = [], {}
    for column in have:
        if column in constants and column not in rows.column_names:
            if constants[column] is None:
                continue
            chosen.append((column, f"${column}"))
            values[column] = constants[column]
        elif column == "thread_id" and table == "threads":
            chosen.append((column, f"thread_id + {first_thread}"))
        elif column == "span_id":
            first = _next(con, run_id, "(SELECT max(span_id) FROM spans WHERE run_id = $run_id)")
            chosen.append((column, f"span_id + {first}"))
        elif column in rows.column_names:
            chosen.append((column, f'"{column}"'))
    names = ", ".join(f'"{name}"' for name, _ in chosen)
    con.register("new_rows", rows)
    try:
        con.execute(
            f'INSERT INTO "{table}" ({names}) SELECT {", ".join(value for _, value in chosen)} FROM new_rows', values
        )
    finally:
        con.unregister("new_rows")


def _next(con: duckdb.DuckDBPyConnection, run_id: str, expression: str) -> int:
    return int(scalar(con, f"SELECT coalesce({expression}, -1) + 1", {"run_id": run_id}))
