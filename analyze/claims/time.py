"""Claims about time: density, bursts, the host's CPU, calls, the profiler's cost, steps over the context."""

from __future__ import annotations

from analyze.claims.model import FAILS, HOLDS, Claim, Decision, Numbers, decided, opened

# A change over the whole run that is surely below 2 % counts as none.
FLAT_PERCENT = 2.0
FENCE_SHARE = 0.95  # of the successions of decode steps
MIN_SUCCESSIONS = 2


def prefill_denser(n: Numbers) -> Decision:
    if not n.known("prefill_busy_share", "decode_busy_share"):
        return opened(
            "no busy time of both phases: device rows that are attributed, or operators on cpu, are missing",
            "a capture with both phases and with the device's rows (CUDA profiler, or Metal System Trace on a Mac)",
        )
    evidence = f"busy share of the wall time, from {n['basis']} of pass {n['pass']}"
    if n["prefill_lowest_share"] > n["decode_p95_share"]:
        return Decision(HOLDS, evidence)
    if n["prefill_highest_share"] < n["decode_p5_share"]:
        return Decision(FAILS, evidence)
    return opened(evidence + "; the shares of the two phases overlap", "a longer prompt, or more repeats")


def picket_fence(n: Numbers) -> Decision:
    if (n["successions"] or 0) < MIN_SUCCESSIONS:
        return opened(
            "no three decode steps of one generation with rows of device work that may be trusted",
            "a capture of several decode steps with the device's rows, attributed",
        )
    evidence = f"begin and end of each step's work, from {n['basis']} of pass {n['pass']}"
    return decided(
        n["sequential"] >= FENCE_SHARE * n["successions"] and n["with_gap"] >= FENCE_SHARE * n["successions"], evidence
    )


def decode_more_cpu(n: Numbers) -> Decision:
    if not n.known("prefill_cpu_percent", "decode_cpu_percent"):
        return opened("the clean pass has no CPU times of both phases", "a capture with the clean pass")
    return decided(
        n["decode_cpu_percent"] > n["prefill_cpu_percent"], "CPU time of the process over wall time, clean pass"
    )


def calls(n: Numbers) -> Decision:
    if not n.known("new_tokens") or not n["generations"]:
        return opened("how many tokens were asked for is not known", "a bundle, which tells the workload")
    return decided(n["as_expected"] == n["generations"], "timed calls of each generation, counted")


def profiler_overhead(n: Numbers) -> Decision:
    if not n.known("prefill_ratio", "decode_ratio"):
        return opened("not both phases are measured clean and profiled", "a capture with passes clean and profiled")
    return decided(
        n["prefill_ratio"] > 1 and n["decode_ratio"] > 1, "wall time of the same steps in passes clean and profiled"
    )


def decode_slows(n: Numbers) -> Decision:
    if not n.known("change_percent", "change_low_percent", "change_high_percent"):
        return opened("the clean pass has under seven decode steps to fit", "a capture of at least 8 new tokens")
    evidence = "least squares over the clean step medians, 95 % interval by Student's t"
    if n["verdict"] == "slower" and n["change_high_percent"] > FLAT_PERCENT:
        return Decision(HOLDS, evidence)
    if n["verdict"] == "faster" or n["change_high_percent"] <= FLAT_PERCENT:
        return Decision(FAILS, evidence)
    return opened(
        evidence + "; the interval holds no change and a change that matters", "more new tokens, or more repeats"
    )


def steps_alike(n: Numbers) -> Decision:
    if (n["steps"] or 0) < 3:
        return opened("no three decode steps are recorded operator by operator", "a profiled pass of several steps")
    return decided(n["alike"] == n["steps"], f"operators and kernels of each step by name, pass {n['pass']}")


CLAIMS = (
    Claim("prefill_denser", "Prefill is denser than decode", prefill_denser),
    Claim(
        "decode_picket_fence",
        "Decode is a picket fence: a burst for each token, one after the other, with gaps between",
        picket_fence,
    ),
    Claim("decode_more_cpu", "Decode uses more CPU of one core than prefill", decode_more_cpu),
    Claim("calls", "N new tokens are 1 prefill and N−1 decode calls", calls, frozenset({"new_tokens"})),
    Claim("profiler_overhead", "The profiler makes both phases slower", profiler_overhead),
    Claim("decode_slows", "A decode step gets slower as the context grows", decode_slows),
    Claim("steps_alike", "Every decode step runs the same operators and kernels", steps_alike),
)
