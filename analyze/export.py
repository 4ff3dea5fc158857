"""One timeline of a run: its phases, CPU ranges, device rows and counters as one Perfetto trace.

Each pass is another execution of the workload, in a process of its own. So each is a group of tracks of its own,
named by the pass; `clock` puts the groups where they were on the wall clock, `prefill` lays them over each other.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa

from analyze.errors import PhasescopeError
from analyze.query import find_run, open_store
from analyze.sql_text import sql_text
from analyze.timeline import TimelineWriter
from capture.bundle import write_then_rename

Align = Literal["clock", "prefill"]
# Queries in analyze/sql/export, in the order in which their tracks stand in a group.
_ALL = ("phases", "ops", "encoders", "kernels", "samples", "counters")
_OF_THE_PASS = ("phases", "samples")
_RECORDED = tuple(name for name in _ALL if name not in _OF_THE_PASS)
_COUNTERS = ("samples", "counters")


@dataclass(frozen=True)
class Exported:
    """What was written: slices and counter values in it (its own notes apart), and rows that it has no place for."""

    path: Path
    run_id: str
    slices: int
    counter_values: int
    left_out: dict[str, int]


@dataclass(frozen=True)
class _Group:
    """One pass and rank, or one half of it where a recording's clock is not joined with the pass's.

    `tables` are drawn in it, `shift_ns` comes onto their times.
    """

    pass_: str
    rank: int
    tables: tuple[str, ...]
    title: str
    first_ns: int
    last_ns: int
    shift_ns: int
    placed: str


def export(
    out: str | Path,
    store: str | Path = "phases.duckdb",
    *,
    run: str | None = None,
    source: str | Path | None = None,
    force: bool = False,
    align: Align = "clock",
) -> Exported:
    """Write `run` of `store` (an id, the start of one, or a label; None: the one loaded last) as a Perfetto trace.

    source: a bundle or trace that is in no store; it is loaded for this alone, and `store` and `run` are not asked.
    align: `clock` puts each pass where it was on the wall clock (one without stands at the start, and says so);
    `prefill` lets the first prefill of every pass begin at once, so that only times inside a pass mean anything.
    Raises PhasescopeError where there is no such run, nothing to draw, or `out` exists and `force` is not given.
    """
    out = Path(out)
    if out.exists() and not force:
        raise PhasescopeError(f"Will not overwrite {out}; give another name, or --force if it may be replaced.")
    if source is not None:
        return _export_source(Path(source), out, align)
    con = open_store(Path(store))
    try:
        run_id = find_run(con, run).run_id
        groups, zero_unix_ns = _groups(con, run_id, align)
        if not groups:
            raise PhasescopeError(_nothing(con, run_id))
        missing = _rows(con, "left_out", run_id).to_pylist()
        left_out = {row["what"]: row["rows"] for row in missing if row["rows"]}
        with write_then_rename(out) as stream:
            writer = TimelineWriter(stream)
            if zero_unix_ns is not None:
                writer.wall_clock(zero_unix_ns)
            notes = _about(run_id, groups, align, left_out)
            writer.slices(writer.process(f"about this timeline of {run_id}"), notes)
            for group in groups:
                _draw(writer, con, run_id, group)
    finally:
        con.close()
    return Exported(out, run_id, writer.slices_written - notes.num_rows, writer.values_written, left_out)


def _export_source(source: Path, out: Path, align: Align) -> Exported:
    from analyze.load import load

    with tempfile.TemporaryDirectory(prefix="phasescope-") as place:
        store = Path(place) / "run.duckdb"
        result = load([source], store)
        if not result.loaded:
            raise result.failed[0]
        return export(out, store, force=True, align=align)


def _nothing(con: duckdb.DuckDBPyConnection, run_id: str) -> str:
    reasons = con.execute(
        "SELECT 'pass ' || pass || ' is ' || status || coalesce(': ' || reason, '') FROM passes "
        "WHERE run_id = ? AND status <> 'measured'",
        [run_id],
    ).fetchall()
    why = f" ({'; '.join(reason.rstrip('.') for (reason,) in reasons)})" if reasons else ""
    return f"Run {run_id} has no times to draw{why}; load a run with a measured pass."


def _groups(con: duckdb.DuckDBPyConnection, run_id: str, align: Align) -> tuple[list[_Group], int | None]:
    """The groups in the order of their begin, and what the wall clock says at 0 (None where nothing tells)."""
    rows = _rows(con, "places", run_id).to_pylist()
    several_ranks = {row["rank"] for row in rows} != {0}
    halves = [(row["pass"], row["rank"]) for row in rows]
    shifts, zero = _by_prefill(rows) if align == "prefill" else _by_clock(rows)
    groups = []
    for row, shift in zip(rows, shifts, strict=True):
        split = halves.count((row["pass"], row["rank"])) > 1
        title = row["pass"] + (f" rank {row['rank']}" if several_ranks else "")
        if split and row["apart"]:
            title += " (recording, whose clock is not joined with the pass's)"
        tables = _ALL if not split else _RECORDED if row["apart"] else _OF_THE_PASS
        if align == "prefill":
            what = "first row" if row["prefill_ns"] is None else "first prefill"
            placed = f"its {what} stands where the first prefill of the others does"
        elif row["placed_by"]:
            placed = f"placed by {row['placed_by']}"
        else:
            placed = "placed at the start, since nothing tells its wall clock"
        groups.append(_Group(row["pass"], row["rank"], tables, title, row["first_ns"], row["last_ns"], shift, placed))
    return groups, zero


def _by_clock(rows: list[dict[str, Any]]) -> tuple[list[int], int | None]:
    known = [row["zero_unix_ns"] + row["first_ns"] for row in rows if row["zero_unix_ns"] is not None]
    zero = min(known, default=None)
    return [
        -row["first_ns"] if zero is None or row["zero_unix_ns"] is None else row["zero_unix_ns"] - zero for row in rows
    ], zero


def _by_prefill(rows: list[dict[str, Any]]) -> tuple[list[int], None]:
    anchors = [row["first_ns"] if row["prefill_ns"] is None else row["prefill_ns"] for row in rows]
    at = max((anchor - row["first_ns"] for anchor, row in zip(anchors, rows, strict=True)), default=0)
    return [at - anchor for anchor in anchors], None


def _about(run_id: str, groups: list[_Group], align: Align, left_out: dict[str, int]) -> pa.Table:
    """A slice for each group, over its length, that says how its place was found."""
    said = {
        "run": run_id,
        "passes": "each pass is another execution of the workload; compare times inside a pass, not between passes",
        "align": align,
        "not drawn": left_out,
    }
    columns = {
        "track": ["passes"] * len(groups),
        "name": [f"{group.title}: {group.placed}" for group in groups],
        "category": ["note"] * len(groups),
        "start_ns": [group.first_ns + group.shift_ns for group in groups],
        "dur_ns": [group.last_ns - group.first_ns for group in groups],
        "args": [json.dumps(said)] * len(groups),
        "flows": [None] * len(groups),
    }
    return pa.table(columns)


def _draw(writer: TimelineWriter, con: duckdb.DuckDBPyConnection, run_id: str, group: _Group) -> None:
    process = writer.process(group.title)
    for name in group.tables:
        add = writer.counters if name in _COUNTERS else writer.slices
        add(process, _rows(con, name, run_id, group), group.shift_ns)


def _rows(con: duckdb.DuckDBPyConnection, name: str, run_id: str, group: _Group | None = None) -> pa.Table:
    sql = sql_text(f"export/{name}.sql")
    values = {"run_id": run_id} | ({} if group is None else {"pass": group.pass_, "rank": group.rank})
    used = {key: value for key, value in values.items() if re.search(rf"\${key}\b", sql)}  # DuckDB refuses others
    return con.sql(sql, params=used).to_arrow_table()
