"""The memory pass: the workload once with a resource sample at every phase edge and no profiler that holds memory."""

from __future__ import annotations

from capture.clock import read_clocks
from capture.passes.common import (
    PassContext,
    PassOutcome,
    start_clock,
    workload_detail,
    write_samples,
    write_timings,
)
from capture.recorder import Recorder


def run(context: PassContext) -> PassOutcome:
    """Writes samples.jsonl and timings.jsonl; its times hold the cost of sampling and are no latencies.

    Tensor, driver and recommended-maximum bytes are three counters; the peak is the allocator's own where it has
    one (detail.peak_from says), else that of the samples, which may miss what came between them.
    """
    spec = context.spec
    total = spec.warmup + 1
    clock = start_clock()
    context.warm_up(total)
    context.device.free_memory()
    context.device.reset_peak()
    recorder = Recorder(context.device, samples=True)
    context.report(spec.warmup, total, "measured")
    result = context.generate(recorder)
    clock.end = read_clocks()
    write_timings(context.folder / "timings.jsonl", recorder.timings, clock.start.monotonic_ns)
    write_samples(context.folder / "samples.jsonl", recorder.samples, clock.start.monotonic_ns)
    has_peak = any(sample.peak_bytes is not None for sample in recorder.samples)
    detail = workload_detail(context, result) | {"peak_from": "allocator" if has_peak else "samples"}
    if all(sample.tensor_bytes is None for sample in recorder.samples):
        return PassOutcome("empty", clock, "The device told nothing of its memory.", detail)
    return PassOutcome("measured", clock, detail=detail)
