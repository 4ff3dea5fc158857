"""Runs the report's queries. The only module here, beside `store`, that talks to the database."""

from __future__ import annotations

from math import ceil

import duckdb

from analyze.errors import PhasescopeError
from reports.queries import Result, empty, run

SLICES = 4_000  # slices drawn in the timeline; a rectangle each, so this bounds the page's size and its drawing time
DENSITY_BUCKETS = 480  # stretches of the timeline's overview, each about two pixels of a wide screen

PLAIN = (
    "run", "passes", "generation", "latency", "profiler_cost", "peak_memory", "breakdown", "idle_causes", "steps",
    "outliers", "kv", "kv_per_token", "kv_formula", "memory", "host", "claims", "quality", "coverage",
)  # fmt: skip


def choose_run(connection: duckdb.DuckDBPyConnection, run_id: str | None, store: str) -> str:
    """The run asked for, else the one loaded last. Raises PhasescopeError when there is no such run."""
    known = [
        row[0] for row in connection.execute("SELECT run_id FROM runs ORDER BY loaded_unix_ns DESC, run_id").fetchall()
    ]
    if not known:
        raise PhasescopeError(f"{store} holds no run: load one with `phasescope load`")
    if run_id is None:
        return str(known[0])
    if run_id not in known:
        raise PhasescopeError(f"{store} holds no run {run_id!r}: `phasescope runs` lists those that are there")
    return run_id


def collect(connection: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, Result]:
    """The results of all queries about a run, by name."""
    results = {name: run(connection, name, run_id=run_id) for name in PLAIN}
    window = run(connection, "timeline_window", run_id=run_id)
    results["timeline_window"] = window
    results.update(_timeline(connection, run_id, window))
    results["operators"] = _of_pass(connection, "operators", run_id, window)
    results["kernels"] = _of_pass(connection, "kernels", run_id, window)
    return results


def _of_pass(connection: duckdb.DuckDBPyConnection, name: str, run_id: str, window: Result) -> Result:
    return run(connection, name, run_id=run_id, **{"pass": window.one()["pass"]}) if window else empty(name)


def _timeline(connection: duckdb.DuckDBPyConnection, run_id: str, window: Result) -> dict[str, Result]:
    row = window.one()
    if not window or row["end_ns"] is None or row["end_ns"] <= row["start_ns"]:
        return {name: empty(name) for name in ("timeline_phases", "timeline_slices", "timeline_density")}
    extent = row["end_ns"] - row["start_ns"]
    where = {"run_id": run_id, **{key: row[key] for key in ("pass", "rank", "start_ns", "end_ns")}}
    slices = run(connection, "timeline_slices", **where, resolution_ns=0)
    parts = 16_000
    while len(slices.rows) > SLICES and parts >= 250:
        slices = run(connection, "timeline_slices", **where, resolution_ns=ceil(extent / parts))
        parts //= 2
    return {
        "timeline_phases": run(connection, "timeline_phases", **where),
        "timeline_slices": slices,
        "timeline_density": run(connection, "timeline_density", **where, bucket_ns=ceil(extent / DENSITY_BUCKETS)),
    }
