"""The store: one DuckDB file. A run is in it whole or not at all."""

import hashlib
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from graphlib import TopologicalSorter
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb

from analyze import derived, reference
from analyze.errors import PhasescopeError
from analyze.interruption import interruptible, is_interruption
from analyze.sql_text import sql_text
from analyze.user_cache import cache_folder, read_intact, write_intact

SCHEMA_VERSION = "2"
# Enough for any load, which holds its trace beside it; what goes beyond, DuckDB keeps on disk.
_MEMORY_LIMIT = "2GiB"
# A full disk shows as any of these, depending on whether data, log or commit meets it.
_CANNOT_WRITE = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
    duckdb.FatalException,
)
# Tables whose rows belong to runs.
RUN_SCHEMAS = ("schema.sql", "schema_instruments.sql", "schema_mac.sql", "schema_derived.sql")


def _view_texts() -> dict[str, str]:
    folder = resources.files("analyze") / "sql" / "views"
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda e: e.name)
        if entry.name.endswith(".sql")
    }


def connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file; every failure is one sentence that names it."""
    if read_only and not path.exists():
        raise PhasescopeError(f"{path}: no store there; make one with `phasescope load SOURCE --store {path}`")
    try:
        return duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        text = str(error)
        if "lock" in text.lower():
            raise PhasescopeError(
                f"{path}: another process holds this store; wait until it ends, or name another with --store"
            ) from error
        if path.is_dir():
            raise PhasescopeError(f"{path}: a folder, not a store; name a file with --store") from error
        if not path.parent.is_dir():
            raise PhasescopeError(f"{path}: the folder {path.parent} does not exist; make it first") from error
        if "not a valid DuckDB" in text or "serializ" in text.lower():
            raise PhasescopeError(f"{path}: not a DuckDB file; name a phasescope store with --store") from error
        raise PhasescopeError(f"{path}: DuckDB cannot open it ({_first_line(text)})") from error


def scalar(con: duckdb.DuckDBPyConnection, sql: str, values: Any = None) -> Any:
    """The first value of the first row, None without rows; leaves no result pending on the connection."""
    rows = con.execute(sql, values).fetchall()
    return rows[0][0] if rows else None


def check_schema(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise PhasescopeError unless this is a phasescope store of this version."""
    try:
        version = scalar(con, "SELECT value FROM store_info WHERE key = 'schema_version'")
    except duckdb.Error as error:
        raise PhasescopeError(f"{path}: a DuckDB file, but no phasescope store; name one with --store") from error
    if version != SCHEMA_VERSION:
        raise PhasescopeError(
            f"{path}: a store of schema version {version}, and this phasescope reads {SCHEMA_VERSION}; "
            "load the sources again into a new store"
        )


@contextmanager
def writable_store(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for loading; makes the store where there is none, and removes it again if nothing came in."""
    fresh = not path.exists()
    if fresh:
        _begin_as_copy(path)
    con = connect(path, read_only=False)
    try:
        _create_tables(con, str(path))
        con.execute(f"SET memory_limit = '{_MEMORY_LIMIT}'")
        check_schema(con, path)
        _bring_to_this_version(con, str(path))
        yield con
    finally:
        empty = fresh and _is_empty(con)
        with suppress(duckdb.Error):  # a connection whose disk is full cannot even close cleanly
            con.close()
        if empty and path.exists():
            path.unlink()
            path.with_name(path.name + ".wal").unlink(missing_ok=True)


def _create_tables(con: duckdb.DuckDBPyConnection, what: str) -> None:
    """The tables, in a database that has none yet."""
    if scalar(con, "SELECT count(*) FROM duckdb_tables() WHERE NOT internal"):
        return
    with transaction(con, what):
        create_run_tables(con)
        con.execute(sql_text("schema_reference.sql"))
        con.execute("INSERT INTO store_info VALUES ('schema_version', ?)", [SCHEMA_VERSION])


def create_run_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables whose rows belong to runs in a database that has none."""
    for name in RUN_SCHEMAS:
        con.execute(sql_text(name))


@cache
def empty_store() -> bytes:
    """The bytes of a store without runs, kept in the user's cache: a copy costs less than making tables and views."""
    texts = [SCHEMA_VERSION, duckdb.__version__, *map(sql_text, (*RUN_SCHEMAS, "schema_reference.sql"))]
    digest = hashlib.sha256("\0".join([*texts, reference.version(), _made_version()]).encode()).hexdigest()
    kept = cache_folder() / f"store-{digest[:32]}.duckdb"
    content = read_intact(kept)
    if content is None:
        with tempfile.TemporaryDirectory(prefix="phasescope-") as folder:
            path = Path(folder) / "empty.duckdb"
            con = duckdb.connect(str(path))
            _create_tables(con, "an empty store")
            _bring_to_this_version(con, "an empty store")
            con.close()
            content = path.read_bytes()
        with suppress(PhasescopeError):
            write_intact(kept, content)
    return content


def _begin_as_copy(path: Path) -> None:
    """Put an empty store at `path`, unless another process has made one there meanwhile."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    # Where this cannot be done the store is made in place, or opening it tells what is wrong.
    with suppress(OSError, duckdb.Error, PhasescopeError):
        try:
            draft.write_bytes(empty_store())
            os.link(draft, path)  # unlike renaming, this never replaces a file
        finally:
            draft.unlink(missing_ok=True)


def _is_empty(con: duckdb.DuckDBPyConnection) -> bool:
    try:
        return bool(scalar(con, "SELECT count(*) FROM runs") == 0)
    except duckdb.Error:
        return True


def _bring_to_this_version(con: duckdb.DuckDBPyConnection, what: str) -> None:
    """Views, reference facts and derived rows are this version's, not those of the version that made the store."""
    with transaction(con, what):
        reference.refresh(con)
    digest = _made_version()
    if scalar(con, "SELECT value FROM store_info WHERE key = 'views_sha256'") == digest:
        return
    with transaction(con, what):
        for (name,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
            con.execute(f'DROP VIEW IF EXISTS "{name}" CASCADE')
        for name in derived.TABLES:
            con.execute(f"DROP TABLE IF EXISTS {name}")
        con.execute(sql_text("schema_derived.sql"))
        for (run_id,) in con.execute("SELECT run_id FROM runs").fetchall():
            derived.derive(con, run_id)
        create_views(con)
        con.execute("INSERT OR REPLACE INTO store_info VALUES ('views_sha256', ?)", [digest])


def _made_version() -> str:
    """A digest of what views and derived rows are made by."""
    return hashlib.sha256("".join([derived.version(), *_view_texts().values()]).encode()).hexdigest()


def create_views(con: duckdb.DuckDBPyConnection) -> None:
    """Make the views of the analysis in a database that has the tables and no views yet."""
    texts = _view_texts()
    for name in _creation_order(texts):
        con.execute(texts[name])


def create_reference(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of reference facts in a database that has none."""
    con.execute(sql_text("schema_reference.sql"))
    reference.refresh(con)


def _creation_order(texts: dict[str, str]) -> list[str]:
    """File names such that a view comes after those it reads."""
    made = {name: set(re.findall(r"CREATE VIEW (\w+)", text)) for name, text in texts.items()}
    graph = {}
    for name, text in texts.items():
        code = re.sub(r"--.*", "", text).split("COMMENT ON", 1)[0]
        read = set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", code, re.IGNORECASE))
        graph[name] = {other for other, views in made.items() if other != name and views & read}
    return list(TopologicalSorter(graph).static_order())


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection, what: str) -> Iterator[None]:
    """All or nothing; DuckDB's own failures become a sentence about `what`, an interruption KeyboardInterrupt."""
    con.execute("BEGIN")
    try:
        with interruptible(con):
            yield
        con.execute("COMMIT")
    except BaseException as error:
        with suppress(duckdb.Error):  # a commit that failed has rolled back already
            con.execute("ROLLBACK")
        if is_interruption(error):  # first: cleaning up after it fails too, with a reason that is none
            raise KeyboardInterrupt from error
        if isinstance(error, _CANNOT_WRITE):
            raise PhasescopeError(
                f"{what}: the store could not be written ({_first_line(str(error))}); nothing of it was loaded"
            ) from error
        raise


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"
