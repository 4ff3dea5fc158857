"""The counters pass where PyTorch itself samples hardware counters (CUDA); on a Mac xctrace records them."""

from capture.clock import read_clocks
from capture.passes import cuda_counters
from capture.passes.common import PassContext, PassOutcome, start_clock


def run(context: PassContext) -> PassOutcome:
    """Sample counters beside the workload on CUDA; any other device has none to read in its own process."""
    if context.device.kind == "cuda":
        return cuda_counters.run(context)
    clock = start_clock()
    clock.end = read_clocks()
    return PassOutcome(
        "unsupported", clock, f"Hardware counters are read on mps and cuda; device {context.device.kind} has none."
    )
