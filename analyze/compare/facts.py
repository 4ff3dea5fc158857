"""What a comparison needs to know of one run: rows of the queries in `sql/compare/`, read once."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb

from analyze.errors import PhasescopeError
from analyze.sql_text import sql_text

Row = dict[str, Any]

OF_RUN = (
    "run", "trace_facts", "passes", "repeats", "clean_cpu", "steps", "parts", "thermal", "memory", "kv", "claims",
    "quality",
)  # fmt: skip
OF_PASS = ("operators", "device_operators", "kernels", "device_total", "calls", "delays", "products")


@dataclass(frozen=True)
class RunFacts:
    """Rows by query name. `traced_pass` is the pass whose operators and kernels are compared; None without one."""

    run_id: str
    rows: dict[str, list[Row]]
    traced_pass: str | None = None
    sql: dict[str, str] = field(default_factory=dict)

    @property
    def run(self) -> Row:
        """The run's own row."""
        return self.rows["run"][0]

    @property
    def name(self) -> str:
        """The label, else what it was loaded from."""
        return str(self.run["label"] or self.run["source"] or self.run_id)

    @property
    def software(self) -> dict[str, str]:
        """Package or library to version, as far as the run tells."""
        found = {row["key"]: row["value"] for row in self.rows["trace_facts"] if row["kind"] == "software"}
        found |= json.loads(self.run["software"]) if self.run["software"] else {}
        if self.run["capture_version"]:
            found["phasescope"] = self.run["capture_version"]
        return {key: value for key, value in found.items() if value}

    @property
    def told_workload(self) -> dict[str, str]:
        """What a trace of another tool tells of its workload, in the words of the program that wrote it."""
        return {row["key"]: row["value"] for row in self.rows["trace_facts"] if row["kind"] == "workload"}

    def pass_row(self, name: str) -> Row | None:
        """The row of a pass; None where the run has no such pass."""
        return next((row for row in self.rows["passes"] if row["pass"] == name), None)

    def digest(self, what: str) -> str | None:
        """sha256 of the prompt's or the generated tokens (`prompt_sha256`, `generated_sha256`) of the clean pass."""
        row = self.pass_row("clean") or {}
        return row.get(what)

    @property
    def cpu_threads(self) -> int | None:
        """Threads that PyTorch used on the CPU in the clean pass."""
        return (self.pass_row("clean") or {}).get("cpu_threads")

    @property
    def parts(self) -> dict[str, Row]:
        """The mean call of each phase in the traced pass, by phase."""
        return {row["phase"]: row for row in self.rows["parts"] if row["pass"] == self.traced_pass}

    @property
    def products(self) -> tuple[tuple[str, str, int], ...] | None:
        """Matrix products with weights by shape and number; None where no shapes were recorded."""
        return tuple((r["name"], r["shapes"], r["calls"]) for r in self.rows["products"]) or None

    def per_repeat(self, phase: str, column: str) -> list[float]:
        """A number of each repeat of the clean pass, in order."""
        return [
            float(r[column]) for r in self.rows["repeats"] if r["phase"] == phase and r[column] is not None
        ]  # fmt: skip

    def generations(self) -> list[float]:
        """Time of each whole clean generation in ns: those repeats that have a prefill."""
        whole: dict[int, float] = defaultdict(float)
        for row in self.rows["repeats"]:
            whole[row["repeat"]] += row["sum_ns"]
        begun = {row["repeat"] for row in self.rows["repeats"] if row["phase"] == "prefill"}
        return [whole[repeat] for repeat in sorted(begun)]

    @property
    def phases(self) -> list[str]:
        """Phases of the clean pass: prefill, decode, then others by name."""
        return list(dict.fromkeys(row["phase"] for row in self.rows["repeats"]))


def read_facts(con: duckdb.DuckDBPyConnection, run_id: str) -> RunFacts:
    """Everything of a run that is compared. Raises PhasescopeError where the store does not answer."""
    rows: dict[str, list[Row]] = {}
    sql: dict[str, str] = {}
    for name in OF_RUN:
        rows[name], sql[name] = _ask(con, name, run_id=run_id)
    traced = _traced_pass(rows)
    for name in OF_PASS:
        if traced is None:
            rows[name] = []
        else:
            rows[name], sql[name] = _ask(con, name, **{"run_id": run_id, "pass": traced})
    return RunFacts(run_id, rows, traced, sql)


def _traced_pass(rows: dict[str, list[Row]]) -> str | None:
    known = [row["pass"] for row in rows["parts"]]
    for wanted in ("profiled", "trace", "metal"):
        if wanted in known:
            return wanted
    return known[0] if known else None


@cache
def _text(name: str) -> str:
    return sql_text(f"compare/{name}.sql").strip()


def _ask(con: duckdb.DuckDBPyConnection, name: str, **values: str) -> tuple[list[Row], str]:
    text = _text(name)
    try:
        cursor = con.execute(text, values)
        columns = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise PhasescopeError(
            f"the store does not answer the comparison's query {name!r} ({reason}): load the run again with this "
            "version"
        ) from error
    for key, value in values.items():
        text = text.replace(f"${key}", "'" + value.replace("'", "''") + "'")
    return rows, text
