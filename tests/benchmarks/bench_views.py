"""Every shipped view and derived table on a large store: a run that is alone in it, and one of ten."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import duckdb

from analyze import derived
from analyze.load import load
from analyze.query import open_store
from tests.benchmarks.measure import Options, Row, median_s
from tests.benchmarks.synthetic import gpu_trace

OPERATORS_A_RUN = 1_000_000


def _copies(store: Path, runs: int) -> None:
    """The run that is in the store, again under other names."""
    con = duckdb.connect(str(store))
    (first,) = con.execute("SELECT run_id FROM runs").fetchone()  # type: ignore[misc]
    tables = con.execute(
        "SELECT table_name FROM duckdb_columns() WHERE column_name = 'run_id' AND table_name IN "
        "(SELECT table_name FROM duckdb_tables() WHERE NOT internal)"
    ).fetchall()
    for copy in range(1, runs):
        con.execute("BEGIN")
        for (table,) in tables:
            digest = ", source_sha256 = $name" if table == "runs" else ""
            con.execute(
                f"INSERT INTO {table} SELECT * REPLACE ($name AS run_id{', $name AS source_sha256' if digest else ''}) "
                f"FROM {table} WHERE run_id = $first",
                {"name": f"{first}-{copy}", "first": first},
            )
        con.execute("COMMIT")
    con.close()


def views(options: Options) -> list[Row]:
    """All rows of one run of a million operators, alone in its store and among ten such runs."""
    a_run = min(OPERATORS_A_RUN, options.operators)
    # Three of six events of the synthetic trace are host slices.
    trace = gpu_trace(options.folder / f"gpu-ops-{a_run}.json", 2 * a_run)
    single = options.folder / f"views-{a_run}.duckdb"
    single.unlink(missing_ok=True)
    result = load([trace], single)
    if result.failed:
        raise result.failed[0]
    runs = max(1, options.operators // a_run)
    whole = options.folder / "views-all.duckdb"
    shutil.copy(single, whole)
    _copies(whole, runs)
    rows = []
    for store, aim in ((single, 0.1), (whole, None)):
        con = open_store(store)
        operators = con.execute("SELECT count(*) FROM ops").fetchone()[0]  # type: ignore[index]
        (run,) = con.execute("SELECT min(run_id) FROM runs").fetchone()  # type: ignore[misc]
        of_runs = con.execute("SELECT table_name FROM duckdb_columns() WHERE column_name = 'run_id'").fetchall()
        views_ = con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        for name in sorted([*derived.TABLES, *(name for (name,) in views_)]):
            which = f"WHERE run_id = '{run}'" if (name,) in of_runs else ""
            took = []
            for _ in range(options.repeats):
                began = time.perf_counter()
                n = con.sql(f'FROM "{name}" {which}').to_arrow_table().num_rows
                took.append(time.perf_counter() - began)
            what = f"view {name}, one run of {runs if store == whole else 1}"
            measured = f"{1000 * median_s(took):.0f} ms, {n} rows, {operators} operators in the store"
            rows.append(Row(what, None, f"<= {aim} s" if aim else "", measured, median_s(took) <= aim if aim else None))
        con.close()
    whole.unlink()
    return rows
