"""The host's part: CPU of one core, operators and launches a token."""

from __future__ import annotations

from collections.abc import Mapping

from reports import format as fmt
from reports.queries import Result
from reports.tables import Cell, Column, Table, number, shares, word

_KEYS = (
    ("clean_cpu_percent", "clean", "% of one core", "CPU"),
    ("traced_cpu_percent", "profiled", "% of one core", "CPU"),
    ("operators_per_token", "operators", "", "for each token"),
    ("launches_per_token", "launches", "", "for each token"),
    ("operators_per_call", "operators", "", "for each call"),
    ("launches_per_call", "launches", "", "for each call"),
    ("kernels_per_call", "device rows", "", "for each call"),
)

_OF_DEVICE = {"launches_per_token", "launches_per_call", "kernels_per_call"}


def build(results: Mapping[str, Result]) -> Table | None:
    """None where nothing of it is known; a column that no phase has is left out."""
    host = results["host"]
    kept = [
        key
        for key in _KEYS
        # launches of a run that never launched anything say nothing
        if any(row[key[0]] if key[0] in _OF_DEVICE else row[key[0]] is not None for row in host)
    ]
    if not kept:
        return None
    rows: list[list[Cell]] = [[word(row["phase"])] for row in host]
    for key, *_ in kept:
        values = [row[key] for row in host]
        bars = shares(values) if len(rows) > 1 else [None]  # a single bar would compare with itself
        for row, cells, bar in zip(host, rows, bars, strict=True):
            shown = fmt.significant(row[key]) if key.endswith("percent") else fmt.rate(row[key])
            cells.append(number(row[key], shown, bar, row["phase"]))
    columns = (Column("phase"), *(Column(head, unit, True, group, how="derived") for _, head, unit, group in kept))
    says = {
        "% of one core": "CPU time of the whole process as per cent of one core: 200 % are two cores at work.",
        "": "How many operators and launches a call costs, and each token of it.",
    }
    return Table(
        "host-table",
        " ".join(text for unit, text in says.items() if any(key[2] == unit for key in kept)),
        columns,
        tuple(tuple(cells) for cells in rows),
        (host,),
    )
