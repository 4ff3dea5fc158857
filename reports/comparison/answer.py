"""The first sentences of a comparison: which side is faster, or why that cannot be said, and where the change is."""

from __future__ import annotations

from analyze.compare.comparison import Comparison, MetricChange
from analyze.compare.differences import busy_elsewhere
from reports import format as fmt
from reports.comparison import words
from reports.sections.answer import Part

_CALLS = {"prefill_p50": "prefill", "decode_p50": "decode step"}


def build(comparison: Comparison) -> tuple[Part, ...]:
    """Two or three sentences in pieces."""
    if comparison.latencies:
        return (*_latencies(comparison), *_where(comparison))
    return (*_without_latencies(comparison), *_where(comparison))


def text(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts).strip()


def said_once(comparison: Comparison) -> str | None:
    """Why nothing is established, where the first sentence or a note says it: rows need not say it again."""
    shown = _shown(comparison)
    if comparison.barrier or {change.judgement.verdict for change in shown} & {"faster", "slower"}:
        return comparison.barrier
    return next((change.judgement.reason for change in shown if change.judgement.reason), None)


def _shown(comparison: Comparison) -> list[MetricChange]:
    shown = [c for name in ("decode_p50", "prefill_p50") for c in comparison.latencies if c.metric.name == name]
    return shown or list(comparison.latencies[:2])


def _latencies(comparison: Comparison) -> list[Part]:
    shown = _shown(comparison)
    found = {change.judgement.verdict for change in shown}
    parts: list[Part] = []
    if found & {"faster", "slower"}:
        for number, change in enumerate(shown):
            parts += [Part("; ") if number else Part("Against A, B's "), *_one(change, comparison.options.threshold)]
        return [*parts, Part(". ")]
    if found == {"same"}:
        limit = words.limit_of(comparison.options.threshold)
        parts += [Part("B takes the same time as A", True), Part(f" within {limit}: ")]
    else:
        why = said_once(comparison) or "noise hides it"
        parts += [
            Part("Whether B is faster than A is not established", True),
            Part(f": {why}. Measured were, B over A, "),
        ]
    for number, change in enumerate(shown):
        tone = change.metric.phase or ""
        parts += [Part(", " if number else ""), Part(_CALLS.get(change.metric.name, change.metric.name), tone=tone)]
        parts += [Part(" "), Part(words.ratio(change.ratio), True), Part(_bounds(change))]
    return [*parts, Part(". ")]


def _one(change: MetricChange, threshold: float) -> list[Part]:
    name = Part(_CALLS.get(change.metric.name, change.metric.name), tone=change.metric.phase or "")
    before, after = words.values((change.a, change.b), change.metric.unit)
    verdict = change.judgement.verdict
    if verdict == "same":
        said = f"is the same within {words.limit_of(threshold)}"
    elif verdict == "not established":
        said = "is not established to differ"
    else:
        said = f"is {verdict}"
    return [
        name, Part(f" {said}: "), Part(after, True), Part(f" against {before}, "),
        Part(words.ratio(change.ratio), True), Part(_bounds(change)),
    ]  # fmt: skip


def _bounds(change: MetricChange) -> str:
    found = change.interval
    if found is None or found.low is None:
        return " (no interval)"
    return f" ({fmt.significant(found.low)} to {fmt.significant(found.high)})"


def _without_latencies(comparison: Comparison) -> list[Part]:
    parts = [
        Part("Neither side may be called faster", True),
        Part(": there are no clean latencies on both sides, only traces, in which the profiler slows the host. "),
    ]
    devices = [part for part in comparison.parts if part.part == "device busy" and None not in (part.a_ns, part.b_ns)]
    if devices:
        part = max(devices, key=lambda each: (each.a_ns or 0) + (each.b_ns or 0))
        before, after = words.values((part.a_ns, part.b_ns), "ns")
        over = (part.b_ns or 0) / part.a_ns if part.a_ns else None
        what = "the traced step" if part.phase == "unknown" else f"a {part.phase} call"
        parts += [
            Part("The "), Part("device", tone="device"), Part(f" works {before} for {what} in A and "),
            Part(after, True), Part(" in B, "), Part(words.ratio(over), True),
            Part(" (one step each, so no interval). "),
        ]  # fmt: skip
        return parts
    walls = [part for part in comparison.parts if part.part == "whole call" and part.a_ns and part.b_ns]
    if walls:
        part = walls[-1]
        before, after = words.values((part.a_ns, part.b_ns), "ns")
        parts.append(Part(f"With the profiler on, the mean {part.phase} call took {before} in A and {after} in B. "))
    elif not comparison.parts:
        parts.append(Part("They have no phase in common either. "))
    return parts


def _where(comparison: Comparison) -> list[Part]:
    """Where the largest changes are: on the device by launching operator, else on the host.

    Nothing where the machine was busy with other work: the traced pass ran on that machine too.
    """
    if busy_elsewhere(comparison.a) or busy_elsewhere(comparison.b):
        return []
    device = words.leading(comparison.device_operators)
    found = device or words.leading(comparison.operators)
    if not found:
        return []
    phase = found[0].phase
    where = "device time" if device else "operators"
    call = {"decode": "a decode step", "prefill": "prefill", "unknown": "that step"}.get(phase, f"a {phase} call")
    listed = ", ".join(f"{item.name} {words.signed(item.delta_ns)}" for item in found)
    return [Part(f"The largest changes in the {where} of {call} (traced): {listed}.")]
