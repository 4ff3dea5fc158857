"""What is in a store: its runs, and the documentation of its tables."""

from pathlib import Path

from analyze.errors import PhasescopeError
from analyze.query import query, run_query

# The meaning of a column is there to be read to its end.
_WHOLE = 1000

_RUNS = """
SELECT run_id, label, model, weights, coalesce(device, n.device_name) AS device, dtype, batch_size AS batch,
    prompt_tokens AS prompt, new_tokens AS new, raw_events AS events, excluded_events AS excluded, source
FROM runs JOIN device_names n USING (run_id) ORDER BY loaded_unix_ns DESC, run_id
"""

_TABLES = """
SELECT c.table_name AS "table", CASE WHEN v.view_name IS NULL THEN 'table' ELSE 'view' END AS kind,
    c.column_name AS "column", lower(c.data_type) AS type, c.comment AS meaning
FROM duckdb_columns() c
LEFT JOIN duckdb_views() v ON v.view_name = c.table_name AND NOT v.internal
WHERE NOT c.internal AND c.schema_name = 'main' AND ({filter})
ORDER BY kind, c.table_name, c.column_index
"""

_OVERVIEW = """
SELECT table_name AS "table", 'table' AS kind, comment AS meaning FROM duckdb_tables() WHERE NOT internal
UNION ALL
SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'
ORDER BY kind, "table"
"""


def runs(store: str | Path = "phases.duckdb", *, format_: str = "table", out: str | Path | None = None) -> str | None:
    """The runs in a store, latest first, as text in `format_`; None where written to the file `out`."""
    return query(_RUNS, store, format_=format_, out=out)


def tables(
    name: str | None = None,
    store: str | Path = "phases.duckdb",
    *,
    format_: str = "table",
    out: str | Path | None = None,
) -> str | None:
    """Tables and views with what they mean; with a `name`, the columns of that one."""
    if name is None:
        return query(_OVERVIEW, store, format_=format_, out=out, widest=_WHOLE)
    quoted = name.replace("'", "''")
    with run_query(Path(store), f"SELECT count(*) FROM duckdb_columns() WHERE table_name = '{quoted}'") as con:
        if con.fetchall() == [(0,)]:
            raise PhasescopeError(f"{name}: no such table or view in this store; `phasescope tables` lists them")
    return query(_TABLES.format(filter=f"c.table_name = '{quoted}'"), store, format_=format_, out=out, widest=_WHOLE)
