"""Whether to trust the tables: every raw event accounted for, repairs counted, attribution covered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result
from reports.sections.names import Names
from reports.tables import Column, Table, number, word

_STATUS = {
    "measured": "✓ measured",
    "unsupported": "– unsupported",
    "empty": "○ empty",
    "refused": "✗ refused",
    "failed": "✗ failed",
    "not_attempted": "○ not attempted",
}


@dataclass(frozen=True)
class Quality:
    """Events in the source, in the store and left out; a banner when something was left out or mended."""

    raw: str
    loaded: str
    excluded: str
    banner: str | None
    reasons: Table | None
    passes: Table
    coverage: Table | None
    engine: str
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result], names: Names) -> Quality:
    """Always there: a run without events says so."""
    run = results["run"].one()
    engine = " ".join(part for part in (run["trace_engine"], run["trace_engine_version"]) if part)
    return Quality(
        raw=fmt.count(run["raw_events"]),
        loaded=fmt.count(run["loaded_events"]),
        excluded=fmt.count(run["excluded_events"]),
        banner=_banner(results),
        reasons=_reasons(results["quality"], names),
        passes=_passes(results["passes"], names),
        coverage=_coverage(results["coverage"]),
        engine=engine or "none: no trace was loaded",
        sql=(results["run"],),
    )


def _banner(results: Mapping[str, Result]) -> str | None:
    run = results["run"].one()
    parts = []
    if run["excluded_events"]:
        share = fmt.percent(run["excluded_events"] / run["raw_events"])
        parts.append(
            f"{fmt.plural(run['excluded_events'], 'event')} of {fmt.count(run['raw_events'])} ({share}) left out"
        )
    repairs = [row for row in results["quality"] if row["kind"] == "repaired"]
    if repairs:
        repaired = sum(row["events"] or 0 for row in repairs)
        parts.append(f"{fmt.plural(repaired, 'event')} repaired" if repaired else "the source was repaired")
    return " and ".join(parts) or None


def _reasons(quality: Result, names: Names) -> Table | None:
    if not quality:
        return None
    rows = tuple(
        (
            word(row["kind"]),
            word(names(row["reason"])),
            number(row["events"], fmt.count(row["events"])),
            word(names(row["detail"])),
        )
        for row in quality
    )
    columns = (
        Column("kind"),
        Column("reason"),
        Column("events", "", True, how="quality.events"),
        Column("where, or why"),
    )
    return Table("quality-table", "What was left out, repaired, or must be known.", columns, rows, (quality,), first=20)


def _passes(passes: Result, names: Names) -> Table:
    rows = tuple(
        (word(row["pass"]), word(_STATUS.get(row["status"], row["status"])), word(names(row["reason"])))
        for row in passes
    )
    columns = (Column("pass"), Column("status"), Column("reason"))
    return Table("passes-table", "What was captured, and what was not.", columns, rows, (passes,))


def _coverage(coverage: Result) -> Table | None:
    if not coverage:
        return None
    rows = tuple(
        (
            word(row["pass"]),
            word(row["attributed_by"]),
            number(row["kernels"], fmt.count(row["kernels"])),
            number(row["device_ns"], fmt.milliseconds(row["device_ns"])),
            number(row["share"], fmt.percent(row["share"]), row["share"], "device"),
        )
        for row in coverage
    )
    columns = (
        Column("pass"),
        Column("attributed by"),
        Column("device rows", "", True, how="coverage.kernels"),
        Column("device time", "ms", True, how="coverage.device_ns"),
        Column("share", "%", True, how="coverage.share"),
    )
    return Table(
        "coverage-table", "How device work was given to the phase that launched it.", columns, rows, (coverage,)
    )
