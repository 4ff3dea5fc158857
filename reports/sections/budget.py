"""Where the time goes: one bar a phase whose parts sum to the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result, Row
from reports.tables import Cell, Column, Table, number, word

_HOST_PARTS = (
    ("operators_ns", "operators", "phase"),
    ("waiting_ns", "waiting for the device", "waiting"),
    ("between_ns", "between operators", "host"),
)
_DEVICE_PARTS = (("device_busy_ns", "device busy", "device"), ("device_idle_ns", "device idle", "idle"))
_NOTHING_DONE = ("between operators", "device idle")
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
    """None where no pass recorded operators or device work."""
    chosen = main_pass(results)
    rows = [row for row in results["breakdown"] if row["pass"] == chosen]
    bars = [bar for row in rows for bar in (_bar(row, "host", _HOST_PARTS), _bar(row, "device", _DEVICE_PARTS)) if bar]
    if not bars or chosen is None:
        return None
    present = {segment.label: segment.tone for bar in bars for segment in bar.segments if segment.ns > 0}
    legend = []
    phases = {bar.phase for bar in bars}
    both = "prefill-decode" if {"prefill", "decode"} <= phases else min(phases)
    for _, label, tone in (*_HOST_PARTS, *_DEVICE_PARTS):
        if label in present:
            legend.append((label, both if tone == "phase" else tone))
    mps = results["run"].one()["device"] == "mps" and chosen == "profiled"
    return Budget(tuple(bars), tuple(legend), _table(bars, results["breakdown"]), _causes(results, chosen), mps, chosen)


def _bar(row: Row, side: str, parts: tuple[tuple[str, str, str], ...]) -> Bar | None:
    values = [(label, row["phase"] if tone == "phase" else tone, row[key]) for key, label, tone in parts]
    if any(ns is None for _, _, ns in values):
        return None
    whole = sum(ns for _, _, ns in values)
    if not whole or not any(ns for label, _, ns in values if label not in _NOTHING_DONE):
        return None  # no operator of the phase's thread, or no device row, lies inside: nothing to divide
    segments = tuple(Segment(label, tone, ns, ns / whole) for label, tone, ns in values)
    return Bar(row["phase"], side, fmt.duration(whole), fmt.plural(row["calls"], "call"), segments)


def _table(bars: list[Bar], breakdown: Result) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for bar in bars:
        for segment in bar.segments:
            rows.append(
                (
                    word(bar.phase),
                    word(bar.side),
                    word(segment.label),
                    number(segment.ns, fmt.count(segment.ns)),
                    number(segment.ns, fmt.milliseconds(segment.ns)),
                    number(segment.share, segment.percent, segment.share, segment.tone),
                )
            )
        whole = sum(segment.ns for segment in bar.segments)
        rows.append(
            (
                word(bar.phase),
                word(bar.side),
                word("whole"),
                number(whole, fmt.count(whole)),
                number(whole, fmt.milliseconds(whole)),
                number(1.0, fmt.percent(1)),
            )
        )
    columns = (
        Column("phase"),
        Column("seen from"),
        Column("part"),
        Column("time", "ns", True),
        Column("time", "ms", True),
        Column("share", "%", True),
    )
    return Table(
        "budget-table", "The same parts in numbers: the mean call of each phase.", columns, tuple(rows), (breakdown,)
    )


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
        Column("gaps", "", True),
        Column("time", "ms", True),
        Column("longest", "ms", True),
        Column("share of idle", "%", True),
    )
    return Table(
        "idle-table",
        "Gaps between device work, by what the trace shows of the reason.",
        columns,
        cells,
        (results["idle_causes"],),
    )
