"""The opstats pass, in a process with PYTORCH_MPS_LOG_PROFILE_INFO set: PyTorch prints its own tables when it ends.

It changes how command buffers are committed, so the tables rank operators and give no total and no latency.
"""

from __future__ import annotations

import os

from capture.clock import read_clocks
from capture.passes.common import PassContext, PassOutcome, start_clock, workload_detail
from capture.recorder import Recorder

VARIABLE = "PYTORCH_MPS_LOG_PROFILE_INFO"


def run(context: PassContext) -> PassOutcome:
    """Run the workload once; the parent reads the tables from this process's stderr."""
    total = context.spec.warmup + 1
    clock = start_clock()
    if VARIABLE not in os.environ:
        return PassOutcome("refused", clock, f"{VARIABLE} is not set in this process, so PyTorch prints no tables.")
    if context.device.kind != "mps":
        return PassOutcome(
            "unsupported", clock, f"PyTorch keeps these tables for mps only, not for {context.device.kind}."
        )
    context.warm_up(total)
    context.report(context.spec.warmup, total, "operator statistics")
    result = context.generate(Recorder(context.device))
    clock.end = read_clocks()
    runs = context.spec.warmup + 1
    return PassOutcome("measured", clock, detail=workload_detail(context, result) | {"generations_counted": runs})
