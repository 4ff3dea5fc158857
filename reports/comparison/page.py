"""The page of a comparison, in the report's design: one HTML file from which no request leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analyze.compare.comparison import Comparison, MetricChange, PartChange
from analyze.compare.sides import Side
from analyze.gate import Gate, side_problems
from reports import format as fmt
from reports import palette
from reports.comparison import answer, charts, tables, words
from reports.figure import Figure, Row
from reports.page import page
from reports.queries import Result
from reports.sections.answer import Part
from reports.sections.glance import Fact, Tile
from reports.sections.names import Names
from reports.tables import Table

_SIGNS = {"same": ("✓", "holds"), "different": ("✗", "fails"), "not known": ("○", "open")}
_LEVELS = {"high": ("✓", "holds"), "medium": ("○", "open"), "low": ("✗", "fails")}
_OUTCOMES = {"passed": ("✓", "holds"), "refused": ("✗", "fails"), "not established": ("○", "open")}
_TONES = {
    "operators": "phase", "waiting for the device": "waiting", "between operators": "host", "device busy": "device",
    "device idle": "idle",
}  # fmt: skip
_HOST = ("operators", "waiting for the device", "between operators")


@dataclass(frozen=True)
class Chip:
    """A word with a sign and a tone, and the sentence behind it."""

    sign: str
    tone: str
    word: str
    text: str


@dataclass(frozen=True)
class Segment:
    """A part of a bar; `width` is of the longest bar of the phase, `share` of this one."""

    label: str
    tone: str
    shown: str
    share: float
    width: str


@dataclass(frozen=True)
class Bar:
    """The mean call of a phase on one side, seen from the host or the device."""

    phase: str
    side: str
    whole: str
    calls: str
    segments: tuple[Segment, ...]
    of_device: bool


@dataclass(frozen=True)
class ComparisonPage:
    """All that the page shows. A part is None where the sides have no data for it."""

    title: str
    sides: tuple[tuple[str, str, tuple[Fact, ...]], ...]
    warning: str | None
    sentence: tuple[Part, ...]
    sentence_sql: tuple[Result, ...]
    gate: tuple[tuple[Chip, str], ...] | None
    gate_outcome: Chip | None
    tiles: tuple[Tile, ...]
    checks: tuple[tuple[str, Chip], ...]
    reasons: tuple[str, ...]
    differences: Table | None
    latencies: Table | None
    ratios: Figure | None
    unit: str
    barrier: str | None
    threshold: str
    bars: tuple[Bar, ...]
    legend: tuple[tuple[str, str], ...]
    parts: Table | None
    steps: Figure | None
    step_ratios: Figure | None
    steps_table: Table | None
    counts: Table | None
    memory: Table | None
    calls: Table | None
    device: Table | None
    device_operators: Table | None
    operators: Table | None
    families: Table | None
    kernels: Table | None
    claims: Table | None
    claims_note: str
    quality: Table
    problems: tuple[str, ...]

    def figures(self) -> Iterator[Figure]:
        """Every chart, in reading order."""
        yield from (figure for figure in (self.ratios, self.steps, self.step_ratios) if figure)


def render(comparison: Comparison, gate: Gate | None = None, names: Names | None = None) -> str:
    """The comparison as HTML; the same data give the same text."""
    shown = build(comparison, gate, names or Names())
    return page("compare.html", shown.figures(), compare=shown, page_title=f"{shown.title} · phasescope")


def build(comparison: Comparison, gate: Gate | None, names: Names) -> ComparisonPage:
    """Lay the comparison out. Texts from outside go through `names`."""
    bars = _bars(comparison)
    decode = [step for step in comparison.steps if step.phase == "decode"]
    title = f"{names(comparison.a.name)} against {names(comparison.b.name)}"
    return ComparisonPage(
        title=title,
        sides=tuple(_side(letter, side, names) for letter, side in (("A", comparison.a), ("B", comparison.b))),
        warning=_warning(comparison),
        sentence=tuple(Part(names(part.text), part.strong, part.tone) for part in answer.build(comparison)),
        sentence_sql=tables.sql_of(comparison, "repeats", "parts"),
        gate=None if gate is None else tuple(_finding(f.outcome, f.condition, names(f.reason)) for f in gate.findings),
        gate_outcome=None if gate is None else Chip(*_OUTCOMES[gate.outcome], gate.outcome, ""),
        tiles=_tiles(comparison),
        checks=_checks(comparison),
        reasons=tuple(names(reason) for reason in comparison.comparability.reasons),
        differences=tables.differences(comparison, names),
        latencies=tables.latencies(comparison),
        ratios=_ratios(comparison),
        unit=comparison.unit.note,
        barrier=comparison.barrier,
        threshold=words.limit_of(comparison.options.threshold),
        bars=bars,
        legend=_legend(bars),
        parts=tables.parts(comparison),
        steps=charts.steps(_step_rows(comparison), _axis(comparison)) if decode else None,
        step_ratios=charts.step_ratios(_step_ratio_rows(comparison), _axis(comparison)) if decode else None,
        steps_table=tables.steps(comparison),
        counts=tables.counts(comparison),
        memory=tables.readings(
            comparison, ("memory",), "memory-table", "The highest value of each memory counter.", "memory"
        ),
        calls=tables.readings(
            comparison, ("calls", "delays"), "calls-table",
            "Calls that launch, copy or wait, for each call of the phase, and how long a launch takes to begin.",
            "calls", "delays",
        ),
        device=tables.readings(
            comparison, ("device",), "device-table", "All device work of the traced pass.", "device_total"
        ),
        device_operators=tables.named(
            comparison, "device-operators-table",
            "Device time by the operator that launched it, for each call of the phase. The names hold across vendors.",
            comparison.device_operators, "device_operators", names, tone="device",
        ),
        operators=tables.named(
            comparison, "operators-table",
            "Operators of the host by self time, for each call of the phase, with the profiler on.",
            comparison.operators, "operators", names, tone="host",
        ),
        families=tables.named(
            comparison, "families-table", "Device time by kind of kernel. The kind goes by the kernel's name alone.",
            comparison.families, "kernels", names, tone="device",
        ),
        kernels=tables.named(
            comparison, "kernels-table", "Kernels and copies by name, busy time for each call of the phase.",
            comparison.kernels, "kernels", names, tone="device", first=8,
        ),
        claims=tables.claims(comparison, names),
        claims_note=_claims_note(comparison),
        quality=tables.quality(comparison, names),
        problems=tuple(
            f"{letter}: {names(problem)}"
            for letter, side in (("A", comparison.a), ("B", comparison.b))
            for problem in side_problems(side)
        ),
    )  # fmt: skip


def _side(letter: str, side: Side, names: Names) -> tuple[str, str, tuple[Fact, ...]]:
    run = side.first.run
    device = " · ".join(str(part) for part in (run["device"], run["device_name"]) if part)
    lengths = None
    if run["prompt_tokens"] and run["new_tokens"]:
        lengths = f"{fmt.count(run['prompt_tokens'])} prompt + {fmt.count(run['new_tokens'])} new tokens"
    weights = "random: exact shapes, no trained values" if run["weights"] == "random" else run["weights"]
    facts = (
        ("Run", side.first.run_id if len(side.runs) == 1 else f"{len(side.runs)} runs"), ("Model", run["model"]),
        ("Weights", weights), ("Device", device), ("Element type", run["dtype"]), ("Attention", run["attention"]),
        ("Cache", run["cache"]), ("Lengths", lengths),
        ("Batch", fmt.plural(run["batch_size"], "sequence") if run["batch_size"] else None),
        ("PyTorch", side.first.software.get("torch")),
        ("Captured", fmt.moment(run["captured_unix_ns"]) if run["captured_unix_ns"] else None),
    )  # fmt: skip
    told = [(key.rpartition(".")[2].strip('"').replace("_", " "), v) for key, v in side.first.told_workload.items()]
    random = run["weights"] == "random"
    shown = [Fact(term, names(str(value)), term == "Weights" and random) for term, value in facts if value]
    shown += [Fact(term, names(value)) for term, value in told if value not in ("", "true", "false", "auto")]
    return letter, names(side.name), tuple(shown)


def _warning(comparison: Comparison) -> str | None:
    if comparison.workload.verdict == "different":
        return f"These are not the same workload: {comparison.workload.reason}. No number below makes a side faster"
    return None


def _finding(outcome: str, condition: str, reason: str) -> tuple[Chip, str]:
    sign, tone = _OUTCOMES[outcome]
    return Chip(sign, tone, outcome, reason), condition


def _checks(comparison: Comparison) -> tuple[tuple[str, Chip], ...]:
    level = comparison.comparability.level
    found = [("Comparability", Chip(*_LEVELS[level], level, ""))]
    for what, check in (("Workload", comparison.workload), ("Generated tokens", comparison.tokens)):
        found.append((what, Chip(*_SIGNS[check.verdict], check.verdict, check.reason)))
    return tuple(found)


def _tiles(comparison: Comparison) -> tuple[Tile, ...]:
    labels = {"prefill_p50": "Prefill", "decode_p50": "Decode step", "tokens_per_second": "Tokens a second"}
    tiles = []
    for change in comparison.latencies:
        if label := labels.get(change.metric.name):
            tiles.append(_tile(label, change, comparison))
    for change in words.shown_counts(comparison):
        if label := {"kv_bytes_per_token": "KV cache a token", "peak_memory": "Peak memory"}.get(change.metric.name):
            tiles.append(_tile(label, change, comparison))
    if not comparison.latencies:
        for part in comparison.parts:
            if part.part in ("whole call", "device busy") and part.a_ns and part.b_ns is not None:
                tiles.append(_part_tile(part))
    return tuple(tiles[:6])


def _tile(label: str, change: MetricChange, comparison: Comparison) -> Tile:
    before, after = words.values((change.a, change.b), change.metric.unit)
    bounds = words.interval(change.interval)
    spread = "" if bounds in (fmt.MISSING, "exact") else f" ({bounds})"
    word = change.judgement.verdict
    note = f"{after} against {before}{spread}; {'no change' if word == 'same' and bounds == 'exact' else word}"
    return Tile(label, words.ratio(change.ratio) if change.ratio else None, "", note, change.metric.phase or "")


def _part_tile(part: PartChange) -> Tile:
    before, after = words.values((part.a_ns, part.b_ns), "ns")
    what = "traced step" if part.phase == "unknown" else f"{part.phase} call"
    label = f"{what.capitalize()}, {'wall time' if part.part == 'whole call' else part.part}"
    over = part.b_ns / part.a_ns if part.a_ns and part.b_ns is not None else None
    tone = "device" if part.part == "device busy" else part.phase
    return Tile(label, words.ratio(over), "", f"{after} against {before}; profiler on, one trace a side", tone)


def _ratios(comparison: Comparison) -> Figure | None:
    rows: list[Row] = []
    for change in comparison.latencies:
        found = change.interval
        if found is None or found.value <= 0 or change.metric.unit == "percent":
            continue
        low, high = (found.value if bound is None else bound for bound in (found.low, found.high))
        rows.append(
            {
                "name": change.metric.name, "ratio": found.value, "low": max(low, 1e-6), "high": high,
                "colour": palette.of_phase(change.metric.phase) if change.metric.phase else palette.MUTED,
                "shown": words.ratio(found.value), "range": words.interval(found),
                "verdict": words.verdict(change.judgement, comparison.options.threshold),
            }
        )  # fmt: skip
    return charts.ratios(rows, 1 + comparison.options.threshold) if rows else None


def _axis(comparison: Comparison) -> str:
    steps = [step for step in comparison.steps if step.phase == "decode"]
    spans = [_span(step.cached_a for step in steps), _span(step.cached_b for step in steps)]
    if not all(spans):
        return "decode step"
    if spans[0] == spans[1]:
        return f"decode step ({spans[0]} cached tokens)"
    return f"decode step (cached tokens: A {spans[0]}, B {spans[1]})"


def _span(values: Iterable[int | None]) -> str:
    """Least and most of what is known; empty where nothing is."""
    known = [value for value in values if value is not None]
    return f"{fmt.count(min(known))} to {fmt.count(max(known))}" if known else ""


def _step_rows(comparison: Comparison) -> list[Row]:
    return [
        {"step": step.step, "side": side, "ms": ns / 1e6, "shown": fmt.duration(ns), "cached": fmt.count(cached)}
        for step in comparison.steps
        if step.phase == "decode"
        for side, ns, cached in (("A", step.a_ns, step.cached_a), ("B", step.b_ns, step.cached_b))
    ]


def _step_ratio_rows(comparison: Comparison) -> list[Row]:
    rows = []
    for step in comparison.steps:
        found = step.interval
        if step.phase == "decode" and found is not None:
            low, high = (found.value if bound is None else bound for bound in (found.low, found.high))
            texts = {"shown": words.ratio(found.value), "range": words.interval(found)}
            rows.append({"step": step.step, "ratio": found.value, "low": low, "high": high, **texts})
    return rows


def _bars(comparison: Comparison) -> tuple[Bar, ...]:
    """Two bars a phase, and two of its device where it is known, on the scale of the longest."""
    by_phase: dict[str, dict[str, PartChange]] = {}
    for part in comparison.parts:
        by_phase.setdefault(part.phase, {})[part.part] = part
    bars = []
    for phase, found in by_phase.items():
        whole = found["whole call"]
        longest = max(whole.a_ns or 0, whole.b_ns or 0)
        for of_device, wanted in ((False, _HOST), (True, ("device busy", "device idle"))):
            for side in ("a", "b"):
                own = [(name, getattr(found[name], f"{side}_ns")) for name in wanted if name in found]
                own = [(name, ns) for name, ns in own if ns is not None]
                if not own or not longest or (not of_device and len(own) < len(_HOST)):
                    continue
                total = sum(ns for _, ns in own)
                bars.append(
                    Bar(
                        phase, side.upper(), fmt.duration(total), fmt.plural(getattr(whole, f"calls_{side}"), "call"),
                        tuple(_segment(phase, name, ns, total, longest) for name, ns in own if ns > 0), of_device,
                    )
                )  # fmt: skip
    return tuple(bars)


def _segment(phase: str, name: str, ns: float, total: float, longest: float) -> Segment:
    tone = phase if _TONES[name] == "phase" else _TONES[name]
    share = ns / total if total else 0
    return Segment(name, tone, fmt.duration(ns), share, f"{min(ns / longest, 1) * 100:.3f}")


def _legend(bars: tuple[Bar, ...]) -> tuple[tuple[str, str], ...]:
    present = {segment.label for bar in bars for segment in bar.segments}
    tones = {name: "prefill-decode" if tone == "phase" else tone for name, tone in _TONES.items()}
    if present and all(bar.phase == "unknown" for bar in bars):
        tones["operators"] = "unknown"
    return tuple((name, tones[name]) for name in _TONES if name in present)


def _claims_note(comparison: Comparison) -> str:
    if not comparison.claims_known:
        return "Not compared: claims were not made about both sides."
    return "Every claim has the same verdict on both sides."
