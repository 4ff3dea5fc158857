"""The metal pass, inside the process that xctrace records: a probe of known dispatches, then the workload once."""

from __future__ import annotations

import os
import time
from typing import Any

import torch

from capture.clock import now_ns, read_clocks
from capture.devices import Device
from capture.environment import profiling_variables_set
from capture.passes.common import PassContext, PassOutcome, start_clock, workload_detail, write_timings
from capture.recorder import Recorder

PROBE_DISPATCHES = 64
PROBE_ELEMENTS = 1 << 20
PROBE_PAUSE_S = 0.05


def dispatch_probe(device: Device, zero_ns: int) -> dict[str, Any]:
    """Hand the device a known number of dispatches, one command buffer each, with a pause on either side.

    As many encoders of this process must come back between start_ns and start_ns + dur_ns (from the pass's start);
    if not, rows of this recording are missing, and nothing may be claimed from them.
    """
    ones = torch.ones(PROBE_ELEMENTS, device=device.kind)
    ones.add_(1)
    device.synchronize()
    time.sleep(PROBE_PAUSE_S)
    start_ns = now_ns()
    for _ in range(PROBE_DISPATCHES):
        ones.add_(1)
        device.synchronize()
    dur_ns = now_ns() - start_ns
    time.sleep(PROBE_PAUSE_S)
    return {"dispatches": PROBE_DISPATCHES, "start_ns": start_ns - zero_ns, "dur_ns": dur_ns}


def run(context: PassContext) -> PassOutcome:
    """Writes timings.jsonl; the recording itself is exported by the parent when this process has ended."""
    total = context.spec.warmup + 1
    clock = start_clock()
    found = profiling_variables_set(os.environ)
    if found:
        return PassOutcome(
            "refused", clock, f"{', '.join(found)} is set in the recorded process, which changes its work."
        )
    context.warm_up(total)
    probe = dispatch_probe(context.device, clock.start.monotonic_ns)
    recorder = Recorder(context.device)
    context.report(context.spec.warmup, total, "recorded")
    result = context.generate(recorder)
    clock.end = read_clocks()
    write_timings(context.folder / "timings.jsonl", recorder.timings, clock.start.monotonic_ns)
    return PassOutcome("measured", clock, detail=workload_detail(context, result) | {"probe": probe})
