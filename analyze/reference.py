"""Facts that no run brings with it, from the .toml files beside this module into small tables of the store."""

from __future__ import annotations

import hashlib
import tomllib
from importlib import resources
from typing import Any

import duckdb

_FILES = ("machines", "operator_kinds", "limiter_counters")
UNITS = {"memory_bandwidth": "bytes/s", "matmul_rate": "FLOP/s"}


def refresh(con: duckdb.DuckDBPyConnection) -> None:
    """Bring machine_peaks, operator_kinds and limiter_counters to this version's facts."""
    peaks = [
        [
            p["machine"], p["device"], p.get("gpu_cores"), p["quantity"], p.get("dtype"), p["value"],
            UNITS[p["quantity"]], p["provenance"], p["source"],
        ]
        for p in _facts("machines")["peaks"]
    ]  # fmt: skip
    kinds = [
        [number, rule["kind"], rule["names"], rule.get("args")]
        for number, rule in enumerate(_facts("operator_kinds")["rule"])
    ]
    limiters = [[c["resource"], c["tracks"], c["source"]] for c in _facts("limiter_counters")["counter"]]
    for table, rows in (("machine_peaks", peaks), ("operator_kinds", kinds), ("limiter_counters", limiters)):
        _replace(con, table, rows)


def version() -> str:
    """A digest of the facts of this version."""
    texts = [resources.files("analyze").joinpath(f"{name}.toml").read_text("utf-8") for name in _FILES]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _facts(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("analyze").joinpath(f"{name}.toml").read_text("utf-8"))


def _replace(con: duckdb.DuckDBPyConnection, table: str, rows: list[list[Any]]) -> None:
    marks = ", ".join("?" for _ in rows[0])
    known = con.execute(f"FROM {table}").fetchall()
    if sorted(map(repr, known)) == sorted(repr(tuple(row)) for row in rows):
        return
    con.execute(f"DELETE FROM {table}")
    con.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
