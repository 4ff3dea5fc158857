"""Compare two runs, and gate on the difference. Twin of `phasescope compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analyze.compare import Comparison, compare_sides, read_side
from analyze.errors import PhasescopeError
from analyze.gate import Gate, Policy, evaluate, load_policy, parse_condition, share
from reports.comparison import document
from reports.comparison import text as plain
from reports.sections.names import Names


@dataclass(frozen=True)
class CompareResult:
    """A comparison, what the gate made of it (None without conditions), and the page that was written, if one was."""

    comparison: Comparison
    gate: Gate | None
    out: Path | None
    names: Names

    def text(self) -> str:
        """For a person at a terminal."""
        return plain.render(self.comparison, self.gate, self.names)

    def json(self) -> str:
        """For a program."""
        return document.render(self.comparison, self.gate, self.names)

    def raise_if_refused(self) -> None:
        """Raise GateRefused (exit code 3) where the gate says no."""
        if self.gate is not None:
            self.gate.raise_if_refused()


def compare(
    a: str | Path,
    b: str | Path,
    *,
    store: str | Path | None = None,
    out: str | Path | None = None,
    fail_on: Sequence[str] = (),
    policy: str | Path | Policy | None = None,
    threshold: str | float | None = None,
    force: bool = False,
    include_paths: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> CompareResult:
    """Compare B against A: each a run id, a label (all runs that carry it), a bundle, a trace, or a store of one run.

    `fail_on` are conditions such as `decode_p50 > 5%`; `policy` is a TOML file or a Policy, whose conditions come
    first; `threshold` is the smallest change that matters. With `out` the page is written there. The result says what
    the gate found; its `raise_if_refused()` raises GateRefused. Raises PhasescopeError for a side that is not there,
    and UsageError for a condition or policy that is not understood; nothing is written then.
    """
    rules = policy if isinstance(policy, Policy) else load_policy(Path(policy)) if policy is not None else Policy()
    for condition in fail_on:
        parse_condition(condition)
    rules = replace(rules, fail_on=(*rules.fail_on, *fail_on))
    if threshold is not None:
        rules = replace(rules, threshold=share(threshold, "the threshold"))
    where = Path(out) if out is not None else None
    if where is not None and where.exists() and not force:
        raise PhasescopeError(f"{where} exists: give another --out, or --force to replace it")
    at = Path(store) if store is not None else None
    sides = [read_side(side, at, progress=progress) for side in (a, b)]
    comparison = compare_sides(sides[0], sides[1], rules.options())
    gate = evaluate(comparison, rules) if rules.fail_on or policy is not None else None
    names = Names(include_paths)
    if where is not None:
        from reports.comparison.page import render
        from reports.report import write_whole

        write_whole(where, render(comparison, gate, names))
    return CompareResult(comparison, gate, where, names)
