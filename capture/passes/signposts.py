"""The signposts pass, inside the recorded process: the workload once under torch.mps.profiler in interval mode.

Signposts end the coalescing of encoders, so this counts operators, copies and CPU fallbacks; it times nothing.
"""

from __future__ import annotations

import os

import torch

from capture.clock import read_clocks
from capture.devices.mps import ABSENT
from capture.environment import profiling_variables_set
from capture.passes.common import PassContext, PassOutcome, start_clock, workload_detail, write_timings
from capture.recorder import Recorder


def run(context: PassContext) -> PassOutcome:
    """Writes timings.jsonl; the signposts are exported by the parent when this process has ended."""
    total = context.spec.warmup + 1
    clock = start_clock()
    found = profiling_variables_set(os.environ)
    if found:
        return PassOutcome("refused", clock, f"{', '.join(found)} is set, and signposts cannot be switched on twice.")
    context.warm_up(total)
    recorder = Recorder(context.device)
    context.report(context.spec.warmup, total, "signposts")
    try:
        torch.mps.profiler.start(mode="interval", wait_until_completed=False)
    except ABSENT as error:
        return PassOutcome("unsupported", clock, f"torch.mps.profiler does not start here: {_first_line(error)}")
    try:
        result = context.generate(recorder)
    finally:
        torch.mps.profiler.stop()
    clock.end = read_clocks()
    write_timings(context.folder / "timings.jsonl", recorder.timings, clock.start.monotonic_ns)
    return PassOutcome("measured", clock, detail=workload_detail(context, result) | {"mode": "interval"})


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
