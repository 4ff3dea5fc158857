"""Statements about a run, each with a verdict, its numbers, the SQL that yields them and what would settle it."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import duckdb

from analyze.claims import limits, memory, time
from analyze.claims.model import OPEN, Claim, Decision, Numbers
from analyze.sql_text import sql_text

CLAIMS: tuple[Claim, ...] = time.CLAIMS + memory.CLAIMS + limits.CLAIMS

_HIDDEN = {"verdict", "device", "pass", "basis"}  # said in the evidence


def establish(con: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Fill `claims` for a run whose rows, its row of `runs` included, are in the store; old claims of it go."""
    con.execute("DELETE FROM claims WHERE run_id = ?", [run_id])
    rows = []
    for claim in CLAIMS:
        sql = claim_sql(claim.claim_id, run_id)
        numbers = _numbers(con, sql)
        decision = claim.decide(numbers)
        rows.append([run_id, *_row(claim, decision, numbers, sql)])
    con.executemany("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def claim_sql(claim_id: str, run_id: str) -> str:
    """The claim's query with the run filled in, as `phasescope query` runs it."""
    return sql_text(f"claims/{claim_id}.sql").replace("$run_id", "'" + run_id.replace("'", "''") + "'").strip()


def _numbers(con: duckdb.DuckDBPyConnection, sql: str) -> Numbers:
    cursor = con.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    rows = cursor.fetchall()
    return Numbers({name: _finite(value) for name, value in zip(names, rows[0], strict=True)} if rows else None)


def _finite(value: Any) -> Any:
    """NaN and infinity, as of a line through two steps, are not numbers that anyone measured."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _row(claim: Claim, decision: Decision, numbers: Numbers, sql: str) -> list[Any]:
    shown = {key: value for key, value in numbers.items() if value is not None and key not in _HIDDEN}
    if decision.verdict == OPEN and not any(shown.values()):
        shown = {}  # zeros that count nothing
    grades = {
        key: _grade(claim, key)
        for key, value in shown.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return [
        claim.claim_id,
        decision.statement or claim.statement,
        decision.verdict,
        decision.evidence,
        json.dumps(shown, ensure_ascii=False, allow_nan=False, default=float) if shown else None,
        json.dumps(grades) if grades else None,
        sql,
        decision.settled_by,
    ]


def _grade(claim: Claim, key: str) -> str:
    return "measured" if key in claim.measured else "derived"
