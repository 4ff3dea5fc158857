"""Backends side by side: any number of runs in one table of concerns, filled with what the runs show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from analyze.compare.facts import RunFacts
from analyze.compare.metrics import METRICS, PROCESS_COUNTERS, kv_bytes_per_token
from analyze.compare.sides import Side, read_side
from analyze.errors import PhasescopeError, UsageError
from reports import format as fmt
from reports.comparison.words import value
from reports.page import page
from reports.queries import Result
from reports.report import write_whole
from reports.sections.names import Names

_COUNTERS = {
    "kv_cache": "KV cache", "tensor": "tensors, by the allocator", "driver": "held by the driver",
    "peak": "peak of tensors", "resident": "resident set", "footprint": "footprint of the process",
    "recommended_max": "working set that the device recommends",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One question of a concern, and each run's answer; None is drawn as "not in this run"."""

    what: str
    answers: tuple[str | None, ...]


@dataclass(frozen=True)
class Concern:
    """A concern of the table, its lines, and the queries they were read with."""

    title: str
    lines: tuple[Line, ...]
    sql: tuple[Result, ...]


@dataclass(frozen=True)
class Head:
    """A run at the head of its column."""

    name: str
    backend: str
    device: str
    facts: str
    random: bool


def backends(
    sides: Sequence[str | Path],
    out: str | Path,
    *,
    store: str | Path | None = None,
    force: bool = False,
    include_paths: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write the page that sets runs side by side to `out`, and answer `out`; sides are named as for `compare`.

    Raises UsageError for fewer than two, PhasescopeError for a side that is not there or where `out` exists.
    """
    out = Path(out)
    if len(sides) < 2:
        raise UsageError("a page of backends needs at least two runs")
    if out.exists() and not force:
        raise PhasescopeError(f"{out} exists: give another --out, or --force to replace it")
    at = Path(store) if store is not None else None
    found = [read_side(side, at, progress=progress) for side in sides]
    write_whole(out, render(found, Names(include_paths)))
    return out


def render(sides: Sequence[Side], names: Names | None = None) -> str:
    """The page as HTML; the same data give the same text."""
    names = names or Names()
    runs = [side.first for side in sides]
    return page(
        "backends.html",
        heads=[_head(run, names) for run in runs],
        concerns=concerns(runs, names),
        page_title="Backends side by side · phasescope",
        same=_sameness(runs),
    )


def concerns(runs: Sequence[RunFacts], names: Names | None = None) -> tuple[Concern, ...]:
    """The table: memory topology, programming path, copies, what the profiler can see, and the latencies."""
    names = names or Names()
    tables: tuple[tuple[str, tuple[tuple[str, Callable[[RunFacts], str | None]], ...], tuple[str, ...]], ...] = (
        ("Latency, clean pass", _LATENCY, ("repeats",)),
        ("Memory topology", _MEMORY, ("run", "memory", "kv")),
        ("Programming path", _PATH, ("parts", "calls", "delays")),
        ("Copies", _COPIES, ("kernels", "operators")),
        ("What the profiler can see", _SEEN, ("passes", "parts", "device_total", "memory", "thermal")),
    )
    found = []
    for title, lines, queries in tables:
        shown = tuple(Line(what, tuple(names(answer(run)) for run in runs)) for what, answer in lines)
        sql = [Result(f"{q} of {names(run.name)}", run.sql[q], (), ()) for q in queries for run in runs if q in run.sql]
        found.append(Concern(title, shown, tuple(sql)))
    return tuple(found)


def backend_of(run: RunFacts) -> str:
    """mps, cuda, hip or cpu: by the manifest, else by the runtime calls of the trace."""
    calls = {row["name"] for row in run.rows["calls"]}
    if any(name.startswith("hip") for name in calls):
        return "hip"
    if run.run["device"]:
        return str(run.run["device"])
    if any(name.startswith("cu") for name in calls):
        return "cuda"
    if run.traced_pass == "metal":
        return "mps"
    return "not known"


def _head(run: RunFacts, names: Names) -> Head:
    row = run.run
    lengths = (
        f"{fmt.count(row['prompt_tokens'])} + {fmt.count(row['new_tokens'])} tokens" if row["new_tokens"] else None
    )
    facts = " · ".join(str(fact) for fact in (row["model"], row["dtype"], row["attention"], lengths) if fact)
    device = row["device_name"] or row["device"] or "device not recorded"
    return Head(names(run.name), backend_of(run), names(device), names(facts), row["weights"] == "random")


def _sameness(runs: Sequence[RunFacts]) -> str:
    """Whether the columns hold the same workload, in a sentence."""
    keys = ("model", "weights", "prompt_tokens", "new_tokens", "batch_size")
    told = [tuple(run.run[key] for key in keys) for run in runs]
    if all(None not in each for each in told) and len(set(told)) == 1:
        return "All runs have the same model, lengths and batch."
    products = {run.products for run in runs}
    if len(products) == 1 and None not in products:
        return "All traces have the same matrix products, so they show the same layers at work on as many tokens."
    return (
        "The runs are not known to be the same workload: read each column for itself, and compare no times across them."
    )


# ---------------------------------------------------------------- the answers; each None where the run does not tell


def _metric(name: str) -> Callable[[RunFacts], str | None]:
    metric = METRICS[name]

    def answer(run: RunFacts) -> str | None:
        values = metric.read(run)
        return value(median(values), metric.unit) if values else None

    return answer


def _bytes_of(column: str) -> Callable[[RunFacts], str | None]:
    return lambda run: fmt.size(run.run[column]) if run.run[column] else None


def _counter(name: str) -> Callable[[RunFacts], str | None]:
    def answer(run: RunFacts) -> str | None:
        values = [row["bytes"] for row in run.rows["memory"] if row["counter"] == name and row["bytes"]]
        return fmt.size(max(values)) if values else None

    return answer


def _one_memory(run: RunFacts) -> str | None:
    """One memory or two, as far as the numbers say."""
    counters = {row["counter"]: row["bytes"] for row in run.rows["memory"]}
    if run.run["device"] == "cpu":
        return "one: the device is the host"
    if run.run["device_memory_bytes"] and run.run["device"] != "mps":
        return f"two: {fmt.size(run.run['device_memory_bytes'])} on the device beside the host's"
    if run.run["device"] == "mps" and counters.get("recommended_max") and run.run["memory_bytes"]:
        share = counters["recommended_max"] / run.run["memory_bytes"]
        return f"one, shared; {fmt.percent(share, 2)} of it recommended to the GPU"
    return None


def _kv_line(run: RunFacts) -> str | None:
    values = kv_bytes_per_token(run)
    if not values:
        return None
    verdicts = {row["verdict"] for row in run.rows["kv"]}
    agreed = "equal to the computed bytes" if verdicts == {"equal"} else ", ".join(sorted(verdicts))
    return f"{fmt.size(values[0])}, {agreed}"


def _main_phase(run: RunFacts) -> str | None:
    phases = [phase for phase in run.parts if phase != "outside"]
    return next((phase for phase in ("decode", "mixed", "prefill") if phase in phases), next(iter(phases), None))


def _per_call(column: str) -> Callable[[RunFacts], str | None]:
    def answer(run: RunFacts) -> str | None:
        phase = _main_phase(run)
        number = run.parts[phase][column] if phase else None
        if number is None or (column == "launches" and not number):
            return None
        return f"{fmt.rate(number)} in {_call(phase)}"

    return answer


def _call(phase: str | None) -> str:
    return "the traced step" if phase == "unknown" else "a decode step" if phase == "decode" else f"a {phase} call"


def _role(role: str) -> Callable[[RunFacts], str | None]:
    def answer(run: RunFacts) -> str | None:
        totals: dict[str, int] = {}
        for row in run.rows["calls"]:
            if row["role"] == role:
                totals[row["name"]] = totals.get(row["name"], 0) + row["calls"]
        listed = sorted(totals.items(), key=lambda item: -item[1])[:4]
        return ", ".join(f"{name} ({fmt.count(calls)})" for name, calls in listed) or None

    return answer


def _kernels_per_launch(run: RunFacts) -> str | None:
    phase = _main_phase(run)
    row = run.parts.get(phase or "")
    if not row or not row["launches"] or row["kernels"] is None:
        return None
    return fmt.rate(row["kernels"] / row["launches"])


def _delay(run: RunFacts) -> str | None:
    known = {row["phase"]: row["median_delay_ns"] for row in run.rows["delays"] if row["median_delay_ns"] is not None}
    phase = _main_phase(run)
    return fmt.duration(known[phase]) if phase in known else None


def _share(column: str) -> Callable[[RunFacts], str | None]:
    def answer(run: RunFacts) -> str | None:
        phase = _main_phase(run)
        row = run.parts.get(phase or "")
        if not row or row[column] is None or not row["wall_ns"]:
            return None
        return f"{fmt.percent(row[column] / row['wall_ns'])} of {_call(phase)}"

    return answer


def _busy(run: RunFacts) -> str | None:
    """As a time: on a server it may lie outside the host's range of the step, so a share of that would mislead."""
    phase = _main_phase(run)
    ns = (run.parts.get(phase or "") or {}).get("device_busy_ns")
    return None if ns is None else f"{fmt.duration(ns)} for {_call(phase)}"


def _device_copies(kind: str) -> Callable[[RunFacts], str | None]:
    def answer(run: RunFacts) -> str | None:
        if not run.rows["kernels"]:
            return None
        rows = [row for row in run.rows["kernels"] if row["kind"] == kind]
        if not rows:
            return "none"
        names: dict[str, list[int]] = {}
        for row in rows:
            total = names.setdefault(row["name"], [0, 0])
            total[0] += row["calls"]
            total[1] += row["ns"]
        return "; ".join(f"{name}: {fmt.count(n)}, {fmt.duration(ns)}" for name, (n, ns) in sorted(names.items()))

    return answer


def _copy_operators(run: RunFacts) -> str | None:
    wanted = ("aten::copy_", "aten::cat", "aten::contiguous", "aten::clone")
    phase = _main_phase(run)
    rows = {row["name"]: row["calls"] for row in run.rows["operators"] if row["phase"] == phase}
    if not phase or not rows:
        return None
    calls = run.parts[phase]["calls"]
    listed = [f"{name} {fmt.rate(rows[name] / calls)}" for name in wanted if name in rows]
    return f"{', '.join(listed)} in {_call(phase)}" if listed else "none"


def _host_rows(run: RunFacts) -> str | None:
    total = sum(row["calls"] for row in run.rows["operators"])
    if not total:
        return None
    note = "; their times are encode time, not GPU time" if run.run["device"] == "mps" else ""
    return f"{fmt.count(total)} operators and calls{note}"


def _device_rows(run: RunFacts) -> str | None:
    total = (run.rows["device_total"] or [{}])[0]
    if not run.traced_pass:
        return None
    return fmt.count(total["rows"]) if total.get("rows") else "none"


def _attributed(run: RunFacts) -> str | None:
    total = (run.rows["device_total"] or [{}])[0]
    return fmt.percent(total["attributed_share"]) if total.get("attributed_share") is not None else None


def _shapes(run: RunFacts) -> str | None:
    if not run.traced_pass:
        return None
    return "yes" if run.rows["products"] else "no"


def _memory_counters(run: RunFacts) -> str | None:
    known = [_COUNTERS.get(str(row["counter"]), str(row["counter"])) for row in run.rows["memory"]]
    return ", ".join(known) or None


def _thermal(run: RunFacts) -> str | None:
    return ", ".join(dict.fromkeys(str(row["state"]) for row in run.rows["thermal"])) or None


def _passes(run: RunFacts) -> str | None:
    return "; ".join(
        f"{row['pass']} {row['status'].replace('_', ' ')}" + (f" ({row['reason']})" if row["reason"] else "")
        for row in run.rows["passes"]
    )


_Lines = tuple[tuple[str, Callable[[RunFacts], str | None]], ...]

_LATENCY: _Lines = (
    ("prefill, median", _metric("prefill_p50")),
    ("decode step, median", _metric("decode_p50")),
    ("tokens a second", _metric("tokens_per_second")),
    ("CPU in prefill, of one core", _metric("prefill_cpu")),
    ("CPU in decode, of one core", _metric("decode_cpu")),
)
_MEMORY: _Lines = (
    ("memories", _one_memory),
    ("main memory", _bytes_of("memory_bytes")),
    ("device memory", _bytes_of("device_memory_bytes")),
    ("weights", _bytes_of("weight_bytes")),
    ("KV cache a token", _kv_line),
    *(
        (name, _counter(counter))
        for counter, name in _COUNTERS.items()
        if counter not in (*PROCESS_COUNTERS, "kv_cache")
    ),
    *((_COUNTERS[counter], _counter(counter)) for counter in PROCESS_COUNTERS),
)
_PATH: _Lines = (
    ("operators", _per_call("operators")),
    ("launches", _per_call("launches")),
    ("launched by", _role("launch")),
    ("kernels", _per_call("kernels")),
    ("kernels a launch", _kernels_per_launch),
    ("launch to begin of the kernel", _delay),
    ("waits by", _role("synchronisation")),
    ("time in operators", _share("operators_ns")),
    ("time waiting for the device", _share("waiting_ns")),
    ("time between operators", _share("between_ns")),
)
_COPIES: _Lines = (
    ("copies on the device", _device_copies("memcpy")),
    ("sets on the device", _device_copies("memset")),
    ("called by", _role("copy")),
    ("copying operators", _copy_operators),
)
_SEEN: _Lines = (
    ("passes", _passes),
    ("host", _host_rows),
    ("device rows", _device_rows),
    ("device time with a known launch", _attributed),
    ("device busy", _busy),
    ("input shapes", _shapes),
    ("memory counters", _memory_counters),
    ("thermal state", _thermal),
)
