"""A lake as a database: tables and views as in a store, over the files of the runs that are complete."""

from __future__ import annotations

from pathlib import Path

import duckdb

from analyze.errors import PhasescopeError
from analyze.lake.layout import Lake, Marker, is_remote
from analyze.store import SCHEMA_VERSION, create_reference, create_run_tables, create_views


def open_lake(url: str | Path) -> duckdb.DuckDBPyConnection:
    """A connection on the runs that are complete now; it reaches their files and nothing else, and is locked.

    Raises PhasescopeError where there is no lake, or one of another version.
    """
    con = duckdb.connect()
    try:
        create_run_tables(con)
        create_reference(con)
        create_views(con)  # while the tables are empty: views bind to what they read
        _put_files(con, url)
        con.execute("SET lock_configuration = true")
    except BaseException:
        con.close()
        raise
    return con


def attach_lake(con: duckdb.DuckDBPyConnection, url: str | Path, database: str) -> None:
    """Make the lake's tables in an (in-memory) database of the connection, which then reaches nothing else."""
    before = con.execute("SELECT current_database()").fetchall()[0][0]
    con.execute(f'USE "{database}"')
    create_run_tables(con)
    _put_files(con, url)
    con.execute(f'USE "{before}"')


def _put_files(con: duckdb.DuckDBPyConnection, url: str | Path) -> None:
    """Put views on the lake's files in the place of the database's empty tables, and close all other ways out.

    Of each table DuckDB opens one file here, for its schema: opening a lake costs little more than reading its markers.
    """
    lake = Lake(str(url))
    lake.check()
    if is_remote(lake.url):
        con.register_filesystem(lake.fs)
    files: dict[str, list[str]] = {}
    seen: set[str] = set()
    for marker in lake.markers():
        _check_version(lake, marker)
        if marker.source_sha256 in seen:
            continue  # two workers did the same bytes under two names at once: one run, as in a store
        seen.add(marker.source_sha256)
        for table, name in marker.files.items():
            files.setdefault(table, []).append(name)
    con.execute("INSERT INTO store_info VALUES ('schema_version', ?)", [SCHEMA_VERSION])
    readable: list[str] = []
    for table, names in sorted(files.items()):
        urls = lake.file_urls(names)
        readable += urls
        _put(con, table, urls)
    allowed = ", ".join(_literal(url) for url in dict.fromkeys(_spellings(lake, readable)))
    con.execute(f"SET allowed_paths = [{allowed}]")
    con.execute("SET enable_external_access = false")


def _check_version(lake: Lake, marker: Marker) -> None:
    if marker.schema_version != SCHEMA_VERSION:
        raise PhasescopeError(
            f"{lake.url}: run {marker.run_id} is of schema version {marker.schema_version}, and this phasescope reads "
            f"{SCHEMA_VERSION}; load its source again into a new lake"
        )


def _put(con: duckdb.DuckDBPyConnection, table: str, urls: list[str]) -> None:
    columns = con.execute(
        "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ? AND database_name = current_database() "
        "ORDER BY column_index",
        [table],
    ).fetchall()
    listed = ", ".join(f'"{name}"' for name, _ in columns)
    # The run stands in the name of the folder, so that a query of one run opens its files only.
    files = ", ".join(map(_literal, urls))
    source = f"read_parquet([{files}], hive_partitioning = true, hive_types = {{'run_id': VARCHAR}})"
    comment = con.execute("SELECT comment FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall()[0][0]
    con.execute(f'DROP TABLE "{table}"')
    con.execute(f'CREATE VIEW "{table}" AS SELECT {listed} FROM {source}')
    con.execute(f'COMMENT ON VIEW "{table}" IS {_literal(comment or "")}')
    for name, text in columns:
        con.execute(f'COMMENT ON COLUMN "{table}"."{name}" IS {_literal(text or "")}')


def _spellings(lake: Lake, urls: list[str]) -> list[str]:
    """The files as they are named and as their file system names them: DuckDB checks either."""
    if not is_remote(lake.url):
        return urls
    return [spelling for url in urls for spelling in (url, lake.fs.unstrip_protocol(lake.fs._strip_protocol(url)))]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
