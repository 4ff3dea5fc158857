"""The counters pass: hardware counters beside the workload, from Metal on a Mac, from PyTorch's sampling on CUDA."""

from capture.clock import read_clocks
from capture.passes import cuda_counters, metal
from capture.passes.common import PassContext, PassOutcome, start_clock


def run(context: PassContext) -> PassOutcome:
    """On mps this is the process that xctrace records with GPU counters on; on CUDA the profiler samples them."""
    if context.device.kind == "cuda":
        return cuda_counters.run(context)
    if context.device.kind == "mps":
        return metal.run(context)
    clock = start_clock()
    clock.end = read_clocks()
    return PassOutcome(
        "unsupported", clock, f"Hardware counters are read on mps and cuda; device {context.device.kind} has none."
    )
