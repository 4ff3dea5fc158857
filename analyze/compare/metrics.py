"""The numbers that are compared and that a gate may name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

from analyze.compare.facts import RunFacts
from analyze.statistics import Better

Kind = Literal["repeated", "counted", "observed"]
Unit = Literal["ns", "tokens/s", "percent", "count", "bytes"]

# The counter that stands for peak memory: the most telling one that a machine has, in this order.
PEAK_COUNTERS = ("peak", "driver", "footprint", "resident")
# Counters of the whole process: other work in it and the allocator's habits move them, so one value is not exact.
PROCESS_COUNTERS = ("footprint", "resident")


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    kind: `repeated` (measured in every clean repeat, so it has noise and an interval), `counted` (the same in every
    repeat of the same program, so any difference is one) or `observed` (one reading, whose noise is not known).
    """

    name: str
    meaning: str
    unit: Unit
    better: Better
    kind: Kind
    phase: str | None
    read: Callable[[RunFacts], Sequence[float]]


def _clean(phase: str, column: str) -> Callable[[RunFacts], list[float]]:
    return lambda run: run.per_repeat(phase, column)


def _counted(phase: str, column: str, per: str) -> Callable[[RunFacts], list[float]]:
    def read(run: RunFacts) -> list[float]:
        row = run.parts.get(phase)
        if row is None or row[f"{column}_sum"] is None or not row[per]:
            return []
        if column == "launches" and not any(call["role"] == "launch" for call in run.rows["calls"]):
            return []  # a trace of mps or cpu shows no launch at all, which is not the same as launching nothing
        return [row[f"{column}_sum"] / row[per]]

    return read


def kv_bytes_per_token(run: RunFacts) -> list[float]:
    """What one more cached token adds to the KV cache, measured: the median over neighbouring points."""
    points = [(row["cached_tokens"], row["measured_bytes"]) for row in run.rows["kv"]]
    growth = [
        (after - before) / (later - sooner) for (sooner, before), (later, after) in pairwise(points) if later > sooner
    ]
    return [median(growth)] if growth else []


def peak_counter(run: RunFacts) -> str | None:
    """The counter that `peak_memory` reads in this run."""
    known = {row["counter"] for row in run.rows["memory"] if row["bytes"]}
    return next((counter for counter in PEAK_COUNTERS if counter in known), None)


def memory_bytes(run: RunFacts, counter: str | None) -> list[float]:
    """The highest value of a counter."""
    return [row["bytes"] for row in run.rows["memory"] if row["counter"] == counter and row["bytes"]]


_COUNTS = {
    "operators": "operators of the host, nested ones included",
    "launches": "calls that launch a kernel or a graph",
    "kernels": "kernels on the device, copies not counted",
}


def _metrics() -> list[Metric]:
    prefill, decode = _clean("prefill", "p50_ns"), _clean("decode", "p50_ns")
    metrics = [
        Metric("prefill_p50", "prefill call", "ns", "lower", "repeated", "prefill", prefill),
        Metric("ttft", "time to first token: the prefill call", "ns", "lower", "repeated", "prefill", prefill),
        Metric("decode_p50", "decode step, median of a repeat's steps", "ns", "lower", "repeated", "decode", decode),
        Metric(
            "decode_p95", "decode step, 95th percentile of a repeat's steps", "ns", "lower", "repeated", "decode",
            _clean("decode", "p95_ns"),
        ),
        Metric("total", "whole generation", "ns", "lower", "repeated", None, lambda run: run.generations()),
        Metric(
            "tokens_per_second", "decoded tokens a second, over the batch", "tokens/s", "higher", "repeated", "decode",
            _clean("decode", "tokens_per_second"),
        ),
    ]  # fmt: skip
    for phase in ("prefill", "decode"):
        meaning = f"CPU time of the process in {phase}, per cent of one core"
        metrics.append(
            Metric(f"{phase}_cpu", meaning, "percent", None, "repeated", phase, _clean(phase, "cpu_percent"))
        )
    for column, meaning in _COUNTS.items():
        for per, word in (("tokens", "token"), ("calls", "step")):
            name, text = f"{column}_per_{word}", f"{meaning}, for each decode {word}"
            metrics.append(Metric(name, text, "count", "lower", "counted", "decode", _counted("decode", column, per)))
    metrics.append(
        Metric(
            "kv_bytes_per_token", "what one more cached token adds to the KV cache", "bytes", "lower", "counted", None,
            kv_bytes_per_token,
        )
    )  # fmt: skip
    metrics.append(
        Metric(
            "peak_memory", "highest memory reading, of the best counter that both sides have", "bytes", "lower",
            "observed", None, lambda run: memory_bytes(run, peak_counter(run)),
        )
    )  # fmt: skip
    return metrics


METRICS: dict[str, Metric] = {metric.name: metric for metric in _metrics()}


def find_metric(name: str) -> Metric | None:
    """The metric of that name; `<phase>_p50` and `<phase>_p95` exist for every phase that a clean pass may have."""
    if name in METRICS:
        return METRICS[name]
    phase, _, which = name.rpartition("_")
    if not phase or which not in ("p50", "p95"):
        return None
    return phase_metric(phase, which)


def phase_metric(phase: str, which: str = "p50") -> Metric:
    """A latency of a phase: the median, or the 95th percentile, of a repeat's calls."""
    meaning = f"{phase} call, {'median' if which == 'p50' else '95th percentile'} of a repeat's calls"
    return Metric(f"{phase}_{which}", meaning, "ns", "lower", "repeated", phase, _clean(phase, f"{which}_ns"))
