"""Hardware counters on CUDA: PyTorch's Cuspy collector samples them while it traces (PyTorch 2.15 and later).

Read from the published wheel of PyTorch 2.15.0 (torch/profiler/profiler.py, torch/profiler/_cuspy); not run on a GPU.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
import torch.profiler

from capture.passes.common import PassContext, PassOutcome, start_clock
from capture.passes.profiled import TRACE_NAME, profile_generation

# CUPTI's names; PyTorch shows the first three as SM Active (%), HBM BW (%) and HBM Read (%). Tensor pipes say whether
# arithmetic is the limit, which an active multiprocessor alone does not.
METRICS = (
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
)
SAMPLING_INTERVAL_MS = 1.0
# Not every PyTorch that this runs with, and that the type checker sees, has these names.
profiler: Any = torch.profiler
_COUNTER = b' Counters"'


def missing() -> str | None:
    """Why this machine cannot sample counters, in a sentence; None where it can try."""
    if not hasattr(profiler, "PerformanceMetricsConfig") or not hasattr(profiler, "CuspyConfig"):
        return f"PyTorch {torch.__version__} does not sample hardware counters; 2.15 and later do."
    if importlib.util.find_spec("cupti") is None:
        return "The package cupti-python is not installed, which PyTorch samples counters through; pip installs it."
    return None


def run(context: PassContext) -> PassOutcome:
    """Profile one generation with counters sampled every millisecond; files as in the profiled pass.

    unsupported where PyTorch or cupti-python lack, empty where the trace came without a counter.
    """
    reason = missing()
    if reason is not None:
        return PassOutcome("unsupported", start_clock(), reason)
    metrics = profiler.PerformanceMetricsConfig(list(METRICS), sampling_interval_ms=SAMPLING_INTERVAL_MS)
    cuda = profiler.ProfilerActivityConfig(profiler_configs=[profiler.CuspyConfig(), metrics])
    outcome = profile_generation(
        context, [profiler.ProfilerActivity.CPU, {profiler.ProfilerActivity.CUDA: cuda}], inspect=_holds_counters
    )
    held = outcome.detail.pop("inspected", None)
    outcome.detail |= {"metrics": list(METRICS), "sampling_interval_ms": SAMPLING_INTERVAL_MS}
    if outcome.status == "measured" and not held:
        (context.folder / TRACE_NAME).unlink(missing_ok=True)
        return PassOutcome(
            "empty",
            outcome.clock,
            "The trace came without a counter sample; NVIDIA's driver gives counters to administrators only unless it "
            "is told otherwise (NVreg_RestrictProfilingToAdminUsers=0).",
            outcome.detail,
        )
    return outcome


def _holds_counters(trace: Path) -> bool:
    """Whether the exported JSON has a process `GPU N Counters`."""
    with trace.open("rb") as stream:
        return any(_COUNTER in line for line in stream)
