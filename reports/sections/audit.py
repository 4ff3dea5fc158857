"""The per-token audit: whether every step ran the same operators and kernels, and what was extra or missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.budget import main_pass
from reports.sections.names import Names
from reports.tables import Column, Table, number, word

_SHOWN = 8


@dataclass(frozen=True)
class Audit:
    """A sentence a phase, and the steps that differ."""

    sentences: tuple[str, ...]
    others: Table | None
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result], names: Names) -> Audit | None:
    """None where no phase occurs twice with its operators recorded."""
    chosen = main_pass(results)
    rows = [row for row in results["step_audit"] if row["pass"] == chosen]
    if not rows:
        return None
    phases = list(dict.fromkeys(row["phase"] for row in rows))
    sentences = [_sentence(phase, [row for row in rows if row["phase"] == phase]) for phase in phases]
    others = [row for row in rows if row["verdict"] != "as most"]
    table = _others(others, results["step_audit"], names, any(row["repeat"] for row in rows)) if others else None
    return Audit(tuple(sentences), table, (results["step_audit"],))


def _sentence(phase: str, rows: list[Row]) -> str:
    calls = "decode steps" if phase == "decode" else f"{phase} calls"
    alike = [row for row in rows if row["verdict"] == "as most"]
    if not alike or any(row["verdict"] == "no majority" for row in rows):
        return f"No set of operators is that of more than half of the {fmt.count(len(rows))} {calls}."
    row = alike[0]
    ran = fmt.plural(row["operators"], "operator")
    if row["device_rows"]:
        ran += f" and {fmt.plural(row['device_rows'], 'device row')}"
    who = f"All {fmt.count(len(rows))} {calls}"
    if len(alike) < len(rows):
        who = f"{fmt.count(len(alike))} of {fmt.count(len(rows))} {calls}"
    text = f"{who} ran the same {ran}."
    if row["graph_launches"]:
        text += (
            f" {fmt.plural(row['graph_launches'], 'launch', 'launches')} in each replay a graph:"
            " the host does nothing between its kernels, and no idle is claimed inside it."
        )
    return text


def _others(rows: list[Row], result: Result, names: Names, repeats: bool) -> Table:
    cells = tuple(
        (
            word(f"{row['phase']} {row['step']}" + (f", repeat {row['repeat'] + 1}" if repeats else "")),
            number(row["operators"], fmt.count(row["operators"])),
            number(row["device_rows"], fmt.count(row["device_rows"])),
            word(names(row["extra"])),
            word(names(row["missing"])),
        )
        for row in rows
    )
    columns = (
        Column("step"),
        Column("operators", "", True, how="step_audit.operators"),
        Column("device rows", "", True, how="step_audit.device_rows"),
        Column("extra"),
        Column("missing"),
    )
    return Table(
        "audit-table", "Steps that ran something else, against the commonest.", columns, cells, (result,), first=_SHOWN
    )
