"""A comparison as JSON: the same facts as the text, every number unrounded."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from analyze.compare.comparison import Comparison, MetricChange, StepChange
from analyze.compare.names import NameChange
from analyze.compare.sides import Side
from analyze.gate import Gate
from reports.comparison import answer
from reports.sections.names import Names

SCHEMA_VERSION = 1
MOST_NAMES = 200


def build(comparison: Comparison, gate: Gate | None = None, names: Names | None = None) -> dict[str, Any]:
    """What `--format json` prints. Ratios are B over A; times in ns, memory in bytes; null is not known."""
    names = names or Names()
    options, unit = comparison.options, comparison.unit
    document = {
        "schema_version": SCHEMA_VERSION,
        "answer": answer.text(answer.build(comparison)),
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "options": asdict(options),
        "unit": asdict(unit),
        "differences": [asdict(each) for each in comparison.differences],
        "workload": asdict(comparison.workload),
        "tokens": asdict(comparison.tokens),
        "comparability": asdict(comparison.comparability),
        "latencies": [_metric(change) for change in comparison.latencies],
        "counts": [_metric(change) for change in comparison.counts],
        "steps": [_step(step) for step in comparison.steps],
        "traced_parts": [asdict(part) for part in comparison.parts],
        "device_operators": [_name(item) for item in comparison.device_operators[:MOST_NAMES]],
        "operators": [_name(item) for item in comparison.operators[:MOST_NAMES]],
        "kernels": [_name(item) for item in comparison.kernels[:MOST_NAMES]],
        "kernel_families": [_name(item) for item in comparison.families],
        "values": [asdict(item) for item in comparison.values],
        "claims_changed": [asdict(claim) for claim in comparison.claims] if comparison.claims_known else None,
        "gate": None
        if gate is None
        else {"outcome": gate.outcome, "findings": [asdict(finding) for finding in gate.findings]},
    }
    shown: dict[str, Any] = _without_folders(document, names)
    return shown


def render(comparison: Comparison, gate: Gate | None = None, names: Names | None = None) -> str:
    return json.dumps(build(comparison, gate, names), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _without_folders(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return names(value)
    if isinstance(value, dict):
        return {key: _without_folders(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(item, names) for item in value]
    return value


def _side(side: Side) -> dict[str, Any]:
    run = {key: value for key, value in side.first.run.items() if key not in ("software", "run_id", "label")}
    return {
        "named": side.named,
        "label": side.first.run["label"],
        "run_ids": [each.run_id for each in side.runs],
        "run": run,
        "software": side.first.software,
        "traced_pass": side.first.traced_pass,
    }


def _interval(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "ratio": found.value, "low": found.low, "high": found.high, "units_a": found.units_a, "units_b": found.units_b,
        "reason": found.reason,
    }  # fmt: skip


def _metric(change: MetricChange) -> dict[str, Any]:
    metric = change.metric
    return {
        "metric": metric.name, "meaning": metric.meaning, "unit": metric.unit, "kind": metric.kind, "a": change.a,
        "b": change.b, "interval": _interval(change.interval), "verdict": change.judgement.verdict,
        "beyond_threshold": change.judgement.beyond, "reason": change.judgement.reason,
    }  # fmt: skip


def _step(step: StepChange) -> dict[str, Any]:
    return {**asdict(step), "interval": _interval(step.interval)}


def _name(item: NameChange) -> dict[str, Any]:
    return {**asdict(item), "delta_ns": item.delta_ns, "ratio": item.ratio}
