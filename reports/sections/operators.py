"""Operators and kernels, phases side by side."""

from __future__ import annotations

from collections.abc import Mapping

from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.names import Names
from reports.tables import Cell, Column, Table, number, word

MOST_ROWS = 400
_WORTH_COLUMNS = 0.01  # share of the time outside every phase from which on it gets columns of its own
_ORDER = ("prefill", "decode", "mixed", "draft", "unknown")


def build_operators(results: Mapping[str, Result], names: Names) -> Table | None:
    """Operators by self time; None where none were recorded."""
    return _pivot(
        results["operators"],
        names,
        value="self_ns",
        head="self time",
        table_id="operators-table",
        caption="Operators by self time: time in them and in nothing they called, over all repeats of the traced pass.",
    )


def build_kernels(results: Mapping[str, Result], names: Names) -> Table | None:
    """Device rows by busy time, with the process where several share the device; None where there are none."""
    shared = any(row["process"] for row in results["kernels"])
    return _pivot(
        results["kernels"],
        names,
        value="busy_ns",
        head="busy time",
        table_id="kernels-table",
        extra=("kind", "process") if shared else ("kind",),
        caption="Kernels and copies by busy time: the union of their intervals, so overlapping work counts once.",
    )


def _pivot(
    result: Result, names: Names, *, value: str, head: str, table_id: str, caption: str, extra: tuple[str, ...] = ()
) -> Table | None:
    if not result:
        return None
    present = {row["phase"] for row in result}
    phases = [*(phase for phase in _ORDER if phase in present), *sorted(present - {*_ORDER, "outside"})]
    totals = {phase: sum(row[value] for row in result if row["phase"] == phase) for phase in [*phases, "outside"]}
    note = ""
    if totals["outside"] > _WORTH_COLUMNS * sum(totals.values()) or not phases:
        phases.append("outside")
    elif "outside" in present:
        note = f"Outside every phase: {fmt.duration(totals['outside'])} more, not shown."
    merged: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in result:
        if row["phase"] not in phases:
            continue
        merged.setdefault((row["name"], *(row[key] or "" for key in extra)), {})[row["phase"]] = row
    ordered = sorted(merged.items(), key=lambda item: (-sum(row[value] for row in item[1].values()), item[0]))
    rows = tuple(
        (
            *(word(names(text)) for text in what),
            *(cell for phase in phases for cell in _cells(by_phase.get(phase), phase, value, totals[phase])),
        )
        for what, by_phase in ordered[:MOST_ROWS]
    )
    columns = [Column("name"), *(Column(key) for key in extra)]
    for phase in phases:
        group = f"{phase} phases" if phase == "outside" else phase
        columns += [
            Column("calls", "", True, group, phase, how="derived"),
            Column(head, "ms", True, group, phase, how="derived"),
            Column("share", "%", True, group, phase, how="derived"),
        ]
    rest = ordered[MOST_ROWS:]
    if rest:
        total = sum(row[value] for _, by_phase in rest for row in by_phase.values())
        more = fmt.plural(len(rest), "name")
        note += f" {more} more, {fmt.duration(total)} in all, are in the store only: the SQL lists them."
    return Table(
        table_id, caption, tuple(columns), rows, (result,), sortable=True, searchable=len(rows) > 8, first=15, note=note
    )


def _cells(row: Row | None, phase: str, value: str, total: int) -> tuple[Cell, ...]:
    if row is None:
        return (Cell(fmt.MISSING, -1), Cell(fmt.MISSING, -1), Cell(fmt.MISSING, -1))
    share = row[value] / total if total else None
    return (
        number(row["calls"], fmt.count(row["calls"])),
        number(row[value], fmt.milliseconds(row[value])),
        number(share, fmt.percent(share), share, phase),
    )
