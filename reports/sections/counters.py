"""Hardware counters of memory and arithmetic, phase by phase, where a pass recorded them."""

from __future__ import annotations

from collections.abc import Mapping

from reports import format as fmt
from reports.queries import Result
from reports.sections.names import Names
from reports.tables import Column, Table, number, word


def build(results: Mapping[str, Result], names: Names) -> Table | None:
    """None where there are none."""
    counters = results["phase_counters"]
    if not counters:
        return None
    rows = tuple(
        (
            word(names(row["track"])),
            word(row["phase"]),
            word({"memory": "memory", "compute": "arithmetic"}.get(row["resource"], row["resource"])),
            number(row["mean_percent"], fmt.significant(row["mean_percent"]), row["mean_percent"] / 100, row["phase"]),
            number(row["p95_percent"], fmt.significant(row["p95_percent"])),
            number(row["samples"], fmt.count(row["samples"])),
        )
        for row in counters
    )
    columns = (
        Column("counter"),
        Column("phase"),
        Column("tells of"),
        Column("mean", "% of peak", True, how="phase_counters.mean_percent"),
        Column("p95", "% of peak", True, how="phase_counters.p95_percent"),
        Column("samples", "", True, how="phase_counters.samples"),
    )
    return Table("counters-table", "What hardware counters say of each phase.", columns, rows, (counters,), first=12)
