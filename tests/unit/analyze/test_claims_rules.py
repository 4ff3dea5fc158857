"""The rule of each claim: numbers made for each verdict, contradictory ones too."""

from __future__ import annotations

from typing import Any

import pytest

from analyze.claims import CLAIMS
from analyze.claims.limits import by_counters
from analyze.claims.model import Decision, Numbers

HOLDS, FAILS, OPEN = "holds", "does not hold", "not established"
RULES = {claim.claim_id: claim.decide for claim in CLAIMS}


def decide(claim: str, numbers: dict[str, Any] | None) -> Decision:
    return RULES[claim](Numbers(numbers))


def shares(low: float, high: float, p5: float, p95: float) -> dict[str, Any]:
    return {
        "basis": "device rows", "pass": "profiled", "prefill_busy_share": (low + high) / 2,
        "decode_busy_share": (p5 + p95) / 2, "prefill_lowest_share": low, "prefill_highest_share": high,
        "decode_p5_share": p5, "decode_p95_share": p95, "prefill_calls": 1 if low == high else 2,
    }  # fmt: skip


def bursts(successions: int, sequential: int, with_gap: int) -> dict[str, Any]:
    return {
        "basis": "device rows",
        "pass": "metal",
        "successions": successions,
        "sequential": sequential,
        "with_gap": with_gap,
    }


def kv(points: int, equal: int, differing: int) -> dict[str, Any]:
    return {"points": points, "equal_points": equal, "differing_points": differing}


def growth(least: float, most: float, average: float) -> dict[str, Any]:
    return {"points": 4, "least_growth_bytes": least, "most_growth_bytes": most, "first_average_bytes": average}


def slope(low: float, high: float) -> dict[str, Any]:
    return {"change_percent": (low + high) / 2, "change_low_percent": low, "change_high_percent": high}


def cpu(least: float, most: float, repeats: int = 5) -> dict[str, Any]:
    middle = (least + most) / 2
    return {
        "prefill_cpu_percent": 50.0, "decode_cpu_percent": 50.0 + middle, "difference_percent": middle,
        "least_difference_percent": least, "most_difference_percent": most, "repeats": repeats,
    }  # fmt: skip


def overhead(prefill: tuple[float, float], decode: tuple[float, float], repeats: int = 5) -> dict[str, Any]:
    """Least and most ratio of each phase."""
    ratios = {
        f"{phase}_{name}": value
        for phase, (least, most) in (("prefill", prefill), ("decode", decode))
        for name, value in (("least_ratio", least), ("ratio", (least + most) / 2), ("most_ratio", most))
    }
    return {**ratios, "clean_repeats": repeats}


def copies(calls: int, with_copy: int, copies: int | None = None, other: int = 0) -> dict[str, Any]:
    return {
        "device": "cuda", "device_rows": 99, "calls": calls, "calls_with_copy": with_copy,
        "copies": with_copy if copies is None else copies, "other_copies": other,
    }  # fmt: skip


def signposts(operations: int, everywhere: int, in_calls: int | None) -> dict[str, Any]:
    return {
        "device": "mps", "operation_signposts": operations, "all_copy_signposts": everywhere,
        "copy_signposts": in_calls,
    }  # fmt: skip


def ane(generation: float | None, idle: float | None = 0.0, seconds: float = 9.0) -> dict[str, Any]:
    return {"generation_ane_mw": generation, "idle_ane_mw": idle, "generation_s": seconds}


def kept(kept_bytes: int, percent: float) -> dict[str, Any]:
    return {"kept_bytes": kept_bytes, "kept_percent": percent}


def driver(driver_growth: int | None, kv_growth: int) -> dict[str, Any]:
    return {"samples": 8, "driver_growth_bytes": driver_growth, "kv_growth_bytes": kv_growth}


def limit(bound: str | None, memory: float | None = None, compute: float | None = None) -> dict[str, Any]:
    return {"bound": bound, "memory_counter_percent": memory, "compute_counter_percent": compute}


def ladder(**above: int) -> dict[str, Any]:
    zero = {"kv_above_tensors": 0, "tensors_above_driver": 0, "driver_above_footprint": 0}
    return {"samples": 5, "with_footprint": 5, **zero, **{f"{name}_by_1_percent": 0 for name in zero}, **above}


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("prefill_denser", shares(0.9, 0.95, 0.5, 0.7), HOLDS),
    ("prefill_denser", shares(0.3, 0.4, 0.5, 0.7), FAILS),
    ("prefill_denser", shares(0.6, 0.95, 0.5, 0.7), OPEN),  # overlap
    ("prefill_denser", shares(0.7, 0.7, 0.5, 0.7), OPEN),  # equal is not denser
    ("prefill_denser", shares(0.72, 0.72, 0.70, 0.71), FAILS),  # denser, by less than matters
    ("prefill_denser", shares(0.34, 0.34, 0.40, 0.98), OPEN),  # one call, and decode steps that spread by more
    ("prefill_denser", shares(0.99, 0.99, 0.70, 0.90), OPEN),
    ("decode_picket_fence", bursts(30, 30, 30), HOLDS),
    ("decode_picket_fence", bursts(30, 29, 29), HOLDS),
    ("decode_picket_fence", bursts(30, 20, 20), FAILS),  # steps overlap
    ("decode_picket_fence", bursts(30, 30, 10), FAILS),  # no gaps worth the name
    ("decode_picket_fence", bursts(30, 10, 30), FAILS),  # gaps between some, overlap between others: contradictory
    ("decode_picket_fence", bursts(4, 4, 4), OPEN),
    ("decode_more_cpu", cpu(30.0, 45.0), HOLDS),
    ("decode_more_cpu", cpu(-45.0, -30.0), FAILS),
    ("decode_more_cpu", cpu(-0.2, 0.3), FAILS),  # 43.8 against 43.9 %
    ("decode_more_cpu", cpu(2.0, 25.0), OPEN),  # the repeats do not agree
    ("decode_more_cpu", cpu(30.0, 45.0, repeats=2), OPEN),
    ("decode_more_cpu", cpu(30.0, 45.0) | {"busy_cpu_percent": 66.0}, OPEN),
    ("profiler_overhead", overhead((1.2, 1.3), (1.4, 1.5)) | {"busy_cpu_percent": 66.0}, OPEN),
    ("decode_slows", slope(3.0, 5.0) | {"busy_cpu_percent": 66.0}, OPEN),
    ("decode_more_cpu", {"prefill_cpu_percent": 99.0, "decode_cpu_percent": None}, OPEN),
    ("calls", {"new_tokens": 4, "generations": 2, "as_expected": 2}, HOLDS),
    ("calls", {"new_tokens": 4, "generations": 2, "as_expected": 1}, FAILS),
    ("calls", {"new_tokens": None, "generations": 2, "as_expected": 0}, OPEN),
    ("calls", {"new_tokens": 4, "generations": 0, "as_expected": 0}, OPEN),
    ("profiler_overhead", overhead((1.08, 1.12), (1.3, 1.5)), HOLDS),
    ("profiler_overhead", overhead((0.99, 1.02), (1.3, 1.5)), FAILS),  # prefill costs nothing that can be seen
    ("profiler_overhead", overhead((1.01, 1.04), (1.01, 1.04)), FAILS),  # slower, by less than matters
    ("profiler_overhead", overhead((0.9, 1.2), (1.3, 1.5)), OPEN),  # clean repeats spread by more than that
    ("profiler_overhead", overhead((0.04, 0.05), (0.2, 0.3)), OPEN),  # not the same machine
    ("profiler_overhead", overhead((1.08, 1.12), (1.3, 1.5), repeats=1), OPEN),
    ("profiler_overhead", {"prefill_ratio": None, "decode_ratio": 1.4}, OPEN),
    ("decode_slows", slope(3.0, 9.0), HOLDS),
    ("decode_slows", slope(0.1, 0.9), FAILS),  # told from zero, but under what matters
    ("decode_slows", slope(0.1, 9.0), OPEN),  # told from zero, and may or may not matter
    ("decode_slows", slope(-9.0, -3.0), FAILS),
    ("decode_slows", slope(-1.0, 1.0), FAILS),
    ("decode_slows", slope(-5.0, 6.0), OPEN),
    ("steps_alike", {"steps": 31, "alike": 31, "pass": "profiled"}, HOLDS),
    ("steps_alike", {"steps": 31, "alike": 30, "pass": "profiled"}, FAILS),
    ("steps_alike", {"steps": 2, "alike": 2, "pass": "profiled"}, OPEN),
    ("kv_equals_architecture", kv(32, 32, 0), HOLDS),
    ("kv_equals_architecture", kv(32, 31, 1), FAILS),
    ("kv_equals_architecture", kv(32, 31, 0), OPEN),  # one length has no computed bytes
    ("kv_equals_architecture", kv(0, 0, 0), OPEN),
    ("kv_linear", growth(100.0, 100.0, 100.0), HOLDS),
    ("kv_linear", growth(0.0, 100.0, 100.0), FAILS),  # a window
    ("kv_linear", growth(0.0, 0.0, 300.0), FAILS),  # static: all from the start
    ("kv_linear", growth(100.0, 100.0, 150.0), FAILS),  # an offset: linear, but not in proportion
    ("kv_linear", {"points": 2}, OPEN),
    ("driver_flat", driver(0, 900), HOLDS),
    ("driver_flat", driver(-4096, 900), HOLDS),
    ("driver_flat", driver(900, 900), FAILS),
    ("driver_flat", driver(None, 900), OPEN),
    ("driver_flat", driver(0, 0), OPEN),  # static cache: nothing grew
    ("driver_flat", driver(95, 1000), HOLDS),
    ("driver_flat", driver(500, 1000), FAILS),  # by less than the cache, but not flat
    ("copies", copies(32, 32), HOLDS),
    ("copies", copies(32, 31), HOLDS),
    ("copies", copies(32, 0), FAILS),
    ("copies", copies(32, 1), FAILS),  # one copy is not one a call
    ("copies", copies(32, 0, copies=5), FAILS),  # all outside the calls
    ("copies", copies(32, 0, other=40), OPEN),
    ("copies", copies(0, 0, copies=1), OPEN),  # a trace of no known phase with one copy of 1 byte
    ("copies", {"device": "cuda", "device_rows": 0, "copies": 0, "other_copies": 0}, OPEN),
    ("copies", {"device": "cpu", "device_rows": 0, "copies": 0}, OPEN),
    ("copies", signposts(0, 0, None), OPEN),
    ("copies", signposts(50, 0, None), HOLDS),
    ("copies", signposts(50, 7, 0), HOLDS),  # the model was moved to the device before the first call
    ("copies", signposts(50, 7, 2), FAILS),
    ("copies", signposts(50, 7, None), OPEN),  # when they happened is not known
    ("neural_engine", ane(0.0), HOLDS),
    ("neural_engine", ane(0.2, 900.0), HOLDS),  # off while it generates, whatever it did before
    ("neural_engine", ane(900.0), FAILS),
    ("neural_engine", ane(900.0, 900.0), OPEN),  # something else uses it all the time
    ("neural_engine", ane(4.0), OPEN),
    ("neural_engine", ane(0.0, 0.0, seconds=0.4), OPEN),
    ("neural_engine", ane(None), OPEN),
    ("neural_engine", ane(0.0, None), OPEN),
    ("allocator_keeps", kept(10**9, 20.0), HOLDS),
    ("allocator_keeps", kept(10, 0.0001), FAILS),
    ("allocator_keeps", kept(0, 0.0), FAILS),
    ("allocator_keeps", kept(-10, -1.0), OPEN),  # tensors in more than the driver holds
    ("memory_ladder", ladder(driver_above_footprint=1), OPEN),  # by a page
    ("memory_ladder", ladder(tensors_above_driver=1, tensors_above_driver_by_1_percent=1), FAILS),
    ("memory_ladder", ladder(), HOLDS),
    ("memory_ladder", {"samples": 0}, OPEN),
    ("limiter_decode", limit("memory", 85.0, 20.0), HOLDS),
    ("limiter_decode", limit("memory", 85.0, None), HOLDS),
    ("limiter_decode", limit("memory"), OPEN),
    ("limiter_decode", limit("compute"), OPEN),
    ("limiter_decode", limit(None), OPEN),
    ("limiter_decode", limit(None, 85.0, 20.0), OPEN),  # counters alone
    ("limiter_decode", limit("compute", 85.0, 20.0), OPEN),  # counters and shape contradict each other
    ("limiter_decode", limit("memory", 85.0, 80.0), OPEN),  # both busy, within what counters can tell
    ("limiter_decode", limit("memory", 20.0, 30.0), FAILS),  # neither is busy: latency
    ("limiter_decode", limit("memory", 20.0, None), FAILS),  # the bandwidth is not used
    ("limiter_decode", limit("memory", 20.0, 90.0), FAILS),
    ("limiter_decode", limit("memory", None, 90.0), FAILS),
    ("limiter_decode", limit("memory", None, 30.0), OPEN),  # arithmetic is not the limit, of memory nothing is known
    ("limiter_prefill", limit("compute", 30.0, 90.0), HOLDS),
    ("limiter_prefill", limit("compute", 90.0, 30.0), FAILS),
    ("limiter_prefill", limit("memory", 30.0, 90.0), OPEN),
    ("limiter_prefill", limit("compute"), OPEN),
    ("limiter_prefill", limit("compute", 40.0, None), OPEN),  # no counter of arithmetic
]


@pytest.mark.parametrize(("claim", "numbers", "verdict"), CASES)
def test_verdict(claim: str, numbers: dict[str, Any], verdict: str) -> None:
    decision = decide(claim, numbers)
    assert decision.verdict == verdict
    assert decision.evidence
    assert (decision.settled_by is not None) == (verdict == OPEN)  # an open claim says what would settle it


@pytest.mark.parametrize("claim", sorted(RULES))
def test_without_any_evidence_nothing_is_established(claim: str) -> None:
    for numbers in (None, {}):
        decision = decide(claim, numbers)
        assert decision.verdict == OPEN
        assert decision.settled_by


@pytest.mark.parametrize("claim", sorted(RULES))
def test_every_claim_has_a_case_for_what_it_can_say(claim: str) -> None:
    seen = {verdict for name, _, verdict in CASES if name == claim}
    assert seen == {HOLDS, FAILS, OPEN}


def test_words_of_the_limiter() -> None:
    assert decide("limiter_decode", limit("memory")).evidence.startswith("consistent with memory-bound")
    assert "the shape says memory-bound" in decide("limiter_prefill", limit("memory")).evidence
    assert "though the shape asks for memory" in decide("limiter_decode", limit("memory", 20.0, 90.0)).evidence
    assert "something else is the limit" in decide("limiter_decode", limit("memory", 20.0, 30.0)).evidence


def test_the_busier_counter_is_the_limit() -> None:
    assert by_counters(Numbers(limit(None, 70.0, 95.0))) == "compute"
    assert by_counters(Numbers(limit(None, 95.0, 70.0))) == "memory"
    assert by_counters(Numbers(limit(None, 10.0, 70.0))) == "compute"
    assert by_counters(Numbers(limit(None, 59.9, 10.0))) == "neither"
    assert by_counters(Numbers(limit(None, 59.9, None))) is None
    assert by_counters(Numbers(limit(None, 75.0, 70.0))) == "both"


def test_the_statement_is_about_this_kind_of_machine() -> None:
    assert decide("copies", signposts(50, 0, 0)).statement == "No copies between host and device (unified memory)"
    assert decide("copies", copies(32, 32)).statement is None
    assert decide("memory_ladder", ladder()).statement is None
    without = decide("memory_ladder", ladder(with_footprint=0))
    assert without.statement == "Memory is a ladder: KV cache ≤ tensors ≤ driver memory"


def test_thresholds_are_said_in_the_claims_that_they_decide() -> None:
    said = {claim.claim_id: claim.statement for claim in CLAIMS}
    for claim_id, threshold in (
        ("prefill_denser", "5 points"), ("decode_picket_fence", "5 %"), ("decode_more_cpu", "10 %"),
        ("profiler_overhead", "5 %"), ("decode_slows", "2 %"), ("driver_flat", "a tenth"), ("neural_engine", "1 mW"),
        ("allocator_keeps", "5 %"),
    ):  # fmt: skip
        assert threshold in said[claim_id]


def test_a_small_growth_of_the_cache_is_said_to_be_small() -> None:
    assert "a longer run may differ" in decide("driver_flat", driver(0, 900)).evidence
    assert "a longer run may differ" not in decide("driver_flat", driver(0, 9 << 20)).evidence
