"""Memory as several things, each with its own axis: storage of the cache, tensors, the driver's pool, the process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import charts, palette
from reports import format as fmt
from reports.figure import Figure
from reports.queries import Result, Row
from reports.sections.timeline import label_of
from reports.tables import Column, Table, number, word


@dataclass(frozen=True)
class _Concept:
    counter: str
    title: str
    meaning: str
    colour: str


_CONCEPTS = (
    _Concept("kv_cache", "KV storage", "unique storages reachable in the cache object", palette.PHASES["decode"]),
    _Concept("tensor", "Tensor allocations", "bytes in tensors that the device's allocator counts", palette.DEVICE),
    _Concept(
        "driver",
        "Driver or reserved pool",
        "what the driver holds for the process, free blocks included",
        palette.DEVICE,
    ),
    _Concept(
        "resident", "Resident set", "pages of the whole process in RAM, code and libraries included", palette.HOST
    ),
    _Concept("footprint", "Physical footprint", "what macOS charges to the process", palette.HOST),
)


@dataclass(frozen=True)
class Panel:
    """One counter: its chart, or why there is none."""

    title: str
    meaning: str
    summary: str
    figure: Figure | None


@dataclass(frozen=True)
class Memory:
    """A panel a concept, and the numbers of all."""

    panels: tuple[Panel, ...]
    table: Table
    sql: tuple[Result, ...]


def build(results: Mapping[str, Result]) -> Memory | None:
    """None where nothing was sampled."""
    memory = results["memory"]
    if not memory:
        return None
    pass_name = next((row["pass"] for row in memory if row["pass"] == "profiled"), memory.rows[0]["pass"])
    by_counter: dict[str, list[Row]] = {}
    for row in memory:
        if row["available"] and row["pass"] == pass_name:
            by_counter.setdefault(row["counter"], []).append(row)
    limit = by_counter.get("recommended_max", [{}])[0].get("bytes")
    device = results["run"].one()["device"]
    panels = [_panel(concept, by_counter.get(concept.counter, []), limit, device) for concept in _CONCEPTS]
    kept = [panel for panel in panels if panel.figure or panel.title != "Physical footprint" or device == "mps"]
    return Memory(tuple(kept), _table(by_counter, memory), (memory,))


def _edge(row: Row) -> int:
    return -1 if row["phase"] == "before_prefill" else row["step"]


def _where(row: Row) -> str:
    if row["phase"] == "before_prefill":
        return "before prefill"
    return "after " + label_of("prefill" if row["phase"] == "after_prefill" else "decode", row["step"])


def _panel(concept: _Concept, rows: list[Row], limit: int | None, device: str | None) -> Panel:
    if not rows:
        why = "not available"
        if concept.counter in ("tensor", "driver") and device == "cpu":
            why = "not available: on the CPU no allocator of a device counts"
        return Panel(concept.title, concept.meaning, why, None)
    unit = fmt.byte_unit([row["bytes"] for row in rows])
    points = [
        {
            "edge": _edge(row),
            "repeat": row["repeat"],
            "value": row["bytes"] / unit[1],
            "where": _where(row),
            "text": f"{fmt.size(row['bytes'], unit)} ({fmt.count(row['bytes'])} bytes)",
        }
        for row in rows
    ]
    first, last = rows[0]["bytes"], rows[-1]["bytes"]
    least, most = min(row["bytes"] for row in rows), max(row["bytes"] for row in rows)
    if least == most:
        summary = f"{fmt.size(most)} throughout"
    else:
        change = last - first
        summary = f"{fmt.size(first)} to {fmt.size(last)}"
        if first:
            summary += f" ({'+' if change >= 0 else '−'}{fmt.size(abs(change))})"
        if most > max(first, last):
            summary += f", at most {fmt.size(most)}"
    if concept.counter == "driver" and limit:
        summary += f"; the device offers {fmt.size(limit)}"
    return Panel(
        concept.title, concept.meaning, summary, charts.memory_counter(concept.counter, points, unit[0], concept.colour)
    )


def _table(by_counter: Mapping[str, list[Row]], sql: Result) -> Table:
    rows = []
    for counter, samples in by_counter.items():
        values = [row["bytes"] for row in samples]
        after = [row["bytes"] for row in samples if row["phase"] == "after_prefill"]
        rows.append(
            (
                word(counter.replace("_", " ")),
                number(len(values), fmt.count(len(values))),
                number(values[0], fmt.count(values[0])),
                number(after[0] if after else None, fmt.count(after[0] if after else None)),
                number(values[-1], fmt.count(values[-1])),
                number(max(values), fmt.count(max(values))),
            )
        )
    columns = (
        Column("counter"),
        Column("samples", "", True),
        Column("first", "bytes", True),
        Column("after prefill", "bytes", True),
        Column("last", "bytes", True),
        Column("most", "bytes", True),
    )
    return Table("memory-table", "Each counter over all samples of the pass.", columns, tuple(rows), (sql,))
