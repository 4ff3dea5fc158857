"""Which resource limits a phase. Said only where hardware counters and the workload's shape agree."""

from __future__ import annotations

from functools import partial
from typing import Literal

from analyze.claims.model import FAILS, HOLDS, Claim, Decision, Numbers, opened

Resource = Literal["memory", "compute"]

# Nsight Compute's rule (Speed Of Light section): compute and memory both below 60 % of their peak point to latency,
# that is to work too small or to waits; a unit above it is a likely limit.
BUSY_PERCENT = 60.0
_SETTLE = (
    "counters of memory bandwidth and arithmetic in this phase: pass counters (Metal limiters on a Mac; on CUDA "
    "PyTorch 2.15 with cupti-python)"
)


def by_counters(n: Numbers) -> Resource | Literal["neither"] | None:
    """What the counters say limits the phase; None where they do not tell it."""
    memory, compute = n["memory_counter_percent"], n["compute_counter_percent"]
    busy = {
        name: value
        for name, value in (("memory", memory), ("compute", compute))
        if value is not None and value >= BUSY_PERCENT
    }
    if busy:
        return "memory" if busy.get("memory", -1.0) >= busy.get("compute", -1.0) else "compute"
    return "neither" if memory is not None and compute is not None else None


def limiter(n: Numbers, *, expected: Resource) -> Decision:
    """Verdict on "this phase is `expected`-bound"."""
    other: Resource = "compute" if expected == "memory" else "memory"
    shape, counters = n["bound"], by_counters(n)
    own = n[f"{expected}_counter_percent"]
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
