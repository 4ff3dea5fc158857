"""A store in memory and rows for it: tests name only the columns that matter to them."""

from __future__ import annotations

from typing import Any

import duckdb

from analyze import attribution, derived, phases
from analyze.grammars import Grammar, builtin_grammar
from analyze.sql_text import sql_text

RUN, PASS = "run", "trace"
VIEWS = (
    "clean_cpu", "own_device_rows", "coverage", "kv_check", "launches", "memory_timeline", "op_summary", "step_latency"
)  # fmt: skip
_KEYS = {"run_id": RUN, "pass": PASS, "rank": 0}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "ops": {"depth": 0, "thread_id": 1, "layer": "operator", "category": "cpu_op"},
    "kernels": {"name": "kernel", "kind": "kernel", "device": "0", "stream": "7", "attributed_by": "unattributed"},
    "phases": {"repeat": 0, "source": "annotation"},
    "flows": {"category": "ac2g"},
    "threads": {"pid": "10", "tid": "10"},
    "samples": {"pass": "profiled", "repeat": 0},
    "kv_expected": {},
    "runs": {
        "source": "x", "source_kind": "bundle", "source_sha256": "0", "ranks": 1, "loaded_unix_ns": 0,
        "phasescope_version": "0", "raw_events": 0, "loaded_events": 0, "excluded_events": 0,
    },
}  # fmt: skip


class Store:
    """An empty store. `ops`, `kernels`, ... insert rows; ids count up from 0 where none is given."""

    def __init__(self, *, views: bool = False) -> None:
        self.con = duckdb.connect()
        schemas = ("schema_instruments.sql", "schema_reference.sql", "schema_derived.sql")
        later = (*schemas, *(f"views/{view}.sql" for view in VIEWS))
        for name in ("schema.sql", *(later if views else ())):
            lines = sql_text(name).splitlines()
            self.con.execute("\n".join(line for line in lines if not line.startswith("COMMENT ON")))
        self._ids = 0
        self._derives = views

    def add(self, table: str, **values: Any) -> int:
        """Insert a row; answers its id (op_id or kernel_id)."""
        columns = [row[0] for row in self.con.execute(f"SELECT column_name FROM (DESCRIBE {table})").fetchall()]
        row = {name: value for name, value in _KEYS.items() if name in columns} | _DEFAULTS.get(table, {}) | values
        number = self._ids
        if table in ("ops", "kernels"):
            row.setdefault("op_id" if table == "ops" else "kernel_id", number)
            self._ids += 1
        if table == "ops":
            row.setdefault("self_ns", row["dur_ns"])
        names = ", ".join(row)
        marks = ", ".join("?" for _ in row)
        self.con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
        return number

    def op(self, name: str, start: int, dur: int, **values: Any) -> int:
        """A host slice; `call` makes a runtime call, `mark` an annotation."""
        return self.add("ops", name=name, start_ns=start, dur_ns=dur, **values)

    def call(self, name: str, start: int, dur: int, correlation: int | None = None, **values: Any) -> int:
        values = {"category": "cuda_runtime"} | values
        return self.op(name, start, dur, correlation_id=correlation, **values)

    def mark(self, name: str, start: int, dur: int, **values: Any) -> int:
        return self.op(name, start, dur, layer="annotation", category="user_annotation", **values)

    def kernel(self, start: int, dur: int, correlation: int | None = None, **values: Any) -> int:
        return self.add("kernels", start_ns=start, dur_ns=dur, correlation_id=correlation, **values)

    def analyse(self, grammar: Grammar | None = None) -> None:
        """Recognise phases and attribute, as loading does."""
        phases.recognise(self.con, RUN, PASS, grammar or builtin_grammar())
        attribution.attribute(self.con, RUN, PASS)

    def derive(self) -> None:
        """Make the derived tables from the rows that are there now, as loading does at its end."""
        if self._derives:
            derived.derive(self.con, RUN)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.derive()
        return self.con.execute(sql).fetchall()

    def notes(self) -> dict[str, int]:
        """Reasons in `quality` with their counts."""
        return dict(self.con.execute("SELECT reason, events FROM quality WHERE kind = 'note'").fetchall())
