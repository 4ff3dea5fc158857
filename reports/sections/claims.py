"""What is established: statements with a verdict, the evidence for it, and what would settle an open one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analyze.claims import CLAIMS
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


_FIRST = 6  # numbers shown at once; a claim's query yields those that decide it first
_ORDER = {claim.claim_id: place for place, claim in enumerate(CLAIMS)}
_TONES = {"holds": 0, "fails": 1}


@dataclass(frozen=True)
class Claim:
    """A statement. The verdict shows as a sign and a word, never by colour alone."""

    statement: str
    verdict: str
    sign: str
    tone: str
    evidence: str | None
    numbers: tuple[tuple[str, str], ...]
    more: tuple[tuple[str, str], ...]
    provenance: str
    settled_by: str | None
    sql: Result


def build(results: Mapping[str, Result], names: Names) -> tuple[Claim, ...]:
    """Those that hold, those that do not, then the open ones. Empty where no claims were made about the run."""
    rows = sorted(results["claims"], key=lambda row: _ORDER.get(row["claim_id"], len(_ORDER)))
    shown = [_claim(row, names) for row in rows]
    return tuple(sorted(shown, key=lambda claim: _TONES.get(claim.tone, 2)))


def _claim(row: Row, names: Names) -> Claim:
    sign, tone = _SIGNS.get(row["verdict"], ("○", "open"))
    numbers = _numbers(row, names)
    return Claim(
        statement=_unbroken(names(row["claim"])),
        verdict=row["verdict"],
        sign=sign,
        tone=tone,
        evidence=None if row["evidence"] is None else _unbroken(names(row["evidence"])),
        numbers=numbers[:_FIRST],
        more=numbers[_FIRST:],
        provenance=_provenance(row),
        settled_by=names(row["settled_by"]),
        sql=Result(row["claim_id"], (row["sql"] or "").strip(), (), ()),
    )


def _unbroken(text: str) -> str:
    """No line breaks between a number and its per cent."""
    return text.replace(" %", f"{fmt.THIN}%")


def _provenance(row: Row) -> str:
    """`derived`, or `derived; new tokens measured`: the commonest word, and what it does not hold for."""
    words = _object(row["provenance"]) or {}
    if not words:
        return ""
    common = Counter(words.values()).most_common(1)[0][0]
    others: dict[str, list[str]] = {}
    for key, how in words.items():
        if how != common:
            others.setdefault(str(how), []).append(_without_unit(key))
    return "; ".join([str(common), *(f"{', '.join(keys)} {how}" for how, keys in others.items())])


def _numbers(row: Row, names: Names) -> tuple[tuple[str, str], ...]:
    """(name, value) of each number; a text that is no JSON object is one value."""
    numbers = _object(row["numbers"])
    if numbers is None:
        return (("", names(row["numbers"])),) if row["numbers"] else ()
    return tuple((names(_without_unit(key)), names(_shown(key, value))) for key, value in numbers.items())


def _object(text: str | None) -> dict[str, object] | None:
    try:
        value = json.loads(text or "null")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# Columns of the claims' queries whose names alone do not say what they count.
_LABELS = {
    "prefill_ratio": "prefill, median call profiled over clean",
    "prefill_least_ratio": "over its slowest repeat",
    "prefill_most_ratio": "over its fastest",
    "decode_ratio": "decode, median call profiled over clean",
    "decode_least_ratio": "over its slowest repeat",
    "decode_most_ratio": "over its fastest",
    "successions": "steps after another",
    "sequential": "not overlapping it",
    "with_gap": "with such a gap",
    "as_expected": "of them so",
    "points": "lengths measured",
    "equal_points": "equal",
    "differing_points": "different",
    "open_points": "not comparable",
    "last_measured_bytes": "in the cache at the end",
    "last_computed_bytes": "computed for it",
    "least_growth_bytes": "growth a token, least",
    "most_growth_bytes": "growth a token, most",
    "first_average_bytes": "average a token at first",
    "least_difference_percent": "difference, least",
    "most_difference_percent": "difference, most",
    "change_percent": "change over the run",
    "change_low_percent": "interval from",
    "change_high_percent": "interval to",
    "device_rows": "rows of a device",
    "others": "the others",
}


def _without_unit(key: str) -> str:
    """`median_gap_ns` as `median gap`: the value says the unit."""
    if key in _LABELS:
        return _LABELS[key]
    return " ".join(word for word in key.split("_") if word not in _UNITS)


def _shown(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False)
    unit = next((word for word in key.split("_") if word in _UNITS), None)
    return _UNITS[unit](value) if unit else fmt.rate(value)
