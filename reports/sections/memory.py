"""Memory as several things, each with its own axis: storage of the cache, tensors, the driver's pool, the process.

Samples are taken at the edges of the phases; the allocations of the trace, where there are any, lie between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analyze.compare.metrics import PROCESS_COUNTERS
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
_NAMES = {
    "kv_cache": "KV storage", "tensor": "tensor allocations", "driver": "driver or reserved pool",
    "resident": "resident set", "footprint": "physical footprint", "peak": "peak that the allocator counted",
}  # fmt: skip
_SMALL_SHARE = 0.01  # of the most that any device holds: a device with less gets no panel of allocations


@dataclass(frozen=True)
class Panel:
    """One counter: its chart, or why there is none."""

    title: str
    unit: str
    meaning: str
    summary: str
    figure: Figure | None


@dataclass(frozen=True)
class Memory:
    """A panel a concept on one axis of time, how to read them, and what grew."""

    panels: tuple[Panel, ...]
    lead: str
    table: Table | None
    sql: tuple[Result, ...]


@dataclass(frozen=True)
class _Axis:
    """Time since prefill began, the same in all panels."""

    unit: str
    unit_ns: int
    extent: tuple[float, float]
    prefill_end: float | None

    def at(self, since_ns: int) -> float:
        return round(since_ns / self.unit_ns, 4)


def build(results: Mapping[str, Result]) -> Memory | None:
    """None where nothing was sampled and the trace has no allocations."""
    memory, events = results["memory"], results["allocations"]
    if not memory and not events:
        return None
    passes = dict.fromkeys(row["pass"] for row in (*memory, *events))
    chosen = next((name for name in ("profiled", "trace") if name in passes), next(iter(passes)))
    placed = [row for row in memory if row["pass"] == chosen and row["since_ns"] is not None]
    by_counter: dict[str, list[Row]] = {}
    for row in placed:
        if row["available"]:
            by_counter.setdefault(row["counter"], []).append(row)
    by_device: dict[str, list[Row]] = {}
    for row in events:
        if row["pass"] == chosen:
            by_device.setdefault(row["device"], []).append(row)
    axis = _axis(placed, [row for rows in by_device.values() for row in rows])
    limit = by_counter.get("recommended_max", [{}])[0].get("bytes")
    device = results["run"].one()["device"]
    panels: list[Panel] = []
    missing: list[str] = []
    for concept in _CONCEPTS if memory else ():
        if rows := by_counter.get(concept.counter):
            panels.append(_panel(concept, rows, limit, axis))
        elif concept.counter != "footprint" or device == "mps":
            missing.append(concept.title.lower())
    panels += _allocations(by_device, axis)
    growth = [
        row
        for row in results["memory_growth"]
        if row["pass"] == chosen and (row["source"] == "samples" or row["counter"] in _large(by_device))
    ]
    return Memory(
        tuple(panels),
        f"{_of_pass(chosen, by_counter)} {_lead(panels, missing, axis, bool(placed), device)}",
        _table(growth, results["memory_growth"]) if growth else None,
        tuple(results[name] for name in ("memory", "allocations") if results[name]),
    )


def _of_pass(chosen: str, counters: Mapping[str, list[Row]]) -> str:
    if chosen == "profiled" and any(counter in counters for counter in PROCESS_COUNTERS):
        return "Pass profiled, so the profiler's own memory is in what the process holds."
    return f"Pass {chosen}."


def _lead(panels: list[Panel], missing: list[str], axis: _Axis, sampled: bool, device: str | None) -> str:
    text = "Not one number but several, each with" if len(panels) > 1 else "With"
    text += f" an axis of its own that need not begin at zero. Across: {axis.unit} since the first phase began"
    text += ", prefill tinted" if axis.prefill_end is not None else ""
    text += "; a line is a repeat." if sampled else "."
    if missing:
        text += f" Not available here: {', '.join(missing)}"
        text += " (on the CPU no allocator of a device counts)." if device == "cpu" else "."
    return text


def _axis(samples: list[Row], events: list[Row]) -> _Axis:
    times = [row["since_ns"] for row in (*samples, *events)] or [0, 1]
    unit, unit_ns = fmt.time_unit(times)
    first = {row["repeat"]: row["since_ns"] for row in reversed(samples) if row["phase"] == "after_prefill"}
    end = first.get(min(first)) if first else None
    low, high = min(*times, 0), max(*times, 1)
    return _Axis(
        unit, unit_ns, (round(low / unit_ns, 4), round(high / unit_ns, 4)), None if end is None else end / unit_ns
    )


def _where(row: Row) -> str:
    if row["phase"] == "before_prefill":
        return "before prefill"
    return "after " + label_of("prefill" if row["phase"] == "after_prefill" else "decode", row["step"])


def _panel(concept: _Concept, rows: list[Row], limit: int | None, axis: _Axis) -> Panel:
    unit = fmt.byte_unit([row["bytes"] for row in rows])
    points: list[Row] = [
        {
            "at": axis.at(row["since_ns"]),
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
        summary = f"{fmt.size(first)} to {fmt.size(last)}"
        if most > max(first, last):
            summary += f", at most {fmt.size(most)}"
    if concept.counter == "driver" and limit:
        summary += f"; the device offers {fmt.size(limit)}"
    figure = charts.memory_counter(concept.counter, points, unit[0], concept.colour, axis.prefill_end, axis.extent)
    return Panel(concept.title, unit[0], concept.meaning, summary, figure)


def _large(by_device: Mapping[str, list[Row]]) -> dict[str, int]:
    """The most bytes of each device that is worth a panel."""
    most = {device: max(row["most_bytes"] for row in rows) for device, rows in by_device.items()}
    return {device: value for device, value in most.items() if value > _SMALL_SHARE * max(most.values())}


def _allocations(by_device: Mapping[str, list[Row]], axis: _Axis) -> list[Panel]:
    panels: list[Panel] = []
    for device, most in _large(by_device).items():
        rows = by_device[device]
        unit = fmt.byte_unit([most])
        ends = [row["since_ns"] for row in rows[1:]] + [round(axis.extent[1] * axis.unit_ns)]
        bars: list[Row] = [
            {
                "at": axis.at(row["since_ns"]),
                "end": axis.at(end),
                "least": row["least_bytes"] / unit[1],
                # an allocation that changes nothing seen at this scale still draws a line
                "most": max(row["most_bytes"], row["least_bytes"] + most // 100) / unit[1],
                "where": f"{fmt.duration(row['since_ns'])}, {fmt.plural(row['events'], 'event')}",
                "text": f"{fmt.size(row['least_bytes'])} to {fmt.size(row['most_bytes'])}",
            }
            for row, end in zip(rows, ends, strict=True)
        ]
        added = device.startswith("cpu")
        summary = f"at most {fmt.size(most)}"
        reserved = [row["reserved_bytes"] for row in rows if row["reserved_bytes"] is not None]
        if reserved:
            summary += f"; the allocator reserves up to {fmt.size(max(reserved))}"
        panels.append(
            Panel(
                f"Allocations, {device}",
                unit[0],
                "what the trace's allocations added since it began, between the samples too"
                if added
                else "bytes in tensors by the trace's allocations, between the samples too",
                summary,
                charts.allocations(
                    f"allocations_{len(panels)}",
                    bars,
                    unit[0],
                    palette.HOST if added else palette.DEVICE,
                    axis.prefill_end,
                    axis.extent,
                ),
            )
        )
    return panels


def _name(row: Row) -> str:
    if row["source"] == "allocations":
        return f"allocated since the trace began, {row['counter']}"
    return _NAMES[row["counter"]]


def _grew(growth: list[Row]) -> str:
    """What grew in each phase, in a sentence, from the samples alone."""
    parts = ["What grew, and where the peaks were."]
    for phase in ("prefill", "decode"):
        rows = [row for row in growth if row["source"] == "samples" and row["counter"] != "peak"]
        grown = [row for row in rows if (row[f"{phase}_growth_bytes"] or 0) > 0]
        if grown:
            listed = ", ".join(f"{_name(row)} +{fmt.size(row[f'{phase}_growth_bytes'])}" for row in grown)
            parts.append(f"{phase.capitalize()}: {listed}.")
    return " ".join(parts)


def _table(growth: list[Row], sql: Result) -> Table:
    def change(value: float | None) -> str:
        return fmt.MISSING if value is None else ("+" if value > 0 else "") + fmt.count(value)

    rows = tuple(
        (
            word(_name(row)),
            number(row["prefill_growth_bytes"], change(row["prefill_growth_bytes"])),
            number(row["decode_growth_bytes"], change(row["decode_growth_bytes"])),
            number(row["last_bytes"], fmt.count(row["last_bytes"])),
            number(row["peak_bytes"], fmt.count(row["peak_bytes"])),
            word(None if row["peak_phase"] is None else label_of(row["peak_phase"], row["peak_step"])),
        )
        for row in growth
    )
    columns = (
        Column("counter"),
        Column("in prefill", "bytes", True, how="memory_growth.prefill_growth_bytes"),
        Column("in decode", "bytes", True, how="memory_growth.decode_growth_bytes"),
        Column("at the end", "bytes", True, how="memory_growth.last_bytes"),
        Column("peak", "bytes", True, how="memory_growth.peak_bytes"),
        Column("peak in or after"),
    )
    return Table("memory-table", _grew(growth), columns, rows, (sql,))
