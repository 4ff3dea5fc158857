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
        "decode_p5_share": p5, "decode_p95_share": p95,
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


def slope(verdict: str, low: float, high: float) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "change_percent": (low + high) / 2,
        "change_low_percent": low,
        "change_high_percent": high,
    }


def driver(driver_growth: int | None, kv_growth: int) -> dict[str, Any]:
    return {"samples": 8, "driver_growth_bytes": driver_growth, "kv_growth_bytes": kv_growth}


def limit(bound: str | None, memory: float | None = None, compute: float | None = None) -> dict[str, Any]:
    return {"bound": bound, "memory_counter_percent": memory, "compute_counter_percent": compute}


def ladder(**above: int) -> dict[str, Any]:
    zero = {"kv_above_tensors": 0, "tensors_above_driver": 0, "driver_above_footprint": 0}
    return {"samples": 5, "with_footprint": 5, **zero, **above}


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("prefill_denser", shares(0.9, 0.95, 0.5, 0.7), HOLDS),
    ("prefill_denser", shares(0.3, 0.4, 0.5, 0.7), FAILS),
    ("prefill_denser", shares(0.6, 0.95, 0.5, 0.7), OPEN),  # overlap
    ("prefill_denser", shares(0.7, 0.7, 0.5, 0.7), OPEN),  # equal is not denser
    ("decode_picket_fence", bursts(30, 30, 30), HOLDS),
    ("decode_picket_fence", bursts(30, 29, 29), HOLDS),
    ("decode_picket_fence", bursts(30, 20, 20), FAILS),  # steps overlap
    ("decode_picket_fence", bursts(30, 30, 10), FAILS),  # no gaps
    ("decode_picket_fence", bursts(1, 1, 1), OPEN),
    ("decode_more_cpu", {"prefill_cpu_percent": 60.0, "decode_cpu_percent": 99.0}, HOLDS),
    ("decode_more_cpu", {"prefill_cpu_percent": 99.0, "decode_cpu_percent": 60.0}, FAILS),
    ("decode_more_cpu", {"prefill_cpu_percent": 99.0, "decode_cpu_percent": None}, OPEN),
    ("calls", {"new_tokens": 4, "generations": 2, "as_expected": 2}, HOLDS),
    ("calls", {"new_tokens": 4, "generations": 2, "as_expected": 1}, FAILS),
    ("calls", {"new_tokens": None, "generations": 2, "as_expected": 0}, OPEN),
    ("calls", {"new_tokens": 4, "generations": 0, "as_expected": 0}, OPEN),
    ("profiler_overhead", {"prefill_ratio": 1.1, "decode_ratio": 1.4}, HOLDS),
    ("profiler_overhead", {"prefill_ratio": 0.98, "decode_ratio": 1.4}, FAILS),
    ("profiler_overhead", {"prefill_ratio": None, "decode_ratio": 1.4}, OPEN),
    ("decode_slows", slope("slower", 3.0, 9.0), HOLDS),
    ("decode_slows", slope("slower", 0.1, 0.9), FAILS),  # told from zero, but under what matters
    ("decode_slows", slope("faster", -9.0, -3.0), FAILS),
    ("decode_slows", slope("no trend seen", -1.0, 1.0), FAILS),
    ("decode_slows", slope("no trend seen", -5.0, 6.0), OPEN),
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
    ("copies", {"device": "cuda", "device_rows": 9, "copies": 3, "other_copies": 0}, HOLDS),
    ("copies", {"device": None, "device_rows": 9, "copies": 0, "other_copies": 0}, FAILS),
    ("copies", {"device": None, "device_rows": 9, "copies": 0, "other_copies": 2}, OPEN),
    ("copies", {"device": "cuda", "device_rows": 0, "copies": 0, "other_copies": 0}, OPEN),
    ("copies", {"device": "cpu", "device_rows": 0, "copies": 0}, OPEN),
    ("copies", {"device": "mps", "operation_signposts": 0, "copy_signposts": 0}, OPEN),
    ("copies", {"device": "mps", "operation_signposts": 50, "copy_signposts": 0}, HOLDS),
    ("copies", {"device": "mps", "operation_signposts": 50, "copy_signposts": 2}, FAILS),
    ("neural_engine", {"generation_ane_mw": 0.0, "idle_ane_mw": 0.0}, HOLDS),
    ("neural_engine", {"generation_ane_mw": 900.0, "idle_ane_mw": 0.0}, FAILS),
    ("neural_engine", {"generation_ane_mw": None, "idle_ane_mw": 0.0}, OPEN),
    ("allocator_keeps", {"kept_bytes": 10}, HOLDS),
    ("allocator_keeps", {"kept_bytes": 0}, FAILS),
    ("memory_ladder", ladder(), HOLDS),
    ("memory_ladder", ladder(tensors_above_driver=1), FAILS),
    ("memory_ladder", {"samples": 0}, OPEN),
    ("limiter_decode", limit("memory", 85.0, 20.0), HOLDS),
    ("limiter_decode", limit("memory", 85.0, None), HOLDS),
    ("limiter_decode", limit("memory"), OPEN),
    ("limiter_decode", limit("compute"), OPEN),
    ("limiter_decode", limit(None), OPEN),
    ("limiter_decode", limit(None, 85.0, 20.0), OPEN),  # counters alone
    ("limiter_decode", limit("compute", 85.0, 20.0), OPEN),  # counters and shape contradict each other
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
    assert {HOLDS, FAILS} <= seen


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


def test_the_copies_claim_is_about_this_kind_of_machine() -> None:
    mps = decide("copies", {"device": "mps", "operation_signposts": 50, "copy_signposts": 0})
    assert mps.statement == "No copies between host and device (unified memory)"
    assert decide("copies", {"device": "cuda", "device_rows": 9, "copies": 3}).statement is None
