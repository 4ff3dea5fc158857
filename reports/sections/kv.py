"""The KV cache: bytes measured in the cache object against bytes computed from the architecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from reports import charts, palette
from reports import format as fmt
from reports.figure import Figure
from reports.queries import Result, Row
from reports.sections.names import Names
from reports.tables import Column, Table, number, word

_SIGNS = {"equal": "✓ equal", "differs": "✗ differs", "not established": "○ not established"}


@dataclass(frozen=True)
class KvCache:
    """Growth, difference, the finding in words and the formula."""

    growth: Figure
    difference: Figure | None
    finding: str
    verdict: str
    formula: str | None
    table: Table
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result], names: Names) -> KvCache | None:
    """None where the cache was never sampled."""
    rows = [row for row in results["kv"] if row["measured_bytes"] is not None]
    if not rows:
        return None
    unit = fmt.byte_unit([row["measured_bytes"] for row in rows])
    placed = [row for row in rows if row["cached_tokens"] is not None]
    compared = [row for row in placed if row["difference_bytes"] is not None]
    verdict, finding = _finding(rows)
    return KvCache(
        growth=charts.kv_growth([_point(row, unit) for row in placed], unit[0]),
        difference=charts.kv_difference([_difference(row) for row in compared]) if compared else None,
        finding=finding,
        verdict=verdict,
        formula=names(results["kv_formula"].one()["reason"]),
        table=_table(rows, results["kv"]),
        sql=(results["kv"], results["kv_formula"]),
    )


def _finding(rows: list[Row]) -> tuple[str, str]:
    verdicts = Counter(row["verdict"] for row in rows)
    points = fmt.plural(len(rows), "measured point")
    if verdicts["differs"]:
        largest = max((abs(row["difference_bytes"]) for row in rows if row["difference_bytes"] is not None), default=0)
        return (
            "differs",
            f"{fmt.count(verdicts['differs'])} of {points} differ from the computed bytes,"
            f" by up to {fmt.size(largest)}.",
        )
    if verdicts["not established"]:
        return (
            "not established",
            f"For {fmt.count(verdicts['not established'])} of {points} there are no computed bytes to compare.",
        )
    return "equal", f"Every one of {points} equals the computed bytes, to the byte."


def _point(row: Row, unit: tuple[str, int]) -> Row:
    return {
        "cached_tokens": row["cached_tokens"],
        "measured": row["measured_bytes"] / unit[1],
        "computed": None if row["computed_bytes"] is None else row["computed_bytes"] / unit[1],
        "colour": palette.of_phase(row["phase"]),
        "measured_text": f"{fmt.count(row['measured_bytes'])} bytes",
        "computed_text": f"{fmt.count(row['computed_bytes'])} bytes",
        "difference_text": f"{fmt.count(row['difference_bytes'])} bytes",
    }


def _difference(row: Row) -> Row:
    return {
        "cached_tokens": row["cached_tokens"],
        "difference": row["difference_bytes"],
        "difference_text": f"{fmt.count(row['difference_bytes'])} bytes",
        "colour": palette.of_phase(row["phase"]),
    }


def _table(rows: list[Row], sql: Result) -> Table:
    cells = tuple(
        (
            word(f"{row['phase']} {row['step']}"),
            *(
                number(row[key], fmt.count(row[key]))
                for key in ("cached_tokens", "measured_bytes", "computed_bytes", "difference_bytes")
            ),
            word(_SIGNS.get(row["verdict"], row["verdict"])),
        )
        for row in rows
    )
    columns = (
        Column("after"),
        Column("cached tokens", "", True, how="phases.cached_tokens"),
        Column("in the cache", "bytes", True, how="kv_check.measured_bytes"),
        Column("computed", "bytes", True, how="kv_check.computed_bytes"),
        Column("difference", "bytes", True, how="derived"),
        Column("verdict"),
    )
    return Table("kv-table", "Bytes in the KV cache after each call.", columns, cells, (sql,), first=12)
