"""Claims about time: density, bursts, the host's CPU, calls, the profiler's cost, steps over the context."""

from __future__ import annotations

from analyze.claims.model import FAILS, HOLDS, Claim, Decision, Numbers, decided, opened

# What a difference must be to matter, and what a repeat must show. All are said in the claims they decide.
DENSER_SHARE = 0.05  # of the wall time
FENCE_SHARE = 0.95  # of the successions of decode steps
MIN_SUCCESSIONS = 5
CPU_POINTS = 10.0  # per cent of one core
COST_RATIO = 1.05  # profiled over clean; a ratio under 1 by as much says that the machine was not the same
SLOWER_PERCENT = 2.0  # over the whole run
MIN_REPEATS = 3
_MORE_REPEATS = f"a capture with --repeat {MIN_REPEATS} or more on an idle machine"


def _on_a_busy_machine(n: Numbers) -> Decision:
    return opened(
        f"the machine was busy with other work: its process had only {n['busy_cpu_percent']:.0f} % of one core",
        _MORE_REPEATS,
    )


def prefill_denser(n: Numbers) -> Decision:
    if not n.known("prefill_busy_share", "decode_busy_share"):
        return opened(
            "no busy time of both phases: device rows that are attributed, or operators on cpu, are missing",
            "a capture with both phases and with the device's rows (CUDA profiler, or Metal System Trace on a Mac)",
        )
    evidence = f"busy share of the wall time, from {n['basis']} of pass {n['pass']}"
    spread = n["decode_p95_share"] - n["decode_p5_share"]
    # a single call has no spread: that of the decode steps stands for what it may be off by
    margin = max(DENSER_SHARE, spread) if n["prefill_calls"] == 1 else DENSER_SHARE
    if n["prefill_lowest_share"] - n["decode_p95_share"] >= margin:
        return Decision(HOLDS, evidence)
    if n["decode_p5_share"] - n["prefill_highest_share"] >= margin:
        return Decision(FAILS, evidence)
    if abs(n["prefill_busy_share"] - n["decode_busy_share"]) < DENSER_SHARE and spread < DENSER_SHARE:
        return Decision(FAILS, evidence)
    return opened(evidence + "; the spread of the steps is as large as the difference", "a longer prompt, or repeats")


def picket_fence(n: Numbers) -> Decision:
    if (n["successions"] or 0) < MIN_SUCCESSIONS:
        return opened(
            f"no {MIN_SUCCESSIONS + 1} decode steps of one generation with rows of device work that may be trusted",
            "a capture of more decode steps with the device's rows, attributed",
        )
    evidence = f"begin and end of each step's work, from {n['basis']} of pass {n['pass']}"
    least = FENCE_SHARE * n["successions"]
    return decided(n["sequential"] >= least and n["with_gap"] >= least, evidence)


def decode_more_cpu(n: Numbers) -> Decision:
    if not n.known("prefill_cpu_percent", "decode_cpu_percent"):
        return opened("the clean pass has no CPU times of both phases", "a capture with the clean pass")
    if n.known("busy_cpu_percent"):
        return _on_a_busy_machine(n)
    if (n["repeats"] or 0) < MIN_REPEATS:
        return opened(f"under {MIN_REPEATS} repeats, so the spread of the difference is not known", _MORE_REPEATS)
    evidence = f"CPU time of the process over wall time in {n['repeats']} clean repeats"
    if n["least_difference_percent"] >= CPU_POINTS:
        return Decision(HOLDS, evidence)
    if n["most_difference_percent"] < CPU_POINTS:
        return Decision(FAILS, evidence)
    return opened(evidence + "; they do not agree", _MORE_REPEATS)


def calls(n: Numbers) -> Decision:
    if not n.known("new_tokens") or not n["generations"]:
        return opened("how many tokens were asked for is not known", "a bundle, which tells the workload")
    return decided(n["as_expected"] == n["generations"], "timed calls of each generation, counted")


def profiler_overhead(n: Numbers) -> Decision:
    if not n.known("prefill_ratio", "decode_ratio"):
        return opened("not both phases are measured clean and profiled", "a capture with passes clean and profiled")
    if n.known("busy_cpu_percent"):
        return _on_a_busy_machine(n)
    if (n["clean_repeats"] or 0) < MIN_REPEATS:
        return opened(f"under {MIN_REPEATS} clean repeats, so their spread is not known", _MORE_REPEATS)
    evidence = "median profiled call over the median clean one, against the slowest and fastest clean repeat"
    phases = ("prefill", "decode")
    if any(n[f"{phase}_ratio"] < 2 - COST_RATIO for phase in phases):
        return opened("a phase was faster with the profiler than without: the machine was busier before", _MORE_REPEATS)
    if all(n[f"{phase}_least_ratio"] >= COST_RATIO for phase in phases):
        return Decision(HOLDS, evidence)
    if any(n[f"{phase}_most_ratio"] < COST_RATIO for phase in phases):
        return Decision(FAILS, evidence)
    return opened(evidence + "; the clean repeats spread by more than the difference", _MORE_REPEATS)


def decode_slows(n: Numbers) -> Decision:
    if not n.known("change_percent", "change_low_percent", "change_high_percent"):
        return opened("the clean pass has under seven decode steps to fit", "a capture of at least 8 new tokens")
    if n.known("busy_cpu_percent"):
        return _on_a_busy_machine(n)
    evidence = "straight line through the clean medians of the steps, with its 95 % interval"
    if n["change_low_percent"] >= SLOWER_PERCENT:
        return Decision(HOLDS, evidence)
    if n["change_high_percent"] < SLOWER_PERCENT:
        return Decision(FAILS, evidence)
    return opened(evidence + ", which holds both more and less than that", "more new tokens, or more repeats")


def steps_alike(n: Numbers) -> Decision:
    if (n["steps"] or 0) < 3:
        return opened("no three decode steps are recorded operator by operator", "a profiled pass of several steps")
    return decided(n["alike"] == n["steps"], f"operators and kernels of each step by name, pass {n['pass']}")


CLAIMS = (
    Claim(
        "prefill_denser",
        "Prefill is denser than decode: the busy share of its time is higher by 5 points or more",
        prefill_denser,
    ),
    Claim(
        "decode_picket_fence",
        "Decode is a picket fence: a burst for each token, then a gap of 5 % of a step or more",
        picket_fence,
    ),
    Claim("decode_more_cpu", "Decode uses more CPU than prefill, by 10 % of one core or more", decode_more_cpu),
    Claim("calls", "N new tokens are 1 prefill and N−1 decode calls", calls, frozenset({"new_tokens"})),
    Claim("profiler_overhead", "The profiler makes both phases slower, by 5 % or more", profiler_overhead),
    Claim("decode_slows", "Decode steps get slower as the context grows, by 2 % or more over the run", decode_slows),
    Claim("steps_alike", "Every decode step runs the same operators and kernels", steps_alike),
)
