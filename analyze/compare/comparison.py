"""Two sides against each other: a pure function of their rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from analyze.compare import metrics
from analyze.compare.differences import (
    Check,
    Comparability,
    Difference,
    busy_elsewhere,
    comparability,
    differences,
    same_tokens,
    same_workload,
)
from analyze.compare.facts import Row, RunFacts
from analyze.compare.metrics import METRICS, Metric
from analyze.compare.names import NameChange, changes
from analyze.compare.sides import Side
from analyze.statistics import (
    CONFIDENCE,
    MIN_UNITS,
    Interval,
    Judgement,
    judge,
    ratio_of_medians,
    ratios_of_medians,
)

THRESHOLD = 0.05

# Beside these, every other phase that both clean passes have gets its median call.
_LATENCIES = ("prefill_p50", "decode_p50", "decode_p95", "total", "tokens_per_second", "prefill_cpu", "decode_cpu")
_PARTS = (
    ("wall_ns", "whole call"), ("operators_ns", "operators"), ("waiting_ns", "waiting for the device"),
    ("between_ns", "between operators"), ("device_busy_ns", "device busy"), ("device_idle_ns", "device idle"),
)  # fmt: skip


_VENDOR = re.compile(r"(cuda|hip)(?=[A-Z])")


@dataclass(frozen=True)
class Options:
    """threshold: the smallest change that matters, as a share. min_units: fewer a side allow no verdict."""

    threshold: float = THRESHOLD
    confidence: float = CONFIDENCE
    min_units: int = MIN_UNITS
    need_same_tokens: bool = True
    need_same_workload: bool = True


@dataclass(frozen=True)
class Unit:
    """What was taken for one independent measurement, and how many there are a side."""

    name: str
    a: int
    b: int
    note: str


@dataclass(frozen=True)
class MetricChange:
    """A metric on both sides: medians, the ratio B over A with its interval, and what may be said."""

    metric: Metric
    a: float | None
    b: float | None
    interval: Interval | None
    judgement: Judgement

    @property
    def ratio(self) -> float | None:
        return self.interval.value if self.interval else None


@dataclass(frozen=True)
class StepChange:
    """Clean latency of one step on both sides. Its interval stands alone: with many steps some miss 1 by chance."""

    phase: str
    step: int
    cached_a: int | None
    cached_b: int | None
    a_ns: float
    b_ns: float
    interval: Interval | None


@dataclass(frozen=True)
class PartChange:
    """A part of the mean call of a phase in the traced passes, in ns; profiler on, one pass a side, no interval."""

    phase: str
    part: str
    calls_a: int
    calls_b: int
    a_ns: float | None
    b_ns: float | None


@dataclass(frozen=True)
class ValueChange:
    """A number that is read once a side: a memory counter, calls of one name. `kind` groups them."""

    kind: str
    name: str
    a: float | None
    b: float | None
    unit: str


@dataclass(frozen=True)
class ClaimChange:
    """A claim whose verdict is not the same on both sides; None where a side does not make it."""

    claim: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class Comparison:
    """All that a comparison knows; `reports/compare.py` shows it, `analyze/gate.py` judges it."""

    a: Side
    b: Side
    options: Options
    differences: tuple[Difference, ...]
    workload: Check
    tokens: Check
    comparability: Comparability
    unit: Unit
    latencies: tuple[MetricChange, ...]
    counts: tuple[MetricChange, ...]
    steps: tuple[StepChange, ...]
    parts: tuple[PartChange, ...]
    operators: tuple[NameChange, ...]
    device_operators: tuple[NameChange, ...]
    kernels: tuple[NameChange, ...]
    families: tuple[NameChange, ...]
    values: tuple[ValueChange, ...]
    claims: tuple[ClaimChange, ...]
    claims_known: bool
    barrier: str | None


def compare_sides(a: Side, b: Side, options: Options | None = None) -> Comparison:
    """Compare two sides. Everything about B is said against A: a ratio of 1.1 is 10 % more in B."""
    options = options or Options()
    found = differences(a, b)
    workload, tokens = same_workload(a, b, found), same_tokens(a, b)
    unit = _unit(a, b)
    barrier = _barrier(options, workload, tokens) or _busy(a, b)
    wanted = [METRICS[name] for name in _LATENCIES] + _other_phases(a, b)
    latencies = [metric_change(metric, a, b, options, barrier) for metric in wanted]
    counts = [metric_change(m, a, b, options, barrier) for m in METRICS.values() if m.kind != "repeated"]
    left, right = a.first, b.first
    return Comparison(
        a=a,
        b=b,
        options=options,
        differences=found,
        workload=workload,
        tokens=tokens,
        comparability=comparability(a, b, found, workload, tokens),
        unit=unit,
        latencies=tuple(change for change in latencies if change.a is not None and change.b is not None),
        counts=tuple(change for change in counts if change.a is not None or change.b is not None),
        steps=_steps(a, b, options),
        parts=_parts(left, right),
        operators=changes(left, right, "operators", key=_across_vendors(left, right)),
        device_operators=changes(left, right, "device_operators"),
        kernels=changes(left, right, "kernels", key=lambda row: (row["name"], row["kind"])),
        families=changes(left, right, "kernels", key=lambda row: (row["family"], "")),
        values=(*_device(left, right), *_memory(left, right), *_calls(left, right)),
        claims=_claims(left, right),
        claims_known=bool(left.rows["claims"] and right.rows["claims"]),
        barrier=barrier,
    )


def by_run(a: Side, b: Side) -> bool:
    """Whether whole runs are the independent measurements: as soon as a side has several."""
    return len(a.runs) > 1 or len(b.runs) > 1


def units(side: Side, metric: Metric, *, whole_runs: bool) -> list[float]:
    """The independent values of a metric on a side: one a run, or one a repeat of its only run."""
    readings = [[float(value) for value in metric.read(run)] for run in side.runs]
    if whole_runs:
        return [median(values) for values in readings if values]
    return readings[0]


def metric_change(metric: Metric, a: Side, b: Side, options: Options, barrier: str | None = None) -> MetricChange:
    """One metric on both sides. `barrier`: why neither side may be called faster or slower, if so."""
    if metric.name == "peak_memory":
        metric = _peak_memory(a.first, b.first)
    left, right = (units(side, metric, whole_runs=by_run(a, b)) for side in (a, b))
    middle = [median(values) if values else None for values in (left, right)]
    if metric.kind == "repeated":
        interval = ratio_of_medians(left, right, confidence=options.confidence, min_units=options.min_units)
        judgement = judge(interval, options.threshold, metric.better)
        if barrier and judgement.verdict in ("slower", "faster"):
            judgement = Judgement("not established", judgement.beyond, barrier)
    else:
        interval, judgement = _read_once(metric, left, right, options)
    return MetricChange(metric, middle[0], middle[1], interval, judgement)


def _read_once(
    metric: Metric, left: list[float], right: list[float], options: Options
) -> tuple[Interval | None, Judgement]:
    """Counts are exact. A reading that noise moves needs several runs a side, like a latency."""
    if not left or not right:
        return None, Judgement("not established", None, "one side has no such reading")
    if metric.kind == "observed":
        interval = ratio_of_medians(left, right, confidence=options.confidence, min_units=options.min_units)
        judgement = judge(interval, options.threshold, None)
        if interval is not None and interval.low is None:
            reason = "one reading a side, whose noise is not known; several runs a side would settle it"
            judgement = Judgement("not established", None, reason)
        return interval, judgement
    before, after = median(left), median(right)
    if not before:
        return None, Judgement("same" if not after else "higher", bool(after), "counted, so exact")
    ratio = after / before
    beyond = ratio > 1 + options.threshold or ratio < 1 / (1 + options.threshold)
    interval = Interval(ratio, ratio, ratio, len(left), len(right), options.confidence, "counted, so exact")
    if ratio == 1:
        return interval, Judgement("same", False, "counted, so exact")
    return interval, Judgement("higher" if ratio > 1 else "lower", beyond, "counted, so exact")


def _peak_memory(left: RunFacts, right: RunFacts) -> Metric:
    """`peak_memory` of the best counter on both sides: an allocator's is exact, one of the process is not."""
    known = [{row["counter"] for row in run.rows["memory"] if row["bytes"]} for run in (left, right)]
    counter = next((each for each in metrics.PEAK_COUNTERS if each in known[0] & known[1]), None)
    base = METRICS["peak_memory"]
    if counter is None:
        return replace(base, meaning="highest memory reading; no counter is on both sides", read=lambda run: [])
    kind: metrics.Kind = "observed" if counter in metrics.PROCESS_COUNTERS else "counted"
    meaning = f"highest reading of counter {counter}"
    return replace(base, meaning=meaning, kind=kind, read=lambda run: metrics.memory_bytes(run, counter))


def _barrier(options: Options, workload: Check, tokens: Check) -> str | None:
    """Why no side may be called faster, whatever the numbers say."""
    if options.need_same_workload and workload.verdict != "same":
        return "not the same workload" if workload.verdict == "different" else "the workload is not known"
    if options.need_same_tokens and tokens.verdict != "same":
        return "not the same tokens" if tokens.verdict == "different" else "the generated tokens were not recorded"
    return None


def _busy(a: Side, b: Side) -> str | None:
    """Why the latencies of a side are not its own."""
    named = [name for name, side in (("A", a), ("B", b)) if busy_elsewhere(side)]
    return f"the machine was busy with other work during {' and '.join(named)}" if named else None


def _unit(a: Side, b: Side) -> Unit:
    if by_run(a, b):
        note = (
            "A run is one measurement, the median over its repeats: the interval holds what changes between processes."
        )
        return Unit("run", len(a.runs), len(b.runs), note)
    counts = [len({row["repeat"] for row in side.runs[0].rows["repeats"]}) for side in (a, b)]
    note = (
        "A repeat of the generation is one measurement; its steps are not independent. Both sides are one process "
        "each, so what changes from process to process is not in the interval: several runs a side would show it."
    )
    return Unit("repeat", counts[0], counts[1], note)


def _other_phases(a: Side, b: Side) -> list[Metric]:
    known = [phase for phase in a.first.phases if phase in b.first.phases]
    return [metrics.phase_metric(phase) for phase in known if phase not in ("prefill", "decode")]


def _steps(a: Side, b: Side, options: Options) -> tuple[StepChange, ...]:
    """Steps that both sides have, with intervals over the same units as the phases have."""
    left, right = (_step_units(side, whole_runs=by_run(a, b)) for side in (a, b))
    both = [key for key in left if key in right]
    found: dict[tuple[str, int], Interval | None] = {}
    groups: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for key in both:
        groups[len(left[key][0]), len(right[key][0])].append(key)
    for keys in groups.values():
        intervals = ratios_of_medians(
            [left[key][0] for key in keys],
            [right[key][0] for key in keys],
            confidence=options.confidence,
            min_units=options.min_units,
        )
        found |= dict(zip(keys, intervals, strict=True))
    return tuple(
        StepChange(
            phase, step, left[phase, step][1], right[phase, step][1],
            median(left[phase, step][0]), median(right[phase, step][0]), found[phase, step],
        )
        for phase, step in both
    )  # fmt: skip


def _step_units(side: Side, *, whole_runs: bool) -> dict[tuple[str, int], tuple[list[float], int | None]]:
    """(phase, step) to the independent values of a side and the cached tokens after the step."""
    values: dict[tuple[str, int], list[list[float]]] = defaultdict(list)
    cached: dict[tuple[str, int], int | None] = {}
    for run in side.runs:
        own: dict[tuple[str, int], list[float]] = defaultdict(list)
        for row in run.rows["steps"]:
            own[row["phase"], row["step"]].append(float(row["dur_ns"]))
            cached[row["phase"], row["step"]] = row["cached_tokens"]
        for key, durations in own.items():
            values[key].append(durations)
    return {
        key: ([median(each) for each in runs] if whole_runs else runs[0], cached[key]) for key, runs in values.items()
    }


def _parts(left: RunFacts, right: RunFacts) -> tuple[PartChange, ...]:
    return tuple(
        PartChange(
            phase, word, before["calls"], right.parts[phase]["calls"], before[column], right.parts[phase][column]
        )
        for phase, before in left.parts.items()
        if phase in right.parts
        for column, word in _PARTS
        if before[column] is not None or right.parts[phase][column] is not None
    )


def _device(left: RunFacts, right: RunFacts) -> list[ValueChange]:
    rows = [(run.rows["device_total"] or [{}])[0] for run in (left, right)]
    if not all(row.get("rows") for row in rows):
        return []
    names = (
        ("busy_ns", "busy in the whole pass (union)", "ns"), ("rows", "rows in the whole pass", "count"),
        ("attributed_share", "share of device time with a known launch", "share"),
    )  # fmt: skip
    return [ValueChange("device", name, rows[0][column], rows[1][column], unit) for column, name, unit in names]


def _memory(left: RunFacts, right: RunFacts) -> list[ValueChange]:
    sides = [{row["counter"]: row["bytes"] for row in run.rows["memory"]} for run in (left, right)]
    return [
        ValueChange("memory", counter, sides[0].get(counter), sides[1].get(counter), "bytes")
        for counter in sorted({*sides[0], *sides[1]})
    ]


def _calls(left: RunFacts, right: RunFacts) -> list[ValueChange]:
    """Launching, copying and waiting calls, for each call of the phase; then the median delay of a launch."""
    name_of = _across_vendors(left, right)
    sides: list[dict[str, float]] = []
    for run in (left, right):
        own: dict[str, float] = defaultdict(float)
        for row in run.rows["calls"]:
            calls = (run.parts.get(row["phase"]) or {}).get("calls") or 1
            own[f"{row['phase']}, {row['role']}: {name_of(row)[0]}"] += row["calls"] / calls
        sides.append(own)
    found = [
        ValueChange("calls", name, sides[0].get(name, 0), sides[1].get(name, 0), "count")
        for name in sorted({*sides[0], *sides[1]}, key=lambda name: (name.startswith("outside"), name))
    ]
    delays = [{row["phase"]: row["median_delay_ns"] for row in run.rows["delays"]} for run in (left, right)]
    for phase in sorted({*delays[0], *delays[1]}):
        name = f"{phase}: from a launch to the begin of its kernel, median"
        found.append(ValueChange("delays", name, delays[0].get(phase), delays[1].get(phase), "ns"))
    return found


def _across_vendors(left: RunFacts, right: RunFacts) -> Callable[[Row], tuple[str, str]]:
    """Between CUDA and HIP, runtime calls go by their name without the vendor's prefix."""
    vendors = [
        {match[0] for row in run.rows["operators"] if (match := _VENDOR.match(row["name"]))} for run in (left, right)
    ]
    if vendors[0] and vendors[1] and not vendors[0] & vendors[1]:
        return lambda row: (_VENDOR.sub("", row["name"]), "")
    return lambda row: (row["name"], "")


def _claims(left: RunFacts, right: RunFacts) -> tuple[ClaimChange, ...]:
    sides = [{row["claim"]: row["verdict"] for row in run.rows["claims"]} for run in (left, right)]
    if not sides[0] or not sides[1]:
        return ()
    names: Sequence[str] = sorted({*sides[0], *sides[1]})
    return tuple(
        ClaimChange(name, sides[0].get(name), sides[1].get(name))
        for name in names
        if sides[0].get(name) != sides[1].get(name)
    )
