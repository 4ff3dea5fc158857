"""The profiled pass: the same workload once under PyTorch's profiler, with ranges and resource samples."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from capture.bundle import write_then_rename
from capture.clock import read_clocks
from capture.errors import PhasescopeError
from capture.passes.common import (
    PassContext,
    PassOutcome,
    start_clock,
    workload_detail,
    write_samples,
    write_timings,
)
from capture.recorder import Recorder
from capture.redact import replacements

TRACE_NAME = "trace.json.gz"
# On a trace of 125 MB level 3 took 0.56 s for 9.2 MB, level 6 0.86 s for 7.2 MB, level 9 3.3 s for 6.4 MB.
GZIP_LEVEL = 6
# The exporter writes the arguments of an event on one line, these three before the dimensions.
BESIDE_DIMS = re.compile(rb'"(?:Concrete Inputs|Input type|Input Strides)": \[.*?\], (?="Input )')
HOST_NAME = re.compile(rb'("host_?name": *)"[^"]*"', re.IGNORECASE)
FILE_NAME = re.compile(rb'("traceName": *)"[^"]*"')


def _activities(kind: str) -> list[ProfilerActivity]:
    # No release of PyTorch has an activity for MPS: there a trace holds the host's side only.
    cuda = [ProfilerActivity.CUDA] if kind == "cuda" else []
    return [ProfilerActivity.CPU, *cuda]


def _start_profiler_once(kind: str) -> None:
    """Let the profiler do its one-off set-up on one small operator, so that it does not fall into prefill."""
    with profile(activities=_activities(kind)):
        torch.ones(1).add(1)


def run(context: PassContext) -> PassOutcome:
    """Profile one generation; writes trace.json.gz, timings.jsonl and samples.jsonl."""
    return profile_generation(context, _activities(context.device.kind))


def profile_generation(
    context: PassContext, activities: Sequence[Any], *, inspect: Callable[[Path], bool] | None = None
) -> PassOutcome:
    """One generation under the profiler with these activities; files as of the profiled pass.

    `inspect` looks at the exported trace before it is compressed; its answer goes to detail["inspected"].
    """
    spec = context.spec
    total = spec.warmup + 2
    clock = start_clock()
    context.warm_up(total)
    _start_profiler_once(context.device.kind)
    context.device.reset_peak()
    recorder = Recorder(context.device, ranges=True, samples=True)
    context.report(spec.warmup, total, "profiled")
    with profile(
        activities=activities,
        record_shapes=spec.record_shapes,
        profile_memory=spec.profile_memory,
        with_stack=spec.with_stack,
    ) as profiler:
        result = context.generate(recorder)
    clock.end = read_clocks()
    write_timings(context.folder / "timings.jsonl", recorder.timings, clock.start.monotonic_ns)
    write_samples(context.folder / "samples.jsonl", recorder.samples, clock.start.monotonic_ns)
    context.report(spec.warmup + 1, total, "writing the trace")
    # A folder of its own: the exporter writes a file beside the one it is told, and leaves it where it fails.
    scratch = context.folder / f".export.{os.getpid()}.partial"
    scratch.mkdir()
    raw = scratch / "trace.json"
    try:
        profiler.export_chrome_trace(str(raw))
        detail = workload_detail(context, result) | {
            "with_stack": spec.with_stack,
            "record_shapes": spec.record_shapes,
            "dims_only": spec.dims_only,
            "profile_memory": spec.profile_memory,
            "trace_bytes": raw.stat().st_size if raw.exists() else 0,
        }
        if not detail["trace_bytes"]:
            return PassOutcome(
                "empty",
                clock,
                "PyTorch's profiler exported no trace; its worker.log may tell why, and the disk may be full.",
                detail,
            )
        if not _whole(raw):
            raise PhasescopeError(
                f"The trace at {context.folder} was cut off while it was written; make room on that disk."
            )
        if inspect is not None:
            detail["inspected"] = inspect(raw)
        compress_trace(raw, context.folder / TRACE_NAME, dims_only=spec.dims_only)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return PassOutcome("measured", clock, detail=detail)


def _whole(path: Path) -> bool:
    """Whether the JSON object in `path` was closed; on a full disk the profiler cuts it off without a word."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 64))
        return stream.read().rstrip().endswith(b"}")


def compress_trace(source: Path, target: Path, *, dims_only: bool = False) -> None:
    """Compress an exported trace, without names of this machine's user, host and folders (stacks carry paths).

    dims_only leaves out the strides, types and values of inputs, a quarter of the compressed size; no event is
    changed otherwise.
    """
    pairs = [(old.encode(), new.encode()) for old, new in replacements() if "/" in old]
    with (
        source.open("rb") as raw,
        write_then_rename(target) as stream,
        gzip.GzipFile("trace.json", "wb", GZIP_LEVEL, stream, mtime=0) as packed,
    ):
        for line in raw:
            if dims_only and b'"Input Dims"' in line:
                line = BESIDE_DIMS.sub(b"", line)
            if b"/" in line or b"_name" in line:
                line = FILE_NAME.sub(rb'\1"trace.json"', HOST_NAME.sub(rb'\1""', line))
                for old, new in pairs:
                    line = line.replace(old, new)
            packed.write(line)
