"""Tables made from a run's rows when it is loaded, so that questions about the run do not sweep over its operators."""

from __future__ import annotations

import hashlib
from importlib import resources

import duckdb

from analyze.sql_text import sql_text

TABLES = (
    "device_extent", "phase_threads", "time_budget", "phase_breakdown", "device_idle", "kernel_summary", "step_audit",
)  # fmt: skip
# What the queries of the tables read: the rows of the run under small numbers, which are quick to compare.
_ROWS = ("run_ranks", "run_phases", "run_kinds", "run_names", "run_matches", "run_rules", "run_device", "run_host")


def derive(con: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Fill the derived tables (schema_derived.sql) for a run whose other rows are in the store; old rows of it go.

    Reads phases, ops, kernels, what Instruments says of processes, and operator_kinds.
    """
    for table in TABLES:
        con.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])
    for name in (*_ROWS, *TABLES):
        text = _matches_sql(con) if name == "run_matches" else sql_text(f"derived/{name}.sql")
        con.execute(text, {"run_id": run_id} if "$run_id" in text else None)
    for name in _ROWS:
        con.execute(f"DROP TABLE temp.{name}")


def _matches_sql(con: duckdb.DuckDBPyConnection) -> str:
    """Which rules of operator_kinds match which names: DuckDB compiles a pattern once if it stands in the query."""
    matches = ["SELECT 0 AS name_no, 0 AS priority WHERE false"]
    for priority, pattern in con.execute("SELECT priority, name_pattern FROM operator_kinds").fetchall():
        literal = "'" + pattern.replace("'", "''") + "'"
        matches.append(f"SELECT name_no, {priority} FROM run_names WHERE regexp_full_match(name, {literal})")
    return f"CREATE OR REPLACE TEMP TABLE run_matches AS {' UNION ALL '.join(matches)}"


def version() -> str:
    """A digest of everything but the run's rows that decides what is derived."""
    kinds = resources.files("analyze").joinpath("operator_kinds.toml").read_text("utf-8")
    texts = [sql_text(f"derived/{name}.sql") for name in (*_ROWS, *TABLES) if name != "run_matches"]
    return hashlib.sha256("\0".join([kinds, *texts]).encode()).hexdigest()
