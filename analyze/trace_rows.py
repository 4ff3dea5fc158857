"""From a normalised trace to rows of the store, inside the transaction of its run."""

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analyze.chrome_trace import NormalisedTrace, Slices
from analyze.engines import Engine
from analyze.errors import PhasescopeError
from analyze.lanes import assign_lanes
from analyze.nesting import Nesting, nest, self_time
from analyze.store import scalar, sql_text

# A thread may carry slices of several layers; each layer gets lanes of its own.
_LAYERS = 8
_DEVICE_LAYER = 3


def insert_trace(
    con: duckdb.DuckDBPyConnection, trace: NormalisedTrace, engine: Engine, *, run_id: str, pass_: str, rank: int
) -> None:
    """Nest the slices through trace processor and insert every row; ids go on from those of the run so far.

    Raises PhasescopeError where trace processor loses or changes anything.
    """
    slices = trace.slices
    layer = np.minimum(slices.kind, _DEVICE_LAYER).astype(np.int32)
    order, lanes, displaced = assign_lanes(slices.thread * _LAYERS + layer, slices.start_ns, slices.dur_ns)
    nesting = nest(engine, order, lanes, slices.start_ns, slices.dur_ns, trace.name)
    if displaced:
        trace.notes.append(
            ("overlapping_slices", displaced, "slices that partly overlap another of their thread, kept on extra lanes")
        )
    values: dict[str, Any] = {
        "run_id": run_id,
        "pass": pass_,
        "rank": rank,
        "first_id": _next(con, run_id, "greatest((SELECT max(op_id) FROM ops WHERE run_id = $run_id), "
                          "(SELECT max(kernel_id) FROM kernels WHERE run_id = $run_id))"),
        "first_thread": _next(con, run_id, "(SELECT max(thread_id) FROM threads WHERE run_id = $run_id)"),
    }  # fmt: skip
    con.register("trace_threads", trace.tables["threads"])
    rows = _SliceRows(slices, nesting)
    try:
        for name, used, parameters in (
            ("insert_ops", rows.on_host, values),
            ("insert_kernels", ~rows.on_host, {k: v for k, v in values.items() if k != "first_thread"}),
        ):
            if used.any():
                con.register("slices", rows.source(used))
                con.execute(sql_text(f"load/{name}.sql"), parameters)
                con.unregister("slices")
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
    for name, rows in trace.tables.items():
        insert_rows(con, name, rows, run_id=run_id, pass_=pass_, rank=rank, first_thread=values["first_thread"])


class _SliceRows:
    """Slices with their nesting, as something that DuckDB reads: a table, or batches where arguments lie on disk."""

    def __init__(self, slices: Slices, nesting: Nesting) -> None:
        self.slices = slices
        host = [slices.kinds.index(kind) for kind in ("operator", "python", "annotation")]
        self.on_host = np.isin(slices.kind, host)
        kinds = pa.DictionaryArray.from_arrays(pa.array(slices.kind), pa.array(slices.kinds))
        self.columns = pa.table(
            {
                "number": pa.array(np.arange(len(slices), dtype=np.int64)),
                "parent": pa.array(nesting.parent),
                "depth": pa.array(nesting.depth),
                "thread": pa.array(slices.thread),
                "kind": kinds,
                "name": slices.name,
                "category": slices.category,
                "start_ns": pa.array(slices.start_ns),
                "dur_ns": pa.array(slices.dur_ns),
                "self_ns": pa.array(self_time(nesting, slices.dur_ns)),
            }
        )

    def source(self, used: npt.NDArray[np.bool_]) -> pa.Table | pa.RecordBatchReader:
        """The rows that `used` chooses, to be read once."""
        if self.slices.args.in_memory:
            table = self.columns.append_column("args", self.slices.args.whole())
            return table if used.all() else table.filter(pa.array(used))
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
