"""Runs by hand for comparisons: tests name only what matters to them."""

from __future__ import annotations

from typing import Any

from analyze.compare.facts import OF_PASS, OF_RUN, Row, RunFacts
from analyze.compare.sides import Side

MS = 1_000_000
_RUN: Row = dict.fromkeys(
    (
        "label", "model", "weights", "device", "dtype", "attention", "cache", "logits", "batch_size", "prompt_tokens",
        "new_tokens", "captured_unix_ns", "os", "device_name", "processor", "cores", "gpu_cores", "memory_bytes",
        "device_memory_bytes", "warmup", "repeats", "seed", "parameters", "layers", "weight_bytes", "software",
        "capture_version",
    )
)  # fmt: skip
BUNDLE: Row = {
    "source_kind": "bundle", "model": "m", "weights": "real", "device": "mps", "dtype": "float16", "attention": "sdpa",
    "cache": "DynamicCache", "logits": "all", "batch_size": 1, "prompt_tokens": 8, "new_tokens": 4,
}  # fmt: skip


def facts(
    run_id: str = "run",
    *,
    prefill_ms: list[float] | None = None,
    decode_ms: list[list[float]] | None = None,
    tokens: str | None = "same",
    cpu_percent: float = 100.0,
    rows: dict[str, list[Row]] | None = None,
    traced_pass: str | None = "profiled",
    **run: Any,
) -> RunFacts:
    """A run whose clean repeats take these times; `decode_ms` holds the steps of each repeat."""
    found: dict[str, list[Row]] = {name: [] for name in (*OF_RUN, *OF_PASS)}
    found["run"] = [
        {
            **_RUN,
            **BUNDLE,
            "run_id": run_id,
            "source": run_id,
            "ranks": 1,
            "raw_events": 10,
            "excluded_events": 0,
            **run,
        }
    ]
    for repeat, ms in enumerate(prefill_ms or []):
        found["repeats"].append(_repeat(repeat, "prefill", [ms], cpu_percent))
        found["steps"].append(_step("prefill", 0, repeat, ms))
    for repeat, steps in enumerate(decode_ms or []):
        found["repeats"].append(_repeat(repeat, "decode", steps, cpu_percent))
        found["steps"] += [_step("decode", step, repeat, ms) for step, ms in enumerate(steps, 1)]
    found["clean_cpu"] = [
        {
            "phase": phase,
            "cpu_percent": cpu_percent,
            "busy_elsewhere": cpu_percent < 80 and found["run"][0]["device"] == "cpu",
        }
        for phase in dict.fromkeys(row["phase"] for row in found["repeats"])
    ]
    digests = {"prompt_sha256": "p" if tokens else None, "generated_sha256": tokens}
    clean = {"pass": "clean", "status": "measured", "reason": None, "cpu_threads": 1, "conditions": None, **digests}
    found["passes"] = [clean]
    return RunFacts(run_id, found | (rows or {}), traced_pass)


def side(*runs: RunFacts) -> Side:
    return Side(runs[0].run_id, runs)


def part(phase: str, calls: int = 1, **columns: Any) -> Row:
    """A row of `parts`: the mean call of a phase."""
    names = ("wall_ns", "operators_ns", "waiting_ns", "between_ns", "device_busy_ns", "device_idle_ns", "tokens")
    counted = ("operators", "launches", "kernels")
    base: Row = dict.fromkeys((*names, *counted, *(f"{name}_sum" for name in counted)))
    return {**base, "pass": "profiled", "phase": phase, "calls": calls, **columns}


def _repeat(repeat: int, phase: str, ms: list[float], cpu_percent: float) -> Row:
    ordered = sorted(ms)
    middle = (ordered[(len(ms) - 1) // 2] + ordered[len(ms) // 2]) / 2
    return {
        "repeat": repeat, "phase": phase, "calls": len(ms), "sum_ns": sum(ms) * MS, "p50_ns": middle * MS,
        "p95_ns": ordered[-1] * MS, "tokens_per_second": 1e3 * len(ms) / sum(ms), "cpu_percent": cpu_percent,
    }  # fmt: skip


def _step(phase: str, step: int, repeat: int, ms: float) -> Row:
    return {"phase": phase, "step": step, "repeat": repeat, "dur_ns": ms * MS, "cached_tokens": 8 + step}
