"""Claims about memory: the KV cache against the architecture, the driver, the allocator, copies, the Neural Engine."""

from __future__ import annotations

from analyze.claims.model import FAILS, HOLDS, Claim, Decision, Numbers, decided, opened

ANE_MILLIWATT = 1.0  # the counters resolve 1 mJ and windows are of 5 s and more, so that 1 mW is 5 counts


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
    return decided(
        n["driver_growth_bytes"] < n["kv_growth_bytes"], "driver bytes and cache bytes at the edges of the steps"
    )


def copies(n: Numbers) -> Decision:
    if n["device"] == "cpu":
        return opened("the model ran on the CPU, which shares its memory with nothing", "a capture on mps or cuda")
    if n["device"] == "mps":
        none = "No copies between host and device (unified memory)"
        if not n["operation_signposts"]:
            return Decision(
                "not established",
                "a PyTorch trace of mps shows no copies: it holds the host's side only",
                "the signposts pass on the Mac",
                none,
            )
        return Decision(
            HOLDS if n["copy_signposts"] == 0 else FAILS,
            "PyTorch's copy signposts (bytes are hidden there)",
            None,
            none,
        )
    if not n["device_rows"]:
        return opened("the run has no rows of a device", "a profiled capture on a GPU")
    if not n["copies"] and n["other_copies"]:
        # seen in traces of ROCm: copies that read a value back to the host are named "DtoD"
        return opened(
            "the copies are named as staying on the device, which ROCm also calls those with pinned host memory",
            "a trace that names both ends of its copies",
        )
    return decided(n["copies"] > 0, "rows of the copy engines, count and bytes by the phase that started them")


def neural_engine(n: Numbers) -> Decision:
    if not n.known("generation_ane_mw", "idle_ane_mw"):
        return opened("no energy of the Neural Engine was measured", "the energy pass on a Mac (zeus-apple-silicon)")
    return decided(
        n["generation_ane_mw"] - n["idle_ane_mw"] < ANE_MILLIWATT,
        "the chip's energy counter of the Neural Engine, while generating and idle",
    )


def allocator_keeps(n: Numbers) -> Decision:
    if not n.known("kept_bytes"):
        return opened("tensor and driver bytes are not both sampled", "a capture on mps or cuda")
    return decided(n["kept_bytes"] > 0, "driver bytes less tensor bytes after the last step")


def memory_ladder(n: Numbers) -> Decision:
    if not n["samples"]:
        return opened("tensor and driver bytes are not both sampled", "a capture on mps or cuda")
    above = (n["kv_above_tensors"], n["tensors_above_driver"], n["driver_above_footprint"])
    evidence = "counters of the same samples compared"
    if not n["with_footprint"]:
        evidence += "; the physical footprint exists on macOS alone and is left out"
    return decided(not any(above), evidence)


CLAIMS = (
    Claim(
        "kv_equals_architecture",
        "The KV cache holds the bytes that the architecture asks for",
        kv_equals_architecture,
        frozenset({"last_measured_bytes"}),
    ),
    Claim("kv_linear", "The KV cache grows linearly with length, in proportion to it", kv_linear),
    Claim(
        "driver_flat",
        "Driver memory stays flat while the cache grows: it grows by less than the cache",
        driver_flat,
        frozenset({"driver_bytes"}),
    ),
    Claim(
        "copies",
        "Host and device exchange data by explicit copies",
        copies,
        frozenset({"prefill_copied_bytes", "decode_copied_bytes", "to_device_bytes", "to_host_bytes"}),
    ),
    Claim("neural_engine", "The Neural Engine was not used", neural_engine, frozenset({"generation_s"})),
    Claim(
        "allocator_keeps",
        "The allocator keeps memory that no tensor uses",
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
