"""Latency step by step, in the clean pass; the profiled pass stands apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import charts
from reports import format as fmt
from reports.figure import Figure
from reports.queries import Result, Row
from reports.sections import trend
from reports.sections.names import Names
from reports.tables import Column, Table, number, word


@dataclass(frozen=True)
class Steps:
    """The clean chart, the profiled one and what it cost, how steps change over time, outliers, and all numbers."""

    clean: Figure | None
    profiled: Figure | None
    overhead: Table | None
    band: str
    trend: str | None
    outliers: Table | None
    summary: Table
    table: Table
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result], names: Names) -> Steps | None:
    """None where there is no clean pass."""
    steps = results["steps"]
    if not steps:
        return None
    # a single repeat that is off moves the band; a step that is off in most of them moves its median too
    ringed = {row["step"] for row in results["outliers"] if 2 * row["in_repeats"] > row["repeats"]}
    decode = [row for row in steps if row["phase"] == "decode"]
    axis = _axis(decode)
    line = trend.line(results["decode_trend"].one() if results["decode_trend"] else None, decode)
    profiled = [row for row in decode if row["profiled_ns"] is not None]
    repeats = max((row["repeats"] for row in steps), default=0)
    return Steps(
        clean=charts.step_latency([_clean(row, row["step"] in ringed) for row in decode], axis, line)
        if decode
        else None,
        profiled=charts.profiled_steps([_profiled(row) for row in profiled], axis) if profiled else None,
        overhead=_overhead(results["profiler_cost"]),
        band=(
            f"Line: median of {fmt.count(repeats)} repeats; band: 5th to 95th percentile"
            if repeats > 1
            else "One repeat, so there is no band"
        )
        + "; all derived from measured times. The axis need not begin at zero",
        trend=trend.sentence(results["decode_trend"]),
        outliers=trend.outliers(results["outliers"], len(decode) * repeats, names),
        summary=_summary(results["latency"]),
        table=_table(steps, results["steps"]),
        sql=(results["steps"], results["decode_trend"]),
    )


def _overhead(cost: Result) -> Table | None:
    if not cost:
        return None
    rows = tuple(
        (
            word(row["phase"]),
            number(row["clean_ns"], fmt.milliseconds(row["clean_ns"])),
            number(row["profiled_ns"], fmt.milliseconds(row["profiled_ns"])),
            number(row["ratio"], f"×{fmt.THIN}{fmt.significant(row['ratio'])}"),
            number(row["least_ratio"], " to ".join(fmt.significant(row[key]) for key in ("least_ratio", "most_ratio"))),
        )
        for row in cost
    )
    columns = (
        Column("phase"),
        Column("clean", "ms", True, how="derived"),
        Column("profiled", "ms", True, how="derived"),
        Column("profiled over clean", "", True, how="derived"),
        Column("against slowest and fastest repeat", "", True, how="derived"),
    )
    note = ""
    if any(row["ratio"] < 0.95 for row in cost):
        note = "A ratio under 1: the machine was busier while the clean pass ran, so the profiler's cost is not known."
    caption = "What the profiler costs: the median call with it over the median call without."
    return Table("overhead-table", caption, columns, rows, (cost,), note=note)


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
        Column("calls", "", True, how="derived"),
        Column("median", "ms", True, how="step_latency.median_ns"),
        Column("p5", "ms", True, how="step_latency.p5_ns"),
        Column("p95", "ms", True, how="step_latency.p95_ns"),
        Column("least", "ms", True, how="step_latency.min_ns"),
        Column("most", "ms", True, how="step_latency.max_ns"),
        Column("tokens/s", "", True, how="derived"),
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
        Column("cached tokens", "", True, how="phases.cached_tokens"),
        *(
            Column(head, "ms", True, "clean, to quote", "decode", f"step_latency.{head}_ns")
            for head in ("median", "p5", "p95")
        ),
        *(
            (Column("median", "ms", True, "profiled, only to explain", "host", "step_latency.profiled_ns"),)
            if with_profiled
            else ()
        ),
    )
    return Table("steps-table", "Every step, over the repeats.", columns, rows, (sql,), first=12)
