"""What is established: statements with a verdict, the evidence for it, and what would settle an open one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reports import format as fmt
from reports.queries import Result, Row
from reports.sections.names import Names

_UNITS: dict[str, Callable[[float], str]] = {
    "ns": fmt.duration,
    "bytes": fmt.size,
    "share": fmt.percent,
    "percent": lambda value: f"{fmt.significant(value)}{fmt.THIN}%",
}
_SIGNS = {"holds": ("✓", "holds"), "does not hold": ("✗", "fails")}


@dataclass(frozen=True)
class Claim:
    """A statement. The verdict shows as a sign and a word, never by colour alone."""

    statement: str
    verdict: str
    sign: str
    tone: str
    evidence: str | None
    numbers: tuple[tuple[str, str, str], ...]
    provenance: str
    settled_by: str | None
    sql: Result


def build(results: Mapping[str, Result], names: Names) -> tuple[Claim, ...]:
    """Empty where no claims were made about the run."""
    return tuple(_claim(row, number, names) for number, row in enumerate(results["claims"]))


def _claim(row: Row, number: int, names: Names) -> Claim:
    sign, tone = _SIGNS.get(row["verdict"], ("○", "open"))
    numbers = _numbers(row, names)
    ways = {how for _, _, how in numbers}
    alike = ways.pop() if len(ways) == 1 else ""  # one word for all of them is enough
    return Claim(
        statement=names(row["claim"]),
        verdict=row["verdict"],
        sign=sign,
        tone=tone,
        evidence=names(row["evidence"]),
        numbers=tuple((name, value, "" if alike else how) for name, value, how in numbers),
        provenance=alike,
        settled_by=names(row["settled_by"]),
        sql=Result(f"claim {number + 1}", (row["sql"] or "").strip(), (), ()),
    )


def _numbers(row: Row, names: Names) -> tuple[tuple[str, str, str], ...]:
    """(name, value, how it came to be) of each number; a text that is no JSON object is one value."""
    numbers, provenance = _object(row["numbers"]), _object(row["provenance"]) or {}
    if numbers is None:
        return (("", names(row["numbers"]), ""),) if row["numbers"] else ()
    return tuple(
        (names(_without_unit(key)), names(_shown(key, value)), str(provenance.get(key, "")))
        for key, value in numbers.items()
    )


def _object(text: str | None) -> dict[str, object] | None:
    try:
        value = json.loads(text or "null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _without_unit(key: str) -> str:
    """`median_gap_ns` as `median gap`: the value says the unit."""
    return " ".join(word for word in key.split("_") if word not in _UNITS)


def _shown(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False)
    unit = next((word for word in key.split("_") if word in _UNITS), None)
    return _UNITS[unit](value) if unit else fmt.rate(value)
