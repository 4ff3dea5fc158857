"""Where the time goes: one bar a phase whose parts sum to the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result, Row
from reports.tables import Cell, Column, Table, number, word

# What the phase's thread was in, in drawing order, with its colour: kinds of operators are shades of the phase's own.
KINDS = (
    "linear", "attention", "norm", "embedding", "cache update", "sampling", "elementwise", "layout", "copy", "other"
)  # fmt: skip
_PARTS = {
    **dict.fromkeys(KINDS, "phase"),
    "launch": "launch",
    "runtime": "launch",
    "synchronisation": "waiting",
    "between operators": "host",
    "device work": "device",
    "device idle": "idle",
    "not established": "unknown",
}
_DEVICE_PARTS = (("device_busy_ns", "device busy", "device"), ("device_idle_ns", "device idle", "idle"))
_NO_WORK = "no device work recorded"  # idle, unless the trace lost rows or they lie outside the call
_NOTHING_DONE = {"between operators", "device idle", "not established"}
_CAUSES = {
    "host": "the host had not launched yet",
    "launch": "launched, not begun",
    "synchronisation": "the host was waiting",
    "copy": "a copy was running",
    "not established": "not established",
}


@dataclass(frozen=True)
class Segment:
    """A part of a bar: what, how long, its share of the whole."""

    label: str
    tone: str
    ns: float
    share: float
    tint: int = 0  # 0 to 2: neighbours of one colour differ

    @property
    def percent(self) -> str:
        return fmt.percent(self.share)

    @property
    def width(self) -> str:
        return f"{self.share * 100:.4f}"


@dataclass(frozen=True)
class Bar:
    """One call of a phase, the mean over all of them, seen from the host or from the device."""

    phase: str
    side: str
    whole: str
    calls: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Budget:
    """Bars, their numbers as a table, and why a device was idle."""

    bars: tuple[Bar, ...]
    legend: tuple[tuple[str, str], ...]
    table: Table
    causes: Table | None
    encode_time: bool
    pass_name: str


def main_pass(results: Mapping[str, Result]) -> str | None:
    """The pass whose breakdown the report leads with: the timeline's, else the first that has one."""
    window = results["timeline_window"].one().get("pass")
    passes = [row["pass"] for row in results["breakdown"]]
    return window if window in passes else next(iter(passes), None)


def build(results: Mapping[str, Result]) -> Budget | None:
    """None where no pass recorded operators or device work inside a phase."""
    chosen = main_pass(results)
    bars = []
    for row in (row for row in results["breakdown"] if row["pass"] == chosen):
        split = [part for part in results["time_budget"] if (part["pass"], part["phase"]) == (chosen, row["phase"])]
        bars += [bar for bar in (_host_bar(row, split), _device_bar(row, results)) if bar]
    if not bars or chosen is None:
        return None
    return Budget(
        bars=tuple(bars),
        legend=_legend(bars),
        table=_table(bars, (results["time_budget"], results["breakdown"], results["device_busy"])),
        causes=_causes(results, chosen),
        encode_time=results["run"].one()["device"] == "mps" and chosen == "profiled",
        pass_name=chosen,
    )


def _host_bar(row: Row, split: list[Row]) -> Bar | None:
    whole = sum(part["ns"] for part in split)
    if not whole or {part["part"] for part in split} <= _NOTHING_DONE:
        return None  # no operator of the phase's thread lies inside: nothing to divide
    segments = []
    for part in split:
        tone = _PARTS.get(part["part"], "unknown")
        tint = KINDS.index(part["part"]) % 3 if tone == "phase" else 0
        label = "waiting for the device" if part["part"] == "synchronisation" else part["part"]
        tone = row["phase"] if tone == "phase" else tone
        segments.append(Segment(label, tone, part["ns"], part["ns"] / whole, tint))
    return Bar(row["phase"], "host", fmt.duration(whole), fmt.plural(split[0]["calls"], "call"), tuple(segments))


def _device_bar(row: Row, results: Mapping[str, Result]) -> Bar | None:
    values = [(label, tone, row[key]) for key, label, tone in _DEVICE_PARTS]
    if row["phase"] == "unknown" and row["device_idle_ns"] is None:
        # All of a trace as one call: what the device did meanwhile needs no attribution.
        busy = next((found["call_busy_ns"] for found in results["device_busy"] if found["pass"] == row["pass"]), None)
        if not busy:
            return None
        values = [("device busy", "device", busy), (_NO_WORK, "unknown", row["wall_ns"] - busy)]
    elif any(ns is None for _, _, ns in values) or not row["device_busy_ns"]:
        return None
    whole = sum(ns for _, _, ns in values)
    segments = tuple(Segment(label, tone, ns, ns / whole) for label, tone, ns in values)
    return Bar(row["phase"], "device", fmt.duration(whole), fmt.plural(row["calls"], "call"), segments)


def _legend(bars: list[Bar]) -> tuple[tuple[str, str], ...]:
    phases = {bar.phase for bar in bars}
    present = {segment.tone for bar in bars for segment in bar.segments if segment.ns > 0}
    both = "prefill-decode" if {"prefill", "decode"} <= phases else min(phases)
    words = {
        "launch": "launch and runtime calls",
        "waiting": "waiting for the device",
        "host": "between operators: Python and framework",
        "device": "device busy",
        "idle": "device idle",
    }
    operators = [("operators, a shade a kind", both)] if present & phases else []
    return (*operators, *((label, tone) for tone, label in words.items() if tone in present))


def _table(bars: list[Bar], sql: tuple[Result, ...]) -> Table:
    """Parts down, phases across, and under each side's parts their sum."""
    phases = list(dict.fromkeys(bar.phase for bar in bars))
    rows: list[tuple[Cell, ...]] = []
    for side in ("host", "device"):
        found = {bar.phase: bar for bar in bars if bar.side == side}
        order = [*_PARTS, "waiting for the device", *(label for _, label, _ in _DEVICE_PARTS), _NO_WORK]
        labels = {segment.label for bar in found.values() for segment in bar.segments}
        for label in sorted(labels, key=order.index):
            cells = [word(label), word(side)]
            for phase in phases:
                segments = found[phase].segments if phase in found else ()
                cells += _part(next((segment for segment in segments if segment.label == label), None))
            rows.append(tuple(cells))
        if found:
            whole = [word("whole"), word(side)]
            for phase in phases:
                whole += _whole(found.get(phase))
            rows.append(tuple(whole))
    columns = [Column("part"), Column("seen from")]
    for phase in phases:
        columns += [Column("time", unit, True, phase, phase, "time_budget.ns") for unit in ("ns", "ms")]
        columns.append(Column("share", "%", True, phase, phase, "time_budget.share"))
    if len({bar.side for bar in bars}) == 1:
        del columns[1]
        rows = [(row[0], *row[2:]) for row in rows]
    caption = "The same parts in numbers: the mean call of each phase."
    return Table("budget-table", caption, tuple(columns), tuple(rows), sql)


def _part(segment: Segment | None) -> list[Cell]:
    if segment is None:
        return [Cell(fmt.MISSING)] * 3
    return [
        number(segment.ns, fmt.count(segment.ns)),
        number(segment.ns, fmt.milliseconds(segment.ns)),
        number(segment.share, segment.percent, segment.share, segment.tone),
    ]


def _whole(bar: Bar | None) -> list[Cell]:
    if bar is None:
        return [Cell(fmt.MISSING)] * 3
    ns = sum(segment.ns for segment in bar.segments)
    return [number(ns, fmt.count(ns)), number(ns, fmt.milliseconds(ns)), number(1.0, fmt.percent(1))]


def _causes(results: Mapping[str, Result], chosen: str) -> Table | None:
    rows = [row for row in results["idle_causes"] if row["pass"] == chosen]
    if not rows:
        return None
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["phase"]] = totals.get(row["phase"], 0) + row["idle_ns"]
    cells = tuple(
        (
            word(row["phase"]),
            word(_CAUSES.get(row["cause"], row["cause"])),
            number(row["gaps"], fmt.count(row["gaps"])),
            number(row["idle_ns"], fmt.milliseconds(row["idle_ns"])),
            number(row["longest_ns"], fmt.milliseconds(row["longest_ns"])),
            number(
                row["idle_ns"],
                fmt.percent(row["idle_ns"] / totals[row["phase"]]),
                row["idle_ns"] / totals[row["phase"]],
                "idle",
            ),
        )
        for row in rows
    )
    columns = (
        Column("phase"),
        Column("why the device was idle"),
        Column("gaps", "", True, how="derived"),
        Column("time", "ms", True, how="device_idle.dur_ns"),
        Column("longest", "ms", True, how="device_idle.dur_ns"),
        Column("share of idle", "%", True, how="derived"),
    )
    return Table(
        "idle-table",
        "Gaps between kernels, by what the trace shows of the reason; in the bar a copy counts as busy.",
        columns,
        cells,
        (results["idle_causes"],),
    )
