"""Claims about memory: the KV cache against the architecture, the driver, the allocator, copies, the Neural Engine."""

from __future__ import annotations

from analyze.claims.model import FAILS, HOLDS, OPEN, Claim, Decision, Numbers, decided, opened

# Milliwatts below which the Neural Engine counts as off (the counter resolves 1 mJ, so windows must last for some
# seconds), and above which it counts as used.
ANE_OFF_MW, ANE_USED_MW, ANE_SECONDS = 1.0, 10.0, 5.0
FLAT_SHARE = 0.1  # of the growth of the cache
ALLOCATOR_BLOCK_BYTES = (
    2 << 20
)  # the least that PyTorch's CUDA allocator takes at once (CUDACachingAllocator kSmallBuffer)
KEPT_PERCENT = 5.0  # of what the driver holds
EVERY_SHARE = 0.95  # of the calls
MIN_CALLS = 3


def kv_equals_architecture(n: Numbers) -> Decision:
    evidence = "bytes of the cache's unique storages against the bytes computed from the configuration"
    if n["differing_points"]:
        return Decision(FAILS, evidence)
    if n["points"] and n["equal_points"] == n["points"]:
        return Decision(HOLDS, evidence)
    return opened(
        "measured or computed bytes are missing for some lengths, or for all",
        "a capture with resource samples of a model whose configuration tells the kinds of its cache layers",
    )


def kv_linear(n: Numbers) -> Decision:
    if (n["points"] or 0) < 3:
        return opened("the cache is measured at under three lengths", "a capture with samples and 3 or more new tokens")
    evidence = "measured bytes of the cache from step to step"
    constant = n["least_growth_bytes"] == n["most_growth_bytes"]
    proportional = n["first_average_bytes"] == n["most_growth_bytes"]
    return decided(constant and proportional and n["most_growth_bytes"] > 0, evidence)


def driver_flat(n: Numbers) -> Decision:
    if (n["samples"] or 0) < 2 or not n.known("driver_growth_bytes", "kv_growth_bytes"):
        return opened("the device has no counter of driver memory, or it was not sampled", "a capture on mps or cuda")
    if n["kv_growth_bytes"] <= 0:
        return opened("the cache did not grow during decode", "a capture with a growing (dynamic) cache")
    evidence = "driver bytes and cache bytes at the edges of the steps"
    if n["kv_growth_bytes"] < ALLOCATOR_BLOCK_BYTES:
        evidence += "; the cache grew by less than an allocator takes at once, so a longer run may differ"
    return decided(n["driver_growth_bytes"] < FLAT_SHARE * n["kv_growth_bytes"], evidence)


def copies(n: Numbers) -> Decision:
    if n["device"] == "cpu":
        return opened("the model ran on the CPU, which shares its memory with nothing", "a capture on mps or cuda")
    if n["device"] == "mps":
        none = "No copies between host and device (unified memory)"
        if not n["operation_signposts"]:
            return Decision(
                OPEN,
                "a PyTorch trace of mps shows no copies: it holds the host's side only",
                "the signposts pass on the Mac",
                none,
            )
        evidence = "PyTorch's copy signposts during the calls (their bytes are hidden)"
        if n["all_copy_signposts"] and n["copy_signposts"] is None:
            return Decision(
                OPEN,
                "there are copy signposts, but not on the clock of the calls",
                "a recording whose clock is joined to its pass",
                none,
            )
        return Decision(FAILS if n["copy_signposts"] else HOLDS, evidence, None, none)
    if not n["device_rows"]:
        return opened("the run has no rows of a device", "a profiled capture on a GPU")
    if (n["calls"] or 0) < MIN_CALLS:
        return opened(
            f"under {MIN_CALLS} prefill and decode calls have device rows, so no copy can be said to be of every call",
            "a trace of several calls whose phases are recognised",
        )
    if not n["copies"] and n["other_copies"]:
        # seen in traces of ROCm: copies that read a value back to the host are named "DtoD"
        return opened(
            "the copies are named as staying on the device, which ROCm also calls those with pinned host memory",
            "a trace that names both ends of its copies",
        )
    return decided(
        n["calls_with_copy"] >= EVERY_SHARE * n["calls"], "rows of the copy engines, by the call that began them"
    )


def neural_engine(n: Numbers) -> Decision:
    if not n.known("generation_ane_mw", "idle_ane_mw"):
        return opened("no energy of the Neural Engine was measured", "the energy pass on a Mac (zeus-apple-silicon)")
    if n["generation_s"] is not None and n["generation_s"] < ANE_SECONDS:
        return opened(
            f"the generation lasted under {ANE_SECONDS:.0f} s, too short for a counter of 1 mJ",
            "an energy pass of a longer generation",
        )
    evidence = "the chip's energy counter of the Neural Engine, while generating and idle"
    if n["generation_ane_mw"] < ANE_OFF_MW:
        return Decision(HOLDS, evidence)
    if n["idle_ane_mw"] >= ANE_OFF_MW:
        return opened(evidence + "; something used it while idle, too", "an energy pass on an otherwise idle Mac")
    if n["generation_ane_mw"] >= ANE_USED_MW:
        return Decision(FAILS, evidence)
    return opened(
        f"{evidence}; between {ANE_OFF_MW:.0f} and {ANE_USED_MW:.0f} mW it can be either", "a longer energy pass"
    )


def allocator_keeps(n: Numbers) -> Decision:
    if not n.known("kept_bytes", "kept_percent"):
        return opened("tensor and driver bytes are not both sampled", "a capture on mps or cuda")
    if n["kept_bytes"] < 0:
        return opened("the tensors count more bytes than the driver holds", "a look at how this device counts them")
    return decided(n["kept_percent"] >= KEPT_PERCENT, "driver bytes less tensor bytes after the last step")


def memory_ladder(n: Numbers) -> Decision:
    if not n["samples"]:
        return opened("tensor and driver bytes are not both sampled", "a capture on mps or cuda")
    rungs = ("kv_above_tensors", "tensors_above_driver", "driver_above_footprint")
    evidence = "counters of the same samples compared"
    statement = None if n["with_footprint"] else "Memory is a ladder: KV cache ≤ tensors ≤ driver memory"
    if not any(n[rung] for rung in rungs):
        return Decision(HOLDS, evidence, None, statement)
    if any(n[f"{rung}_by_1_percent"] for rung in rungs):
        return Decision(FAILS, evidence, None, statement)
    return Decision(
        OPEN,
        evidence + "; one is above the next by under 1 %, and they are not read in the same instant",
        "samples of counters that are read together",
        statement,
    )


CLAIMS = (
    Claim(
        "kv_equals_architecture",
        "The KV cache holds the bytes that the architecture asks for",
        kv_equals_architecture,
        frozenset({"last_measured_bytes"}),
    ),
    Claim("kv_linear", "The KV cache grows in proportion to the tokens in it", kv_linear),
    Claim(
        "driver_flat",
        "Driver memory stays flat while the cache grows, by under a tenth of it",
        driver_flat,
        frozenset({"driver_bytes"}),
    ),
    Claim(
        "copies",
        "Every call copies data between host and device",
        copies,
        frozenset({"prefill_copied_bytes", "decode_copied_bytes", "to_device_bytes", "to_host_bytes"}),
    ),
    Claim("neural_engine", "The Neural Engine was not used: under 1 mW", neural_engine, frozenset({"generation_s"})),
    Claim(
        "allocator_keeps",
        "The allocator keeps memory that no tensor uses: 5 % of the driver's or more",
        allocator_keeps,
        frozenset({"tensor_bytes", "driver_bytes"}),
    ),
    Claim(
        "memory_ladder",
        "Memory is a ladder: KV cache ≤ tensors ≤ driver memory ≤ footprint of the process",
        memory_ladder,
        frozenset({"kv_bytes", "tensor_bytes", "driver_bytes", "footprint_bytes"}),
    ),
)
