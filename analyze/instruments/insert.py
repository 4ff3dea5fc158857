"""A recording into the store: its rows, the pass's marks on its clock, and the phases of its GPU rows."""

from pathlib import Path

import duckdb
import pyarrow as pa

from analyze.instruments.clock import PassClock
from analyze.instruments.load import InstrumentsData, Source, read_instruments

_ATTRIBUTION = Path(__file__).parent.parent / "sql" / "instruments_attribution.sql"


def insert_instruments(
    con: duckdb.DuckDBPyConnection,
    sources: list[Source],
    *,
    run_id: str,
    pass_: str = "metal",
    rank: int = 0,
    target_pid: int | None = None,
    pass_clock: PassClock | None = None,
    strict: bool = False,
) -> InstrumentsData:
    """Read one recording and insert it inside the caller's transaction, batch by batch.

    `pass_clock` is the begin of the pass that was recorded: its phases and samples, which must be in the store
    already, move to the recording's clock (where the clocks can be joined), and GPU rows of the recorded process get
    the phase they lie in. Raises PhasescopeError as read_instruments does.
    """
    (first_id,) = con.execute(
        "SELECT greatest((SELECT coalesce(max(kernel_id), -1) FROM kernels WHERE run_id = $run_id), "
        "(SELECT coalesce(max(span_id), -1) FROM spans WHERE run_id = $run_id)) + 1",
        {"run_id": run_id},
    ).fetchall()[0]

    def insert(table: str, batch: pa.RecordBatch) -> None:
        con.register("instruments_batch", batch)
        try:
            con.execute(f"INSERT INTO {table} BY NAME SELECT ? AS run_id, * FROM instruments_batch", [run_id])
        finally:
            con.unregister("instruments_batch")

    data = read_instruments(
        sources,
        rank=rank,
        pass_=pass_,
        target_pid=target_pid,
        strict=strict,
        first_id=first_id,
        pass_clock=pass_clock,
        sink=insert,
    )
    begin_ns = data.clock.trace_ns(pass_clock.uptime_ns) if pass_clock else None
    if begin_ns is not None:
        where = "run_id = ? AND pass = ?"
        con.execute(f"UPDATE phases SET start_ns = start_ns + ? WHERE {where}", [begin_ns, run_id, pass_])
        con.execute(f"UPDATE samples SET t_ns = t_ns + ? WHERE {where}", [begin_ns, run_id, pass_])
        con.execute(_ATTRIBUTION.read_text(encoding="utf-8"), {"run_id": run_id})
    return data
