"""Runs the report's queries. The only module here that talks to the database."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil

import duckdb

from reports.queries import Result, empty, run, text

SLICES = 5_000  # slices drawn in the timeline; a rectangle each, so this bounds the page's size and its drawing time
_FINER = 16  # how much finer the first two decode calls are drawn than the rest
DENSITY_BUCKETS = 480  # stretches of the timeline's overview, each about two pixels of a wide screen

PLAIN = (
    "run",
    "passes",
    "generation",
    "latency",
    "clean_trust",
    "profiler_cost",
    "peak_memory",
    "breakdown",
    "time_budget",
    "device_busy",
    "roofline",
    "roofline_terms",
    "idle_causes",
    "steps",
    "outliers",
    "decode_trend",
    "step_audit",
    "phase_counters",
    "kv",
    "kv_per_token",
    "kv_formula",
    "memory",
    "allocations",
    "memory_growth",
    "host",
    "claims",
    "quality",
    "coverage",
    "provenance",
)


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


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM ({sql})").fetchone()
    return int(row[0]) if row else 0


def _timeline(connection: duckdb.DuckDBPyConnection, run_id: str, window: Result) -> dict[str, Result]:
    row = window.one()
    if not window or row["end_ns"] is None or row["end_ns"] <= row["start_ns"]:
        return {name: empty(name) for name in ("timeline_phases", "timeline_slices", "timeline_density")}
    extent = row["end_ns"] - row["start_ns"]
    where = {"run_id": run_id, **{key: row[key] for key in ("pass", "rank", "start_ns", "end_ns")}}
    resolutions = [0, *(ceil(extent / parts) for parts in (16_000, 8_000, 4_000, 2_000, 1_000, 500))]

    def few_enough(resolution: int) -> bool:
        sql = text("timeline_slices", **where, resolution_ns=resolution, fine_ns=resolution // _FINER)
        return _count(connection, sql) <= SLICES

    # The finest that gives few enough: the coarser, the fewer. The last is taken untried.
    resolution = resolutions[bisect_left(resolutions, True, hi=len(resolutions) - 1, key=few_enough)]
    return {
        "timeline_phases": run(connection, "timeline_phases", **where),
        "timeline_slices": run(
            connection, "timeline_slices", **where, resolution_ns=resolution, fine_ns=resolution // _FINER
        ),
        "timeline_density": run(connection, "timeline_density", **where, bucket_ns=ceil(extent / DENSITY_BUCKETS)),
    }
