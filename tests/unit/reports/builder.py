"""Synthetic stores for the report's tests. Nothing in them was measured: they are made so that answers are known.

The shapes are those of a small decoder: a prefill with long operators, then decode steps like pickets.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from analyze.derived import derive
from analyze.store import writable_store

MS = 1_000_000

NASTY = (
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(2)>',
    "{{ 7 * 7 }}",
    "var(--ink)<!--",
    "/home/somebody/secret/model.py(12): forward",
)


@dataclass
class Synthetic:
    """What the store is to hold. Defaults: three clean and profiled generations of 16 tokens on a CPU."""

    run_id: str = "synthetic-run"
    model: str = "synthetic/decoder-135M"
    weights: str | None = "real"
    device: str | None = "cpu"
    dtype: str = "float32"
    batch_size: int = 1
    prompt_tokens: int = 128
    new_tokens: int = 16
    repeats: int = 3
    layers: int = 30
    ops_per_layer: int = 4
    clean: bool = True
    traced: bool = True
    phases: bool = True
    samples: bool = True
    kernels: bool = False
    kv_known: bool = True
    nasty: bool = False
    excluded: int = 0
    repaired: int = 0
    source_kind: str = "bundle"
    prefill_ms: float = 400.0
    decode_ms: float = 48.0
    slow_step: int | None = 7
    claims: bool = False
    seed: int = 7
    overhead: float = 1.3

    @property
    def kv_bytes_per_token(self) -> int:
        return 23_040 * self.batch_size


# The GPU's name is a real one, so that the peaks in analyze/machines.toml are found; nothing was measured on it.
_DEVICE_NAMES = {"cpu": "made-up processor", "cuda": "NVIDIA A100-SXM4-80GB", "mps": "made-up chip"}


def _architecture(what: Synthetic) -> dict:
    """Sizes of a SmolLM2-135M, whose parameters they make up when there are 30 layers."""
    layer = {"kind": "full", "kv_heads": 3, "key_dim": 64, "value_dim": 64}
    return {
        "model_type": "llama", "layers": what.layers, "hidden_size": 576, "heads": 9, "kv_heads": 3, "head_dim": 64,
        "intermediate_size": 1536, "vocab_size": 49152, "parameters": 134_515_008, "weight_bytes": 538_060_032,
        "tied_embeddings": True, "kv_element_bytes": 4, "kv_layers": [layer] * what.layers,
    }  # fmt: skip


@dataclass
class _Rows:
    phases: list[dict] = field(default_factory=list)
    ops: list[dict] = field(default_factory=list)
    kernels: list[dict] = field(default_factory=list)
    samples: list[dict] = field(default_factory=list)


def build(path: Path, *runs: Synthetic) -> Path:
    """Write a store with these runs to `path`, and answer it."""
    with writable_store(path) as connection:
        for number, what in enumerate(runs or (Synthetic(),)):
            _insert_run(connection, what, number)
            derive(connection, what.run_id)
    return path


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[dict]) -> None:
    if not rows:
        return
    keys = {key: None for row in rows for key in row}  # Arrow would take the columns of the first row alone
    batch = pa.Table.from_pylist([{**keys, **row} for row in rows])
    connection.register("batch", batch)
    connection.execute(f"INSERT INTO {table} BY NAME FROM batch")
    connection.unregister("batch")


def _insert_run(connection: duckdb.DuckDBPyConnection, what: Synthetic, number: int) -> None:
    rows = _Rows()
    rng = random.Random(what.seed)
    if what.clean:
        _clean(what, rows, rng)
    if what.traced:
        _traced(what, rows, rng)
    trace_pass = "profiled" if what.source_kind == "bundle" else "trace"
    loaded = len(rows.ops) + len(rows.kernels)
    bundle = what.source_kind == "bundle"
    run = {
        "run_id": what.run_id,
        "label": "synthetic" if bundle else None,
        "source": f"{what.run_id}.zip",
        "source_kind": what.source_kind,
        "source_sha256": f"{number:064x}",
        "model": what.model if bundle else None,
        "weights": what.weights,
        "device": what.device,
        "device_name": _DEVICE_NAMES.get(what.device or ""),
        "dtype": what.dtype if bundle else None,
        "attention": "sdpa" if bundle else None,
        "cache": "DynamicCache" if bundle else None,
        "logits": "last" if bundle else None,
        "batch_size": what.batch_size if bundle else None,
        "prompt_tokens": what.prompt_tokens if bundle else None,
        "new_tokens": what.new_tokens if bundle else None,
        "ranks": 1,
        "captured_unix_ns": 1_790_000_000 * 10**9 if bundle else None,
        "loaded_unix_ns": (1_790_000_100 + number) * 10**9,
        "os": "Linux 6.1 x86_64" if bundle else None,
        "python_version": "3.11.2" if bundle else None,
        "torch_version": "2.13.0" if bundle else None,
        "transformers_version": "5.24.0" if bundle else None,
        "phasescope_version": "0.1.0",
        "trace_engine": "wasm" if what.traced else None,
        "trace_engine_version": "Perfetto v52.0" if what.traced else None,
        "raw_events": loaded + what.excluded,
        "loaded_events": loaded,
        "excluded_events": what.excluded,
        "architecture": json.dumps(_architecture(what)) if bundle else None,
        "manifest": json.dumps({"workload": {"warmup": 1, "repeat": what.repeats}}) if bundle else None,
    }
    _insert(connection, "runs", [run])
    passes = []
    if bundle:
        passes.append(
            {
                "run_id": what.run_id,
                "pass": "clean",
                "status": "measured" if what.clean else "failed",
                "reason": None if what.clean else "the worker was ended by signal 9",
            }
        )
        passes.append(
            {
                "run_id": what.run_id,
                "pass": "profiled",
                "status": "measured" if what.traced else "not_attempted",
                "reason": None,
            }
        )
        passes.append(
            {"run_id": what.run_id, "pass": "metal", "status": "unsupported", "reason": "xctrace exists only on macOS"}
        )
    else:
        passes.append({"run_id": what.run_id, "pass": "trace", "status": "measured", "reason": None})
    _insert(connection, "passes", passes)
    _insert(connection, "phases", rows.phases)
    if what.traced:
        _insert(
            connection,
            "threads",
            [
                {
                    "run_id": what.run_id,
                    "pass": trace_pass,
                    "rank": 0,
                    "thread_id": 1,
                    "pid": "4711",
                    "tid": "4711",
                    "process_name": "python",
                    "thread_name": "MainThread",
                }
            ],
        )
    _insert(connection, "ops", rows.ops)
    _insert(connection, "kernels", rows.kernels)
    _insert(connection, "samples", rows.samples)
    _insert(connection, "instants", _allocations(what, rows))
    _insert(connection, "counters", _counters(what, rows))
    if what.samples:
        _insert(
            connection,
            "kv_expected",
            [
                {
                    "run_id": what.run_id,
                    "cached_tokens": tokens,
                    "computed_bytes": tokens * what.kv_bytes_per_token if what.kv_known else None,
                    "reason": f"{what.layers} layers × 2 × 3 KV heads × 64 × 2 bytes × {tokens} tokens"
                    if what.kv_known
                    else "the configuration does not tell how layer 3 stores its state",
                }
                for tokens in range(what.prompt_tokens, what.prompt_tokens + what.new_tokens)
            ],
        )
    quality = []
    if what.excluded:
        quality.append(
            {
                "reason": "end before begin",
                "kind": "excluded",
                "events": what.excluded,
                "detail": "first in event 311 of /data/somebody/trace.json",
            }
        )
    if what.repaired:
        quality.append(
            {
                "reason": "slice overlaps another",
                "kind": "repaired",
                "events": what.repaired,
                "detail": "laid on an extra lane",
            }
        )
    quality.append({"reason": "metadata", "kind": "note", "events": 4, "detail": "names of processes and threads"})
    _insert(connection, "quality", [{"run_id": what.run_id, "rank": 0, **row} for row in quality])
    if what.claims:
        _insert(
            connection,
            "claims",
            [
                {
                    "run_id": what.run_id,
                    "claim_id": "kv_equals_architecture",
                    "claim": "KV growth equals the architecture",
                    "verdict": "holds",
                    "evidence": "measured bytes",
                    "numbers": json.dumps({"points": 16, "largest difference": 0}),
                    "sql": "SELECT 1",
                    "settled_by": None,
                },
                {
                    "run_id": what.run_id,
                    "claim_id": "limiter_decode",
                    "claim": "Decode is memory-bound",
                    "verdict": "not established",
                    "evidence": "shape only",
                    "numbers": json.dumps({"intensity": 0.5}),
                    "sql": "SELECT 2",
                    "settled_by": "counters of memory bandwidth",
                },
                {
                    "run_id": what.run_id,
                    "claim_id": "copies",
                    "claim": "Host and device exchange copies",
                    "verdict": "does not hold",
                    "evidence": "trace rows",
                    "numbers": "{}",
                    "sql": "SELECT 3",
                    "settled_by": None,
                },
            ],
        )


def _allocations(what: Synthetic, rows: _Rows) -> list[dict]:
    """One allocation a call on the GPU, and one of 8 bytes on the CPU, as PyTorch's profiler writes them."""
    if what.device != "cuda" or not what.samples:
        return []
    events, total = [], 540 << 20
    for number, phase in enumerate(phase for phase in rows.phases if phase["pass"] == "profiled"):
        for device, change in ((1, phase["tokens"] * what.kv_bytes_per_token), (0, 8)):
            total += change if device else 0
            args = {
                "Device Type": device, "Device Id": 0 if device else -1, "Bytes": change,
                "Total Allocated": total if device else 8, "Total Reserved": 700 << 20, "Ev Idx": 2 * number + device,
            }  # fmt: skip
            events.append(
                {
                    "run_id": what.run_id,
                    "pass": "profiled",
                    "rank": 0,
                    "name": "[memory]",
                    "t_ns": phase["start_ns"] + phase["dur_ns"] // 2,
                    "args": json.dumps(args),
                }
            )
    return events


def _counters(what: Synthetic, rows: _Rows) -> list[dict]:
    """Busy memory in each traced call of a GPU."""
    if what.device != "cuda":
        return []
    return [
        {
            "run_id": what.run_id,
            "pass": phase["pass"],
            "rank": 0,
            "track": "GPU 0 Counters HBM BW (%)",
            "t_ns": phase["start_ns"] + phase["dur_ns"] // 2,
            "value": 88.0 if phase["phase"] == "decode" else 31.0,
            "unit": "percent",
        }
        for phase in rows.phases
        if phase["pass"] != "clean"
    ]


def _calls(what: Synthetic) -> list[tuple[str, int, int]]:
    """(phase, step, cached tokens) of one generation."""
    decode = [("decode", step, what.prompt_tokens + step) for step in range(1, what.new_tokens)]
    return [("prefill", 0, what.prompt_tokens), *decode]


def _clean(what: Synthetic, rows: _Rows, rng: random.Random) -> None:
    t = 0
    for repeat in range(what.repeats):
        for phase, step, cached in _calls(what):
            base = what.prefill_ms if phase == "prefill" else what.decode_ms
            dur = round(base * MS * (1 + rng.uniform(-0.03, 0.03)) * (1.4 if step == what.slow_step else 1))
            rows.phases.append(
                {
                    "run_id": what.run_id,
                    "pass": "clean",
                    "rank": 0,
                    "repeat": repeat,
                    "phase": phase,
                    "step": step,
                    "start_ns": t,
                    "dur_ns": dur,
                    "cpu_ns": round(dur * (1.9 if phase == "prefill" else 1.2)),
                    "tokens": (what.prompt_tokens if phase == "prefill" else 1) * what.batch_size,
                    "cached_tokens": cached,
                    "source": "timer",
                }
            )
            t += dur + 60_000


OPERATORS = (
    "aten::linear",
    "aten::scaled_dot_product_attention",
    "aten::mul",
    "aten::cat",
    "aten::rsqrt",
    "aten::silu",
    "aten::add",
)


def _traced(what: Synthetic, rows: _Rows, rng: random.Random) -> None:
    pass_name = "profiled" if what.source_kind == "bundle" else "trace"
    names = OPERATORS + (NASTY if what.nasty else ())
    op_id = kernel_id = 0
    t = 5 * MS
    resident = 900 << 20
    for repeat in range(what.repeats if what.source_kind == "bundle" else 1):
        if what.samples:
            rows.samples.append(_sample(what, repeat, "before_prefill", 0, t, 0, resident, None))
        for phase, step, cached in _calls(what):
            base = what.prefill_ms if phase == "prefill" else what.decode_ms
            wall = round(base * MS * what.overhead * (1 + rng.uniform(-0.03, 0.03)))
            calls = what.layers * what.ops_per_layer
            slot = wall // (calls + 1)
            named = phase if what.phases else None
            for call in range(calls):
                start = t + call * slot + slot // 10
                dur = round(slot * 0.8)
                name = names[call % len(names)]
                inner = dur // 2
                common = {
                    "run_id": what.run_id,
                    "pass": pass_name,
                    "rank": 0,
                    "thread_id": 1,
                    "layer": "operator",
                    "category": "cpu_op",
                    "role": "operator",
                    "repeat": repeat if named else None,
                    "phase": named,
                    "step": step if named else None,
                }
                top = op_id
                rows.ops.append(
                    {
                        **common,
                        "op_id": top,
                        "parent_id": None,
                        "depth": 0,
                        "name": name,
                        "start_ns": start,
                        "dur_ns": dur,
                        "self_ns": dur - inner,
                        "correlation_id": None,
                    }
                )
                role = "launch" if what.kernels else "operator"
                rows.ops.append(
                    {
                        **common,
                        "op_id": top + 1,
                        "parent_id": top,
                        "depth": 1,
                        "role": role,
                        "name": "cudaLaunchKernel" if what.kernels else "aten::addmm",
                        "start_ns": start + dur // 4,
                        "dur_ns": inner,
                        "self_ns": inner,
                        "correlation_id": top if what.kernels else None,
                    }
                )
                op_id += 2
                if what.kernels:
                    rows.kernels.append(
                        {
                            "run_id": what.run_id,
                            "pass": pass_name,
                            "rank": 0,
                            "kernel_id": kernel_id,
                            "name": f"void gemm_{call % 5}<half, 128>(int)"
                            if not what.nasty
                            else NASTY[call % len(NASTY)],
                            "kind": "memcpy" if call % 40 == 39 else "kernel",
                            "device": "0",
                            "stream": "7",
                            "start_ns": start + dur // 3,
                            "dur_ns": round(slot * (0.75 if phase == "prefill" else 0.3)),
                            "correlation_id": top,
                            "launch_op_id": top + 1,
                            "launch_delay_ns": dur // 12,
                            "repeat": repeat if named else None,
                            "phase": named,
                            "step": step if named else None,
                            "attributed_by": "correlation" if named else "unattributed",
                            "bytes": 4096 if call % 40 == 39 else None,
                        }
                    )
                    kernel_id += 1
            if what.phases:
                rows.phases.append(
                    {
                        "run_id": what.run_id,
                        "pass": pass_name,
                        "rank": 0,
                        "repeat": repeat,
                        "phase": phase,
                        "step": step,
                        "start_ns": t,
                        "dur_ns": wall,
                        "cpu_ns": round(wall * 1.1) if what.source_kind == "bundle" else None,
                        "tokens": (what.prompt_tokens if phase == "prefill" else 1) * what.batch_size
                        if what.source_kind == "bundle"
                        else None,
                        "cached_tokens": cached if what.source_kind == "bundle" else None,
                        "name": "inference.prefill" if phase == "prefill" else "inference.decode_step",
                        "source": "annotation",
                        "thread_id": 1,
                    }
                )
            t += wall
            resident += rng.randrange(1 << 20)
            if what.samples:
                edge = "after_prefill" if phase == "prefill" else "after_decode"
                rows.samples.append(
                    _sample(
                        what,
                        repeat,
                        edge,
                        step,
                        t,
                        cached * what.kv_bytes_per_token,
                        resident,
                        110.0 + rng.uniform(-4, 4),
                    )
                )
            t += round(base * MS * 0.12)
        t += 40 * MS
    if not what.phases:
        rows.phases.append(
            {
                "run_id": what.run_id,
                "pass": pass_name,
                "rank": 0,
                "repeat": 0,
                "phase": "unknown",
                "step": 0,
                "start_ns": 5 * MS,
                "dur_ns": t - 5 * MS,
                "source": "whole_trace",
                "thread_id": 1,
            }
        )
        for row in rows.ops + rows.kernels:
            row.update(phase="unknown", step=0, repeat=0)


def _sample(
    what: Synthetic, repeat: int, phase: str, step: int, t: int, kv: int, resident: int, cpu: float | None
) -> dict:
    device = what.device != "cpu"
    return {
        "run_id": what.run_id,
        "pass": "profiled",
        "repeat": repeat,
        "phase": phase,
        "step": step,
        "t_ns": t,
        "kv_cache_bytes": kv,
        "tensor_bytes": (540 << 20) + kv if device else 0,
        "driver_bytes": 700 << 20 if device else 0,
        "recommended_max_bytes": 16 << 30 if device else None,
        "peak_bytes": (560 << 20) + kv if device else None,
        "resident_bytes": resident,
        "footprint_bytes": resident - (40 << 20) if what.device == "mps" else None,
        "process_cpu_percent": cpu,
    }
