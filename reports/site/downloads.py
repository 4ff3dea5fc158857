"""The tables of a site to download, as Parquet; columns that may only be analysed stay out."""

from __future__ import annotations

import io
from dataclasses import dataclass

import duckdb

# Of all runs together: table or view, and the columns that are left out.
TABLES = {
    "runs": ("source", "source_sha256", "manifest"),
    "passes": ("detail",),
    "phases": ("thread_id",),
    "samples": (),
    "kv_expected": (),
    "kv_check": (),
    "quality": ("detail",),
    "claims": (),
    "step_latency": (),
    "scaling_points": (),
    "scaling_prefill": (),
    "scaling_decode": (),
    "scaling_kv": (),
    "scaling_headroom": (),
}
# Of each run: the rows that take room.
TABLES_OF_RUN = {
    "ops": ("args",),
    "kernels": ("args", "process"),
    "phase_breakdown": (),
    "op_summary": (),
    "kernel_summary": (),
    "launches": (),
}


@dataclass(frozen=True)
class Download:
    """A table of the site: its file, how much it holds, and what it is."""

    name: str
    file: str
    rows: int
    size_bytes: int
    description: str


def parquet(connection: duckdb.DuckDBPyConnection, table: str, without: tuple[str, ...], where: str = "") -> bytes:
    """The rows of a table or view as Parquet; the same bytes for the same rows."""
    import pyarrow.parquet

    left_out = f" EXCLUDE ({', '.join(without)})" if without else ""
    rows = connection.sql(f"SELECT *{left_out} FROM {table} {where} ORDER BY ALL").to_arrow_table()
    out = io.BytesIO()
    pyarrow.parquet.write_table(rows, out, compression="zstd")
    return out.getvalue()


def description(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """What the store says of the table or view."""
    rows = connection.execute(
        "SELECT comment FROM (SELECT table_name AS name, comment FROM duckdb_tables() UNION ALL "
        "SELECT view_name, comment FROM duckdb_views()) WHERE name = ?",
        [table],
    ).fetchall()
    return str(rows[0][0]) if rows and rows[0][0] else ""
