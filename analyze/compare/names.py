"""Operators and kernels by name on two sides: what appeared, vanished, grew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from analyze.compare.facts import Row, RunFacts

State = Literal["appeared", "vanished", "both"]


@dataclass(frozen=True)
class NameChange:
    """A name in one phase: calls and time for each call of the phase (for `outside`: in the whole pass).

    Times are of traced passes: they explain, and are no latencies.
    """

    phase: str
    name: str
    kind: str
    state: State
    calls_a: float
    calls_b: float
    ns_a: float
    ns_b: float

    @property
    def delta_ns(self) -> float:
        """B less A, for each call of the phase."""
        return self.ns_b - self.ns_a

    @property
    def ratio(self) -> float | None:
        """B over A; None where the name is on one side only."""
        return self.ns_b / self.ns_a if self.state == "both" and self.ns_a else None


def changes(
    a: RunFacts, b: RunFacts, query: str, *, key: Callable[[Row], tuple[str, str]] = lambda row: (row["name"], "")
) -> tuple[NameChange, ...]:
    """Rows of `query` (phase, name, calls, ns) on both sides, by phase and by what `key` makes of a row (name, kind).

    The largest difference of time comes first, what lies outside all phases last. Empty unless both sides have rows.
    """
    if not a.rows[query] or not b.rows[query]:
        return ()
    left, right = _by_name(a, query, key), _by_name(b, query, key)
    found = []
    for phase, name, kind in {**left, **right}:
        calls_a, ns_a = left.get((phase, name, kind), (0.0, 0.0))
        calls_b, ns_b = right.get((phase, name, kind), (0.0, 0.0))
        state: State = "both" if calls_a and calls_b else "vanished" if calls_a else "appeared"
        found.append(NameChange(phase, name, kind, state, calls_a, calls_b, ns_a, ns_b))
    return tuple(sorted(found, key=lambda c: (c.phase == "outside", -abs(c.delta_ns), c.phase, c.name)))


def _by_name(
    run: RunFacts, query: str, key: Callable[[Row], tuple[str, str]]
) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Calls and time for each call of the phase, by phase, name and kind."""
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in run.rows[query]:
        calls = (run.parts.get(row["phase"]) or {}).get("calls") or 1
        total = sums[(row["phase"], *key(row))]
        total[0] += row["calls"] / calls
        total[1] += row["ns"] / calls
    return {name: (calls, ns) for name, (calls, ns) in sums.items()}
