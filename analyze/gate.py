"""Gates: conditions on a comparison under which a change must not pass.

    decode_p50 > 5%               the metric of B, against A, has gone up by more than 5 %
    tokens_per_second < -3%       ... has gone down by more than 3 %
    kernels_per_token > 0%        counted, so any more is too many
    peak_memory > 2 GiB           without a per cent sign: the value of B itself

A condition has three outcomes. `refused`: it holds, outside noise, or it cannot be judged because a side has no data
or is not to be trusted. `passed`: it does not hold, outside noise. `not established`: noise hides the answer.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from analyze.compare.comparison import Comparison, MetricChange, Options, by_run, metric_change, units
from analyze.compare.differences import busy_elsewhere
from analyze.compare.metrics import METRICS, Metric, find_metric
from analyze.compare.sides import Side
from analyze.errors import GateRefused, UsageError
from analyze.statistics import MIN_UNITS, Interval, median_interval

Outcome = Literal["passed", "not established", "refused"]

_EXPRESSION = re.compile(r"\s*(?P<metric>\w+)\s*(?P<op><=|>=|<|>)\s*(?P<number>[+-]?\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*")
_UNITS: dict[str, tuple[str | None, float]] = {
    "": (None, 1), "ns": ("ns", 1), "us": ("ns", 1e3), "µs": ("ns", 1e3), "ms": ("ns", 1e6), "s": ("ns", 1e9),
    "B": ("bytes", 1), "KiB": ("bytes", 2**10), "MiB": ("bytes", 2**20), "GiB": ("bytes", 2**30),
    "tokens/s": ("tokens/s", 1),
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """`metric op limit`: of the change from A to B as a share (`relative`), or of B's own value in the base unit."""

    text: str
    metric: Metric
    op: str
    limit: float
    relative: bool


@dataclass(frozen=True)
class Policy:
    """When a gate says no.

    fail_on: conditions. threshold: smallest change that matters, as a share. not_established: what noise does to the
    gate, `pass` or `fail`. same_tokens, same_workload: refuse sides that are not the same in that. comparability:
    the least level that is let through. max_excluded: share of a side's events that may be left out at loading.
    """

    fail_on: tuple[str, ...] = ()
    threshold: float = Options.threshold
    confidence: float = Options.confidence
    min_repeats: int = MIN_UNITS
    not_established: Literal["pass", "fail"] = "pass"
    same_tokens: bool = True
    same_workload: bool = True
    comparability: Literal["low", "medium", "high"] = "low"
    max_excluded: float = 0.01

    def options(self) -> Options:
        """How to compare under this policy."""
        return Options(self.threshold, self.confidence, self.min_repeats, self.same_tokens, self.same_workload)


@dataclass(frozen=True)
class Finding:
    """A condition, or a check of the sides that every gate makes, and what came of it."""

    condition: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Gate:
    """What a gate found. `refused` is exit code 3."""

    findings: tuple[Finding, ...]
    not_established: Literal["pass", "fail"]

    @property
    def refused(self) -> tuple[Finding, ...]:
        bad = {"refused", "not established"} if self.not_established == "fail" else {"refused"}
        return tuple(finding for finding in self.findings if finding.outcome in bad)

    @property
    def outcome(self) -> Outcome:
        """The worst of the findings."""
        if self.refused:
            return "refused"
        open_ = any(finding.outcome == "not established" for finding in self.findings)
        return "not established" if open_ else "passed"

    def raise_if_refused(self) -> None:
        """Raise GateRefused with the reasons where the gate says no."""
        if self.refused:
            reasons = "; ".join(f"{finding.condition}: {finding.reason}" for finding in self.refused)
            raise GateRefused(f"the gate says no: {reasons}")


def parse_condition(text: str) -> Condition:
    """Read `metric op number[%|unit]`. Raises UsageError that names what is not understood and what there is."""
    match = _EXPRESSION.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r}: not a condition; write metric, one of < <= > >=, and a number: 'decode_p50 > 5%'")
    metric = find_metric(match["metric"])
    if metric is None:
        raise UsageError(f"{match['metric']}: no such metric; there are {', '.join(METRICS)}")
    number, unit = float(match["number"]), match["unit"]
    if unit == "%":
        return Condition(text.strip(), metric, match["op"], number / 100, True)
    base, factor = _UNITS.get(unit, ("", 1.0))
    needed = metric.unit in {of for of, _ in _UNITS.values()}
    if base not in (None, metric.unit) or (not unit and needed and number):
        fitting = ", ".join(name for name, (of, _) in _UNITS.items() if name and of == metric.unit)
        said = f"{unit} does not fit {metric.name}" if unit else f"{metric.name} needs a unit"
        raise UsageError(f"{text!r}: {said}; use % or {fitting or 'a bare number'}")
    return Condition(text.strip(), metric, match["op"], number * factor, False)


def share(value: object, what: str) -> float:
    """A share out of `"5%"` or a number that already is one (0.05). Raises UsageError."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise UsageError(f"{what} is {text!r}; write a share such as 5% or 0.05") from None
    if not 0 <= number < 10:
        raise UsageError(f"{what} is {text!r}; it must lie between 0% and 1000%")
    return number


def load_policy(path: Path) -> Policy:
    """The policy of a TOML file, table `[gate]`. Raises UsageError for what is not understood, naming the file."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); give another --policy") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML ({error}); correct it") from error
    table = told.get("gate")
    if not isinstance(table, dict) or set(told) != {"gate"}:
        raise UsageError(f"{path}: a policy has one table, [gate]; see docs/gating.md")
    try:
        return _policy(table)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _policy(table: dict[str, Any]) -> Policy:
    known = {field.name: field.default for field in fields(Policy)}
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise UsageError(f"{', '.join(unknown)} is no setting of a policy; there are {', '.join(known)}")
    values = dict(table)
    conditions = values.get("fail_on", [])
    if not isinstance(conditions, list) or not all(isinstance(each, str) for each in conditions):
        raise UsageError("fail_on is a list of conditions in quotes")
    for condition in conditions:
        parse_condition(condition)
    values["fail_on"] = tuple(conditions)
    for name in ("threshold", "max_excluded"):
        if name in values:
            values[name] = share(values[name], name)
    for name in ("same_tokens", "same_workload"):
        if not isinstance(values.get(name, True), bool):
            raise UsageError(f"{name} is true or false")
    for name, choices in (("not_established", ("pass", "fail")), ("comparability", ("low", "medium", "high"))):
        if values.get(name, choices[0]) not in choices:
            raise UsageError(f"{name} is one of {', '.join(choices)}")
    confidence = values.get("confidence", 0.95)
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise UsageError("confidence is a number from 0.5 to below 1")
    repeats = values.get("min_repeats", MIN_UNITS)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < MIN_UNITS:
        raise UsageError(f"min_repeats is a whole number of at least {MIN_UNITS}")
    return replace(Policy(), **values)


def evaluate(comparison: Comparison, policy: Policy) -> Gate:
    """Judge a comparison. The sides are checked whatever the conditions are: an empty capture never passes."""
    conditions = [parse_condition(text) for text in policy.fail_on]
    findings = [
        *_of_sides(comparison, policy, conditions),
        *(_of_condition(condition, comparison, policy) for condition in conditions),
    ]
    return Gate(tuple(findings), policy.not_established)


def _of_sides(comparison: Comparison, policy: Policy, conditions: Sequence[Condition]) -> list[Finding]:
    found = []
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        for problem in side_problems(side, policy.max_excluded):
            found.append(Finding(f"quality of {name}", "refused", problem))
    if policy.same_workload and comparison.workload.verdict == "different":
        found.append(Finding("same workload", "refused", comparison.workload.reason))
    timed = any(condition.metric.kind == "repeated" for condition in conditions)
    if policy.same_tokens and timed and comparison.tokens.verdict == "different":
        found.append(Finding("same tokens", "refused", comparison.tokens.reason))
    order = ("low", "medium", "high")
    level = comparison.comparability.level
    if order.index(level) < order.index(policy.comparability):
        reasons = "; ".join(comparison.comparability.reasons)
        found.append(
            Finding(f"comparability of at least {policy.comparability}", "refused", f"it is {level}: {reasons}")
        )
    return found


def side_problems(side: Side, max_excluded: float = Policy.max_excluded) -> list[str]:
    """Why a side is not to be trusted: nothing measured, passes that failed, too much left out. Empty if it is."""
    problems = []
    for run in side.runs:
        which = f"{run.name}: " if len(side.runs) > 1 else ""
        passes = run.rows["passes"]
        if not any(row["status"] == "measured" for row in passes):
            problems.append(f"{which}no pass was measured")
        for row in passes:
            if row["status"] in ("failed", "refused", "empty", "not_attempted"):
                problems.append(f"{which}pass {row['pass']} is {row['status']} ({row['reason'] or 'no reason given'})")
        clean = run.pass_row("clean")
        if clean and clean["status"] == "measured" and not run.rows["repeats"]:
            problems.append(f"{which}its clean pass holds no timing")
        raw, excluded = run.run["raw_events"], run.run["excluded_events"]
        if excluded and excluded > max_excluded * raw:
            problems.append(f"{which}{excluded} of {raw} events were left out at loading, over {max_excluded:.2%}")
        traced = run.rows["parts"]
        if not run.rows["repeats"] and not traced:
            problems.append(f"{which}it holds no phase with a duration")
    return problems


def _of_condition(condition: Condition, comparison: Comparison, policy: Policy) -> Finding:
    metric = condition.metric
    change = metric_change(metric, comparison.a, comparison.b, comparison.options)
    missing = [name for name, value in (("A", change.a), ("B", change.b)) if value is None]
    if not condition.relative:
        missing = [name for name in missing if name == "B"]
    if missing:
        return Finding(condition.text, "refused", f"no data for {metric.name} in {' and '.join(missing)}")
    if metric.kind == "repeated" and condition.relative:
        if policy.same_workload and comparison.workload.verdict == "not known":
            return Finding(condition.text, "not established", f"workload not known: {comparison.workload.reason}")
        if why := next((w for s in (comparison.a, comparison.b) if (w := busy_elsewhere(s))), None):
            return Finding(condition.text, "not established", f"the machine was busy with other work: {why}")
        if policy.same_tokens and comparison.tokens.verdict == "not known":
            return Finding(condition.text, "not established", f"tokens not known: {comparison.tokens.reason}")
    if condition.relative:
        if change.interval is None:
            return _from_zero(condition, change)
        return _judge(condition, change.interval, change.judgement.reason, offset=1.0)
    return _judge(condition, _absolute(condition, comparison), change.judgement.reason, offset=0.0)


def _from_zero(condition: Condition, change: MetricChange) -> Finding:
    """A is 0, so there is no change in per cent: 0 again is no change, anything else is without bounds."""
    if not change.b:
        return Finding(condition.text, "passed", f"{condition.metric.name} is 0 on both sides")
    outcome: Outcome = "refused" if condition.op in (">", ">=") else "passed"
    return Finding(condition.text, outcome, f"{condition.metric.name} was 0 and is {change.b:.4g} now")


def _absolute(condition: Condition, comparison: Comparison) -> Interval:
    """B's own value with its interval; counts are exact."""
    whole_runs = by_run(comparison.a, comparison.b)
    metric = metric_change(condition.metric, comparison.a, comparison.b, comparison.options).metric
    values = units(comparison.b, metric, whole_runs=whole_runs)
    options = comparison.options
    found = median_interval(values, confidence=options.confidence, min_units=options.min_units)
    assert found is not None  # the caller has seen a value
    return replace(found, low=found.value, high=found.value) if metric.kind == "counted" else found


def _judge(condition: Condition, interval: Interval, why_open: str | None, *, offset: float) -> Finding:
    shown = _shown(interval, condition, offset)
    if interval.low is None or interval.high is None:
        return Finding(condition.text, "not established", f"{shown}; {why_open or interval.reason}")
    low, high = interval.low - offset, interval.high - offset
    above = condition.op in (">", ">=")
    inclusive = condition.op in (">=", "<=")
    bad, other = (low, high) if above else (-high, -low)
    limit = condition.limit if above else -condition.limit
    if bad > limit or (inclusive and bad == limit):
        return Finding(condition.text, "refused", shown)
    if other < limit or (not inclusive and other == limit):
        return Finding(condition.text, "passed", shown)
    return Finding(condition.text, "not established", f"{shown}; noise hides whether it is so")


def _shown(interval: Interval, condition: Condition, offset: float) -> str:
    def one(value: float) -> str:
        return f"{(value - offset) * 100:+.1f} %" if offset else _value(value, condition.metric.unit)

    if interval.low is None or interval.high is None:
        return f"{condition.metric.name} {one(interval.value)}, with no interval"
    if interval.low == interval.high == offset == 1:
        return f"{condition.metric.name} is unchanged"
    if interval.low == interval.high:
        return f"{condition.metric.name} {one(interval.value)} exactly"
    bounds = f"{interval.confidence * 100:.3g} % interval {one(interval.low)} to {one(interval.high)}"
    return f"{condition.metric.name} {one(interval.value)} ({bounds})"


def _value(value: float, unit: str) -> str:
    if unit == "ns":
        return f"{value / 1e6:.4g} ms"
    if unit == "bytes":
        return f"{value:.0f} bytes"
    return f"{value:.4g}" + (f" {unit}" if unit != "count" else "")
