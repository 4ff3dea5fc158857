"""Latency step by step, in the clean pass; the profiled pass stands apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import charts
from reports import format as fmt
from reports.figure import Figure
from reports.queries import Result, Row
from reports.tables import Column, Table, number, word

_PLAIN_CALLS = ("prefill", "decode")


@dataclass(frozen=True)
class Steps:
    """The clean chart, the profiled one where there is one, outliers in words, and all numbers."""

    clean: Figure | None
    profiled: Figure | None
    outliers: tuple[str, ...]
    band: str
    summary: Table
    table: Table
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result]) -> Steps | None:
    """None where there is no clean pass."""
    steps = results["steps"]
    if not steps:
        return None
    outliers = {row["step"]: row for row in results["outliers"]}
    decode = [row for row in steps if row["phase"] == "decode"]
    axis = _axis(decode)
    profiled = [row for row in decode if row["profiled_ns"] is not None]
    repeats = max((row["repeats"] for row in steps), default=0)
    return Steps(
        clean=charts.step_latency([_clean(row, row["step"] in outliers) for row in decode], axis) if decode else None,
        profiled=charts.profiled_steps([_profiled(row) for row in profiled], axis) if profiled else None,
        outliers=tuple(
            f"step {fmt.count(row['step'])}: {fmt.duration(row['median_ns'])},"
            f" {fmt.significant(row['times_the_median'])} times the median"
            for row in outliers.values()
        ),
        band=(
            f"Line: median of {fmt.count(repeats)} repeats; band: 5th to 95th percentile;"
            " the axis need not begin at zero"
            if repeats > 1
            else "One repeat, so there is no band; the axis need not begin at zero"
        ),
        summary=_summary(results["latency"]),
        table=_table(steps, results["steps"]),
        sql=(results["steps"], results["outliers"]),
    )


def _axis(decode: list[Row]) -> str:
    cached = [row["cached_tokens"] for row in decode if row["cached_tokens"] is not None]
    if not cached:
        return "decode step"
    return f"decode step ({fmt.count(min(cached))} to {fmt.count(max(cached))} cached tokens)"


def _clean(row: Row, outlier: bool) -> Row:
    unit = fmt.time_unit([row["median_ns"]])
    return {
        "step": row["step"],
        "median_ms": row["median_ns"] / 1e6,
        "p5_ms": row["p5_ns"] / 1e6,
        "p95_ms": row["p95_ns"] / 1e6,
        "outlier": outlier,
        "step_name": f"step {row['step']}",
        "median": fmt.duration(row["median_ns"]),
        "range": f"{fmt.significant(row['p5_ns'] / unit[1])} to {fmt.duration(row['p95_ns'], unit)}",
        "cached": fmt.count(row["cached_tokens"]),
    }


def _profiled(row: Row) -> Row:
    return {"step": row["step"], "profiled_ms": row["profiled_ns"] / 1e6, "profiled": fmt.duration(row["profiled_ns"])}


def _summary(latency: Result) -> Table:
    rows = tuple(
        (
            word(row["phase"]),
            number(row["calls"], fmt.count(row["calls"])),
            *(
                number(row[key], fmt.milliseconds(row[key]))
                for key in ("median_ns", "p5_ns", "p95_ns", "min_ns", "max_ns")
            ),
            number(row["tokens_per_second"], fmt.significant(row["tokens_per_second"])),
        )
        for row in latency
    )
    columns = (
        Column("phase"),
        Column("calls", "", True),
        Column("median", "ms", True),
        Column("p5", "ms", True),
        Column("p95", "ms", True),
        Column("least", "ms", True),
        Column("most", "ms", True),
        Column("tokens/s", "", True),
    )
    return Table(
        "latency-table",
        "Clean latencies, over all repeats and steps. These are the ones to quote.",
        columns,
        rows,
        (latency,),
    )


def _table(steps: Result, sql: Result) -> Table:
    with_profiled = any(row["profiled_ns"] is not None for row in steps)
    rows = tuple(
        (
            word(f"{row['phase']} {row['step']}"),
            number(row["cached_tokens"], fmt.count(row["cached_tokens"])),
            *(number(row[key], fmt.milliseconds(row[key])) for key in ("median_ns", "p5_ns", "p95_ns")),
            *((number(row["profiled_ns"], fmt.milliseconds(row["profiled_ns"])),) if with_profiled else ()),
        )
        for row in steps
    )
    columns = (
        Column("step"),
        Column("cached tokens", "", True),
        *(Column(head, "ms", True, "clean, to quote", "decode") for head in ("median", "p5", "p95")),
        *((Column("median", "ms", True, "profiled, only to explain", "host"),) if with_profiled else ()),
    )
    return Table("steps-table", "Every step, over the repeats.", columns, rows, (sql,), first=12)
