"""A comparison as plain text for a terminal or a log."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from analyze.compare.comparison import Comparison, PartChange
from analyze.compare.names import NameChange
from analyze.compare.sides import Side
from analyze.gate import Gate
from reports import format as fmt
from reports.comparison import answer, words
from reports.sections.names import Names

MOST_NAMES = 8
_WIDEST_NAME = 56


def render(comparison: Comparison, gate: Gate | None = None, names: Names | None = None) -> str:
    """The whole comparison; what differs comes before any number."""
    names = names or Names()
    blocks = [
        "\n".join([_side("A", comparison.a, names), _side("B", comparison.b, names)]),
        _differences(comparison, names),
        _wrapped(names(answer.text(answer.build(comparison)))),
        _latencies(comparison),
        _counts(comparison),
        _parts(comparison.parts),
        _named("Device time by launching operator (traced)", comparison.device_operators, names),
        _named("Operators of the host by self time (traced)", comparison.operators, names),
        _named("Kinds of kernels, by their names (traced)", comparison.families, names),
        _values(comparison),
        _claims(comparison, names),
        _gate(gate, names),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _side(letter: str, side: Side, names: Names) -> str:
    run = side.first.run
    lengths = None
    if run["prompt_tokens"] and run["new_tokens"]:
        lengths = f"{fmt.count(run['prompt_tokens'])} + {fmt.count(run['new_tokens'])} tokens"
    facts = (
        run["model"], "random weights" if run["weights"] == "random" else None, run["device_name"] or run["device"],
        run["dtype"], run["attention"], lengths,
    )  # fmt: skip
    runs = f"{len(side.runs)} runs" if len(side.runs) > 1 else side.first.run_id
    told = " · ".join(names(str(fact)) for fact in facts if fact)
    return f"{letter}  {names(side.name)} ({names(runs)})" + (f"\n   {told}" if told else "")


def _differences(comparison: Comparison, names: Names) -> str:
    lines = ["What differs"]
    rows = [
        (each.kind, each.what, _told(each.what, each.a, names), _told(each.what, each.b, names))
        for each in comparison.differences
    ]
    lines += _table(("", "", "A", "B"), rows, numeric=0) if rows else ["  nothing that is recorded"]
    signs = {"same": "=", "different": "✗", "not known": "○"}
    for what, check in (("workload", comparison.workload), ("tokens", comparison.tokens)):
        lines.append(f"  {signs[check.verdict]} {what}: {check.verdict} ({check.reason})")
    level = comparison.comparability
    lines.append(f"  comparability: {level.level}")
    lines += [f"    - {reason}" for reason in level.reasons]
    return "\n".join(lines)


def _told(what: str, told: object, names: Names) -> str:
    if told is None:
        return "not recorded"
    if isinstance(told, int) and what in ("memory", "device memory"):
        return fmt.size(told)
    return names(str(told))


def _latencies(comparison: Comparison) -> str:
    if not comparison.latencies:
        return ""
    unit, options = comparison.unit, comparison.options
    of = f"{unit.a} against {unit.b} {unit.name}s"
    rows = []
    for change in comparison.latencies:
        before, after = words.values((change.a, change.b), change.metric.unit)
        rows.append(
            (
                change.metric.name, before, after, words.ratio(change.ratio), words.interval(change.interval),
                words.verdict(change.judgement, options.threshold, answer.said_once(comparison)),
            )
        )  # fmt: skip
    lines = [f"Clean latencies: B over A, ratio of medians, {options.confidence * 100:.3g} % interval over {of}"]
    lines += _table(("metric", "A", "B", "B/A", "interval", "verdict"), rows, numeric=4)
    if comparison.barrier:
        lines.append(f"  No side is called faster: {comparison.barrier}.")
    return "\n".join([*lines, _wrapped(unit.note, indent="  ")])


def _counts(comparison: Comparison) -> str:
    rows = []
    for change in words.shown_counts(comparison):
        before, after = words.values((change.a, change.b), change.metric.unit)
        verdict = words.verdict(change.judgement, comparison.options.threshold)
        rows.append((change.metric.name, before, after, words.ratio(change.ratio), verdict))
    return "\n".join(["Counted", *_table(("metric", "A", "B", "B/A", "verdict"), rows, numeric=3)]) if rows else ""


def _parts(parts: Sequence[PartChange]) -> str:
    rows = []
    for part in parts:
        if not (part.a_ns or part.b_ns):
            continue
        before, after = words.values((part.a_ns, part.b_ns), "ns")
        over = part.b_ns / part.a_ns if part.a_ns and part.b_ns is not None else None
        rows.append((part.phase, part.part, before, after, words.ratio(over)))
    head = "The mean call of each phase with the profiler on: explains, is no latency"
    return "\n".join([head, *_table(("phase", "part", "A", "B", "B/A"), rows, numeric=3)]) if rows else ""


def _named(title: str, found: Sequence[NameChange], names: Names) -> str:
    shown = [item for item in found if item.phase != "outside"][:MOST_NAMES]
    if not shown:
        return ""
    rows = []
    for item in shown:
        before, after = words.values((item.ns_a, item.ns_b), "ns")
        calls = (
            fmt.rate(item.calls_a)
            if item.calls_a == item.calls_b
            else f"{fmt.rate(item.calls_a)} → {fmt.rate(item.calls_b)}"
        )
        rows.append(
            (item.phase, _cut(names(item.name)), calls, before, after, words.signed(item.delta_ns), words.state(item))
        )
    more = len(found) - len(shown)
    lines = [
        f"{title}, for each call of the phase",
        *_table(("phase", "name", "calls", "A", "B", "B−A", ""), rows, numeric=4),
    ]
    return "\n".join([*lines, f"  … and {fmt.count(more)} more"] if more else lines)


def _values(comparison: Comparison) -> str:
    rows = []
    for item in comparison.values:
        if item.kind in ("memory", "delays", "device"):
            before, after = words.values((item.a, item.b), item.unit)
            rows.append((item.kind, item.name, before, after))
    return "\n".join(["Memory and device", *_table(("", "", "A", "B"), rows, numeric=2)]) if rows else ""


def _claims(comparison: Comparison, names: Names) -> str:
    if not comparison.claims_known:
        return ""
    if not comparison.claims:
        return "Claims: the same verdicts on both sides"
    rows = [(names(c.claim), c.a or "not made", c.b or "not made") for c in comparison.claims]
    return "\n".join(["Claims whose verdict changed", *_table(("claim", "A", "B"), rows, numeric=0)])


def _gate(gate: Gate | None, names: Names) -> str:
    if gate is None:
        return ""
    signs = {"passed": "✓", "refused": "✗", "not established": "○"}
    lines = [f"Gate: {gate.outcome}"]
    lines += [f"  {signs[f.outcome]} {f.condition}: {f.outcome}, {names(f.reason)}" for f in gate.findings]
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_NAME else text[: _WIDEST_NAME - 1] + "…"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: int) -> list[str]:
    """Aligned lines; the `numeric` columns that follow the leading words are set to the right."""
    words_first = next((i for i, name in enumerate(head) if name in ("A", "calls")), len(head))
    right = range(words_first, words_first + numeric)
    table = [list(head), *(list(row) for row in rows)] if any(head) else [list(row) for row in rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = []
    for row in table:
        cells = [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _wrapped(text: str, width: int = 110, indent: str = "") -> str:
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), indent)
