"""What a claim is: a statement, the query that yields its numbers, and the rule that turns them into a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["holds", "does not hold", "not established"]

HOLDS: Verdict = "holds"
FAILS: Verdict = "does not hold"
OPEN: Verdict = "not established"


class Numbers(Mapping[str, Any]):
    """The row that a claim's query yields; a column that it lacks, or no row at all, reads as None."""

    def __init__(self, row: Mapping[str, Any] | None) -> None:
        self._row = dict(row or {})

    def __getitem__(self, key: str) -> Any:
        return self._row.get(key)

    def __iter__(self) -> Any:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def known(self, *keys: str) -> bool:
        """Whether none of these is None."""
        return all(self[key] is not None for key in keys)


@dataclass(frozen=True)
class Decision:
    """A verdict, the kind of evidence, what would settle an open one; `statement` where the numbers shape it."""

    verdict: Verdict
    evidence: str
    settled_by: str | None = None
    statement: str | None = None


@dataclass(frozen=True)
class Claim:
    """`claim_id` names the query in analyze/sql/claims; columns in `measured` are recorded, the others derived."""

    claim_id: str
    statement: str
    decide: Callable[[Numbers], Decision]
    measured: frozenset[str] = frozenset()


def opened(evidence: str, settled_by: str) -> Decision:
    """Not established, for want of evidence."""
    return Decision(OPEN, evidence, settled_by)


def decided(holds: bool, evidence: str) -> Decision:
    """Holds or does not hold."""
    return Decision(HOLDS if holds else FAILS, evidence)
