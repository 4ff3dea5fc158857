"""Reading a store: read-only, and with no way to the file system or the network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analyze.errors import PhasescopeError
from analyze.interruption import interruptible
from analyze.lake.layout import is_lake
from analyze.store import check_schema, connect


def open_store(path: str | Path) -> duckdb.DuckDBPyConnection:
    """A read-only connection on a store or a lake, whose configuration is locked and which can reach nothing else.

    Raises PhasescopeError where there is no store, another process holds it, or it is of another version.
    """
    if is_lake(path):
        from analyze.lake.read import open_lake

        return open_lake(path)
    con = connect(Path(path), read_only=True)
    try:
        check_schema(con, Path(path))
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def run_query(store: str | Path, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Run one or more statements on a store and yield the connection that holds the last result.

    A write, a way out of the store or an error in the SQL, also one that only reading the result shows, raises
    PhasescopeError with DuckDB's sentence; Ctrl-C raises KeyboardInterrupt, whatever DuckDB is at.
    """
    con = open_store(store)
    try:
        with interruptible(con):
            if is_lake(store):
                _only_reads(con, sql)
            con.execute(sql)
            if con.description is None:
                raise PhasescopeError("the SQL has no statement in it; try: SELECT * FROM runs")
            yield con
    except duckdb.Error as error:
        raise PhasescopeError(_sentence(str(error))) from error
    finally:
        con.close()


def attach_store(con: duckdb.DuckDBPyConnection, path: str | Path, name: str) -> None:
    """Attach the tables of a store or a lake as database `name`; the connection then reaches nothing else."""
    if is_lake(path):
        from analyze.lake.read import attach_lake

        con.execute(f"ATTACH ':memory:' AS \"{name}\"")
        attach_lake(con, path, name)
        return
    quoted = str(path).replace("'", "''")
    con.execute(f"ATTACH '{quoted}' AS \"{name}\" (READ_ONLY)")
    con.execute("SET enable_external_access = false")


def _only_reads(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """A lake's database is in memory and its files may be opened: what a read-only store refuses is refused here."""
    for statement in con.extract_statements(sql):
        reads = statement.type == duckdb.StatementType.SELECT
        explains = statement.type == duckdb.StatementType.EXPLAIN and not re.match(
            r"\s*explain\s*[\s(]\s*analy[sz]e\b", statement.query, re.IGNORECASE
        )
        if not reads and not explains:
            raise PhasescopeError("a lake is read-only for queries; change it with `phasescope load --lake`")


def _sentence(text: str) -> str:
    """DuckDB's message on one line; for a write, why it is not possible here."""
    if "read-only" in text:
        return "a store is read-only for queries; change it with `phasescope load`"
    if "file system operations are disabled" in text or ("configuration" in text and "locked" in text):
        return "a query cannot reach files, the network or the configuration; it reads this store only"
    # DuckDB's words without its kind of error, and without the lines that point into the SQL by position.
    words = re.sub(r"^\w+ Error: ", "", text.split("\n\nLINE ")[0].strip())
    return f"SQL: {' '.join(words.split())}; `phasescope tables NAME` lists the columns of a table or view"


@dataclass(frozen=True)
class Run:
    """A run as `phasescope runs` lists it."""

    run_id: str
    label: str | None


def find_run(con: duckdb.DuckDBPyConnection, wanted: str | None) -> Run:
    """The run with this id, the start of an id, or a label; without a name the one loaded last."""
    rows = con.execute("SELECT run_id, label FROM runs ORDER BY loaded_unix_ns DESC, run_id").fetchall()
    runs = [Run(*row) for row in rows]
    if not runs:
        raise PhasescopeError("the store holds no run; load one with `phasescope load SOURCE`")
    if wanted is None:
        return runs[0]
    for matches in (
        [run for run in runs if run.run_id == wanted],
        [run for run in runs if run.label == wanted],
        [run for run in runs if run.run_id.startswith(wanted)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(run.run_id for run in matches[:5])
            raise PhasescopeError(f"{wanted}: several runs go by that name ({ids}); give the whole run id")
    raise PhasescopeError(f"{wanted}: no such run in the store; `phasescope runs` lists them")


def query(
    sql: str,
    store: str | Path = "phases.duckdb",
    *,
    format_: str = "table",
    out: str | Path | None = None,
    widest: int = 72,
) -> str | None:
    """Rows of `sql` on a store, as text in `format_`; None where they were written to the file `out`.

    In the format table a cell wider than `widest` characters is cut; every other format is whole.
    """
    from analyze.rows_out import write_rows

    with run_query(store, sql) as con:
        return write_rows(con, format_, Path(out) if out is not None else None, widest=widest)
