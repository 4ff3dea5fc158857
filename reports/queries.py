"""The named queries of the reports. Each lies in `sql/<name>.sql`; the text that is run is the text that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from math import isfinite
from typing import Any

import duckdb

from analyze.errors import PhasescopeError

Row = dict[str, Any]
_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Result:
    """Rows of a query, beside the SQL that yields them again when it is pasted into `phasescope query`."""

    name: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def one(self) -> Row:
        """The only row; every column None where there is none."""
        return self.rows[0] if self.rows else dict.fromkeys(self.columns)


def empty(name: str) -> Result:
    """What a query yields that has not been asked, because there is nothing to ask it of."""
    return Result(name, "", (), ())


def literal(value: str | int | None) -> str:
    """`value` as an SQL literal. DuckDB's plain strings know one special character, the quote."""
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


def text(name: str, **parameters: str | int | None) -> str:
    """The SQL of query `name` with its `$parameters` filled in."""
    source = (resources.files("reports") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return _PARAMETER.sub(lambda match: literal(parameters[match[1]]), source).strip()


def _finite(value: Any) -> Any:
    """NaN and infinity, as of a line through two steps, are not known: None, as everywhere."""
    return None if isinstance(value, float) and not isfinite(value) else value


def run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: str | int | None) -> Result:
    """Run query `name`. Raises PhasescopeError when the store lacks what it reads."""
    sql = text(name, **parameters)
    try:
        cursor = connection.execute(sql)
        columns = tuple(column[0] for column in cursor.description or ())
        rows = tuple(dict(zip(columns, map(_finite, row), strict=True)) for row in cursor.fetchall())
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise PhasescopeError(
            f"the store does not answer the report's query {name!r} ({reason}): load the run again with this version"
        ) from error
    return Result(name, sql, columns, rows)
