"""The timeline: an overview to brush, lanes of slices to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports import palette, timeline_charts
from reports.collect import DENSITY_BUCKETS, SLICES
from reports.figure import Figure
from reports.queries import Result, Row
from reports.sections.names import Names
from reports.tables import Column, Table, number, word

PHASE_LANE = "phases\t0"
_MOST_JUMPS = 5


@dataclass(frozen=True)
class Jump:
    """A button that shows a stretch of the window."""

    label: str
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Timeline:
    """Both charts, buttons for the stretches people look at, and what had to be merged."""

    overview: Figure
    detail: Figure
    jumps: tuple[Jump, ...]
    extent_ns: int
    pass_name: str
    about: str
    merged: str | None
    table: Table
    sql: tuple[Result, ...]
    key: tuple[tuple[str, str], ...]


def build(results: Mapping[str, Result], names: Names) -> Timeline | None:
    """None where no pass has slices."""
    window, slices, phases = (results[f"timeline_{name}"] for name in ("window", "slices", "phases"))
    if not window or not slices:
        return None
    row = window.one()
    extent = row["end_ns"] - row["start_ns"]
    strip = [_phase(phase) for phase in phases]
    drawn, lanes = _slices(slices, names)
    density = [
        {
            "side": bucket["side"],
            "start_ns": bucket["start_ns"],
            "end_ns": bucket["start_ns"] + -(-extent // DENSITY_BUCKETS),
            "covered": round(bucket["covered"], 4) * (1 if bucket["side"] == "host" else -1),
            "colour": palette.HOST if bucket["side"] == "host" else palette.DEVICE,
        }
        for bucket in results["timeline_density"]
    ]
    return Timeline(
        overview=timeline_charts.overview(strip, density, extent),
        detail=timeline_charts.detail(strip, drawn, [PHASE_LANE, *lanes] if strip else lanes, extent),
        jumps=_jumps(phases, extent),
        extent_ns=extent,
        pass_name=row["pass"],
        about=_about(row, {phase["phase"] for phase in phases}),
        merged=_merged(slices, any(phase["phase"] == "decode" for phase in phases)),
        table=_table(phases, results["timeline_phases"]),
        sql=tuple(results[f"timeline_{name}"] for name in ("window", "phases", "slices", "density")),
        key=_key(phases, {bucket["side"] for bucket in density}),
    )


def label_of(phase: str, step: int) -> str:
    """`prefill`, `decode 3`: what a call is called."""
    return phase if phase in ("prefill", "unknown") and step == 0 else f"{phase} {step}"


def _phase(row: Row) -> Row:
    return {
        "lane": PHASE_LANE,
        "label": label_of(row["phase"], row["step"]),
        "colour": palette.of_phase(row["phase"]),
        "on": "var(--on-decode)" if row["phase"] == "decode" else "var(--on-light)",
        "start_ns": row["start_ns"],
        "end_ns": row["start_ns"] + row["dur_ns"],
        "cached": fmt.count(row["cached_tokens"]),
    }


def _slices(rows: Result, names: Names) -> tuple[list[Row], list[str]]:
    shown: list[Row] = []
    lanes: dict[str, None] = {}
    places: dict[tuple[str, int], str] = {}
    for row in rows:
        place = places.setdefault((row["side"], row["place_order"]), _unique(names(row["place"]), places))
        lane = f"{place}\t{row['level']}"
        lanes[lane] = None
        device = row["side"] == "device"
        shown.append(
            {
                "lane": lane,
                "name": names(row["name"]),
                "phase": row["phase"],
                "level": row["level"],
                "colour": palette.DEVICE if device else palette.of_phase(row["phase"]),
                "on": "var(--on-decode)" if device or row["phase"] == "decode" else "var(--on-light)",
                "start_ns": row["start_ns"],
                "end_ns": row["start_ns"] + row["dur_ns"],
                "merged": row["merged"],
                "covered": round(row["covered"], 2),
            }
        )
    order = sorted(lanes, key=lambda lane: (list(places.values()).index(lane.split("\t")[0]), int(lane.split("\t")[1])))
    return shown, order


def _unique(place: str, taken: Mapping[tuple[str, int], str]) -> str:
    place = place.replace("\t", " ")
    while place in taken.values():
        place += "′"
    return place


def _jumps(phases: Result, extent: int) -> tuple[Jump, ...]:
    jumps = [Jump("whole", 0, extent)]
    seen: dict[str, int] = {}
    for row in phases:
        seen[row["phase"]] = seen.get(row["phase"], 0) + 1
        if seen[row["phase"]] <= 2 and len(jumps) < _MOST_JUMPS and row["dur_ns"] < extent:
            margin = max(row["dur_ns"] // 50, 1)
            low, high = max(row["start_ns"] - margin, 0), min(row["start_ns"] + row["dur_ns"] + margin, extent)
            jumps.append(Jump(label_of(row["phase"], row["step"]), low, high))
    return tuple(jumps)


def _about(row: Row, phases: set[str]) -> str:
    about = "" if row["pass"] == "trace" else f", pass {row['pass']}"
    if (row["repeats"] or 0) > 1:
        about += f", the first of {fmt.count(row['repeats'])} repeats"
    if row["ranks"] > 1:
        about += f", rank {fmt.count(row['rank'])} of {fmt.count(row['ranks'])}"
    if {"prefill", "decode"} <= phases:
        return f"One generation{about}: first prefill, then a call for each token."
    return f"{'The trace' if phases - {'unknown'} else 'The whole trace'}{about}."


def _key(phases: Result, sides: set[str]) -> tuple[tuple[str, str], ...]:
    key = [
        (phase, phase if phase in palette.PHASES else "other")
        for phase in dict.fromkeys(row["phase"] for row in phases)
    ]
    key += [("host busy", "host")] if "host" in sides else []
    return (*key, ("device busy", "device")) if "device" in sides else tuple(key)


def _merged(slices: Result, finer: bool) -> str | None:
    merged = [row for row in slices if row["merged"] > 1]
    if not merged:
        return None
    total = sum(row["merged"] for row in merged)
    return (
        f"{fmt.count(total)} slices too short to see at this scale are merged with their neighbours into"
        f" {fmt.count(len(merged))} paler blocks, so that no more than about {fmt.count(SLICES)} are drawn"
        f"{'; the first two decode calls are drawn finer' if finer else ''}. Tables count every slice."
    )


def _table(phases: Result, sql: Result) -> Table:
    rows = tuple(
        (
            word(label_of(row["phase"], row["step"])),
            number(row["start_ns"], fmt.milliseconds(row["start_ns"])),
            number(row["dur_ns"], fmt.milliseconds(row["dur_ns"])),
            number(row["tokens"], fmt.count(row["tokens"])),
            number(row["cached_tokens"], fmt.count(row["cached_tokens"])),
        )
        for row in phases
    )
    columns = (
        Column("phase"),
        Column("begins", "ms", True, how="phases.start_ns"),
        Column("lasts, profiled", "ms", True, how="phases.dur_ns"),
        Column("tokens", "", True, how="phases.tokens"),
        Column("cached tokens", "", True, how="phases.cached_tokens"),
    )
    return Table(
        "timeline-table", "The phases of the window; times are with the profiler on.", columns, rows, (sql,), first=20
    )
