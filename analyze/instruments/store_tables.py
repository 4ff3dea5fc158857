"""Arrow columns for the store's tables, from the SQL that makes the tables, so that the two cannot differ."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

_SQL = Path(__file__).parent.parent / "sql"
_TYPES = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "UBIGINT": pa.uint64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
}
BATCH_ROWS = 32_768

Sink = Callable[[str, pa.RecordBatch], None]


@cache
def store_schema(table: str) -> pa.Schema:
    """The columns of a store table without run_id, in their order; NOT NULL ones are not nullable."""
    for path in (_SQL / "schema_instruments.sql", _SQL / "schema.sql"):
        found = re.search(rf"CREATE TABLE {table} \((.*?)\n\);", path.read_text(encoding="utf-8"), re.DOTALL)
        if found:
            columns = re.findall(r"(\w+) ([A-Z]+)( NOT NULL)?(?:,|$)", found[1].strip())
            return pa.schema(
                [pa.field(name, _TYPES[kind], not required) for name, kind, required in columns if name != "run_id"]
            )
    raise KeyError(table)


class Collector:
    """Gathers columns for several store tables and hands them on as record batches of some ten thousand rows."""

    def __init__(self, sink: Sink, constants: dict[str, Any]) -> None:
        self._sink = sink
        self._constants = constants
        self._pending: dict[str, dict[str, list[Any]]] = {}
        self._rows: dict[str, int] = {}

    def add(self, table: str, rows: int, columns: dict[str, list[Any]]) -> None:
        """Add rows. Columns that are not given are NULL, or one of the constants."""
        if not rows:
            return
        pending = self._pending.setdefault(table, {field.name: [] for field in store_schema(table)})
        for name, values in pending.items():
            given = columns.get(name)
            values.extend([self._constants.get(name)] * rows if given is None else given)
        self._rows[table] = self._rows.get(table, 0) + rows
        if self._rows[table] >= BATCH_ROWS:
            self._flush(table)

    def finish(self) -> None:
        """Hand on what is left."""
        for table in list(self._pending):
            self._flush(table)

    def _flush(self, table: str) -> None:
        if self._rows.pop(table, 0):
            self._sink(table, pa.RecordBatch.from_pydict(self._pending.pop(table), schema=store_schema(table)))
