"""The clean pass: synchronised wall time and CPU time of each phase, with no profiler anywhere in the process."""

from __future__ import annotations

import torch

from capture.clock import read_clocks
from capture.conditions import over_time, read_conditions
from capture.environment import tracing_hooks
from capture.passes.common import PassContext, PassOutcome, start_clock, workload_detail, write_timings
from capture.recorder import Recorder


def _profiler_on() -> bool:
    return bool(torch._C._autograd._profiler_enabled())


def run(context: PassContext) -> PassOutcome:
    """Generate `warmup` times unmeasured and `repeat` times measured; writes timings.jsonl."""
    total = context.spec.warmup + context.spec.repeat
    recorder = Recorder(context.device)
    clock = start_clock()
    if _profiler_on() or tracing_hooks():
        what = "PyTorch's profiler" if _profiler_on() else " and ".join(tracing_hooks())
        return PassOutcome("refused", clock, f"{what} is at work in this process, so its times would not be clean.")
    before = read_conditions()
    context.warm_up(total)
    for repeat in range(context.spec.repeat):
        context.report(context.spec.warmup + repeat, total, "measured")
        recorder.repeat = repeat
        result = context.generate(recorder)
    clock.end = read_clocks()
    if _profiler_on():
        return PassOutcome("refused", clock, "PyTorch's profiler was switched on while the pass ran.")
    write_timings(context.folder / "timings.jsonl", recorder.timings, clock.start.monotonic_ns)
    detail = workload_detail(context, result) | {"conditions": over_time(before, read_conditions())}
    return PassOutcome("measured", clock, detail=detail)
