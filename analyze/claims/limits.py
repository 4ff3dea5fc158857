"""Which resource limits a phase. Said only where hardware counters and the workload's shape agree."""

from __future__ import annotations

from functools import partial
from typing import Literal

from analyze.claims.model import FAILS, HOLDS, Claim, Decision, Numbers, opened

Resource = Literal["memory", "compute"]

# Nsight Compute's rule (sections/SpeedOfLight.py, latencyBoundThreshold and balancedThreshold): compute and memory both
# below 60 % of their peak point to latency, that is to work too small or to waits; else the busier one is the likely
# limit, unless they are within 10 points of each other.
BUSY_PERCENT = 60.0
BALANCED_POINTS = 10.0
_SETTLE = (
    "counters of memory bandwidth and arithmetic in this phase: pass counters (Metal limiters on a Mac; on CUDA "
    "PyTorch 2.15 with cupti-python)"
)


def by_counters(n: Numbers) -> Resource | Literal["neither", "both"] | None:
    """What the counters say limits the phase; None where they do not tell it."""
    memory, compute = n["memory_counter_percent"], n["compute_counter_percent"]
    known = [value for value in (memory, compute) if value is not None]
    if not any(value >= BUSY_PERCENT for value in known):
        return "neither" if len(known) == 2 else None
    if len(known) == 2 and abs(memory - compute) < BALANCED_POINTS:
        return "both"
    return "memory" if compute is None or (memory is not None and memory > compute) else "compute"


def limiter(n: Numbers, *, expected: Resource) -> Decision:
    """Verdict on "this phase is `expected`-bound"."""
    other: Resource = "compute" if expected == "memory" else "memory"
    shape, counters = n["bound"], by_counters(n)
    own = n[f"{expected}_counter_percent"]
    if counters == "both":
        return opened(
            f"counters of memory and arithmetic are within {BALANCED_POINTS:.0f} points of each other",
            "counters of single units, or of one layer at a time",
        )
    if counters == other or counters == "neither" or (own is not None and own < BUSY_PERCENT):
        found = (
            f"counters say {counters}-bound"
            if counters == other
            else f"counters are below {BUSY_PERCENT:.0f} % of the peak: something else is the limit"
        )
        if shape == expected:
            found += f", though the shape asks for {expected}"
        return Decision(FAILS, found)
    if counters == expected and shape == expected:
        return Decision(HOLDS, "hardware counters agree with the shape")
    if counters == expected:
        said = "the shape is not known" if shape is None else f"the shape says {shape}-bound"
        return opened(
            f"counters say {expected}-bound, but {said}",
            "peaks of this machine (capture --calibrate), or another look at the counters",
        )
    if shape == expected:
        return opened(f"consistent with {expected}-bound by its shape; no counters", _SETTLE)
    if shape == other:
        return opened(f"the shape says {other}-bound rather than {expected}-bound; no counters", _SETTLE)
    return opened("neither counters nor the machine's peaks are known", _SETTLE + "; peaks by capture --calibrate")


_MEASURED = frozenset({"counter_samples"})
CLAIMS = (
    Claim("limiter_prefill", "Prefill is compute-bound", partial(limiter, expected="compute"), _MEASURED),
    Claim("limiter_decode", "Decode is memory-bound", partial(limiter, expected="memory"), _MEASURED),
)
