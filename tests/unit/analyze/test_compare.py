"""Comparisons of runs made by hand: what differs, the unit of replication, verdicts and what forbids them."""

import pytest

from analyze.compare import Options, compare_sides
from analyze.compare.differences import same_workload, thermal_state
from analyze.errors import PhasescopeError
from tests.unit.analyze.comparing import MS, facts, part, side

PREFILL = [100.0, 101, 99, 100.5, 100.2, 99.8]
DECODE = [[10.0, 10.2, 10.1], [10.1, 10.0, 10.3], [10.0, 10.1, 10.1], [10.2, 10.1, 10.0], [10.1, 10.2, 10.2]]


def clean(run_id="run", factor=1.0, **more):
    return facts(
        run_id,
        prefill_ms=[ms * factor for ms in PREFILL],
        decode_ms=[[ms * factor for ms in steps] for steps in DECODE],
        **more,
    )


def verdicts(comparison):
    return {change.metric.name: change.judgement.verdict for change in comparison.latencies}


def test_a_slower_run_is_slower_in_every_time():
    found = compare_sides(side(clean("a", attention="sdpa")), side(clean("b", 1.2, attention="eager")))
    assert verdicts(found) == {
        "prefill_p50": "slower", "decode_p50": "slower", "decode_p95": "slower", "total": "slower",
        "tokens_per_second": "slower", "prefill_cpu": "same", "decode_cpu": "same",
    }  # fmt: skip
    decode = next(c for c in found.latencies if c.metric.name == "decode_p50")
    assert decode.ratio == pytest.approx(1.2)
    assert decode.judgement.beyond is True
    assert found.comparability.level == "high"
    assert [d.what for d in found.differences] == ["attention"]


def test_a_repeat_is_one_measurement_however_many_steps_it_has():
    """One slow repeat of five: over its 100 steps as independent values B would look established slower."""
    steps = 100
    a = facts("a", prefill_ms=PREFILL[:5], decode_ms=[[10.0] * steps for _ in range(5)])
    b = facts("b", prefill_ms=PREFILL[:5], decode_ms=[[10.0] * steps] * 3 + [[13.0] * steps] * 2)
    found = compare_sides(side(a), side(b))
    assert (found.unit.name, found.unit.a, found.unit.b) == ("repeat", 5, 5)
    assert verdicts(found)["decode_p50"] != "slower"
    decode = next(c for c in found.latencies if c.metric.name == "decode_p50")
    assert (decode.interval.units_a, decode.interval.units_b) == (5, 5)


def test_too_few_repeats_refuse_a_verdict():
    a = facts("a", prefill_ms=[100, 101, 102], decode_ms=[[10.0]] * 3)
    b = facts("b", prefill_ms=[10, 11, 12], decode_ms=[[1.0]] * 3)
    found = compare_sides(side(a), side(b))
    assert set(verdicts(found).values()) == {"not established"}
    assert "3 against 3 independent measurements" in found.latencies[0].judgement.reason
    assert found.latencies[0].ratio == pytest.approx(11 / 101)


def test_whole_runs_are_the_measurements_where_a_side_has_several():
    a = side(*(clean(f"a{i}", 1 + i / 100) for i in range(5)))
    b = side(*(clean(f"b{i}", 1.2 + i / 100) for i in range(5)))
    found = compare_sides(a, b)
    assert (found.unit.name, found.unit.a, found.unit.b) == ("run", 5, 5)
    decode = next(c for c in found.latencies if c.metric.name == "decode_p50")
    assert decode.ratio == pytest.approx(1.22 / 1.02)
    assert decode.judgement.verdict == "slower"
    assert all(step.interval.units_a == 5 for step in found.steps)


def test_two_runs_against_one_are_too_few_though_they_hold_many_repeats():
    found = compare_sides(side(clean("a1"), clean("a2")), side(clean("b", 1.5)))
    assert found.unit.name == "run"
    assert set(verdicts(found).values()) == {"not established"}


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [("other", "not the same tokens"), (None, "the generated tokens were not recorded")],
)
def test_other_or_unknown_tokens_forbid_to_call_a_side_faster(tokens, reason):
    found = compare_sides(side(clean("a")), side(clean("b", 0.5, tokens=tokens)))
    decode = next(c for c in found.latencies if c.metric.name == "decode_p50")
    assert decode.judgement.verdict == "not established"
    assert decode.judgement.reason == reason
    assert decode.ratio == pytest.approx(0.5)
    assert found.comparability.level == "medium"
    allowed = compare_sides(
        side(clean("a")), side(clean("b", 0.5, tokens=tokens)), Options(need_same_tokens=False)
    )  # fmt: skip
    assert verdicts(allowed)["decode_p50"] == "faster"


def test_another_workload_is_said_first_and_forbids_a_verdict():
    found = compare_sides(side(clean("a")), side(clean("b", 0.5, prompt_tokens=4, os="Linux")))
    assert found.workload.verdict == "different"
    assert [d.what for d in found.differences] == ["prompt tokens", "system"]
    assert found.comparability.level == "low"
    assert verdicts(found)["prefill_p50"] == "not established"


def test_a_busy_machine_forbids_a_verdict_on_cpu_and_says_nothing_on_a_device():
    cpu = compare_sides(
        side(clean("a", device="cpu", cpu_percent=40)), side(clean("b", 0.5, device="cpu", cpu_percent=100))
    )
    assert verdicts(cpu)["decode_p50"] == "not established"
    assert cpu.barrier == "the machine was busy with other work during A"
    assert "in prefill its process had only 40 % of one core" in cpu.comparability.reasons[0]
    device = compare_sides(side(clean("a", cpu_percent=40)), side(clean("b", 0.5, cpu_percent=40)))
    assert verdicts(device)["decode_p50"] == "faster"


def test_machine_and_software_lower_the_comparability():
    found = compare_sides(
        side(clean("a", software='{"torch": "2.13"}', cores=8)), side(clean("b", software='{"torch": "2.14"}', cores=4))
    )
    assert [(d.kind, d.what, d.a, d.b) for d in found.differences] == [
        ("machine", "CPU cores", 8, 4),
        ("software", "torch", "2.13", "2.14"),
    ]
    assert found.comparability.level == "medium"
    assert found.comparability.reasons == ("other machine: CPU cores", "other software: torch")


def test_two_things_changed_at_once_are_said_so():
    found = compare_sides(side(clean("a")), side(clean("b", attention="eager", dtype="float32")))
    assert found.comparability.level == "medium"
    assert "element type and attention" in found.comparability.reasons[0]


def test_thermal_states_are_compared():
    hot = clean("b", rows={"thermal": [{"pass": "metal", "state": "Serious", "dur_ns": 9}]})
    cool = clean("a", rows={"thermal": [{"pass": "metal", "state": "Nominal", "dur_ns": 9}]})
    found = compare_sides(side(cool), side(hot))
    assert [(d.kind, d.a, d.b) for d in found.differences] == [("conditions", "Nominal", "Serious")]
    assert found.comparability.level == "medium"
    assert thermal_state(side(hot, cool)) == "Serious, Nominal"
    both = compare_sides(side(hot), side(hot))
    assert "not at its nominal thermal state" in both.comparability.reasons[0]


def test_conditions_that_the_clean_passes_wrote_down_are_compared():
    a, b = clean("a"), clean("b")
    a.rows["passes"][0]["conditions"] = '{"power_source": "mains", "low_power_mode": "off"}'
    b.rows["passes"][0]["conditions"] = '{"power_source": "battery", "low_power_mode": "off"}'
    found = compare_sides(side(a), side(b))
    assert [(d.kind, d.what, d.a, d.b) for d in found.differences] == [
        ("conditions", "power source", "mains", "battery")
    ]
    assert found.comparability.reasons == ("other conditions: power source",)


def test_counts_are_exact_and_readings_of_the_process_are_not():
    def run(name, kernels, resident, peak=None):
        memory = [{"counter": "resident", "bytes": resident, "generations": 1}]
        if peak:
            memory.append({"counter": "peak", "bytes": peak, "generations": 1})
        kv = [
            {"cached_tokens": n, "measured_bytes": 64 * n, "computed_bytes": 64 * n, "verdict": "equal"} for n in (8, 9)
        ]
        parts = [part("decode", 3, tokens=3, kernels_sum=kernels, operators_sum=9, launches_sum=0)]
        return clean(name, rows={"memory": memory, "kv": kv, "parts": parts})

    counts = {c.metric.name: c for c in compare_sides(side(run("a", 30, 100)), side(run("b", 33, 200))).counts}
    assert counts["kernels_per_token"].judgement.verdict == "higher"
    assert counts["kernels_per_token"].b == 11
    assert counts["kv_bytes_per_token"].judgement.verdict == "same"
    assert counts["peak_memory"].judgement.verdict == "not established"
    assert "launches_per_token" not in counts  # the trace shows no launch at all: not the same as none
    exact = {c.metric.name: c for c in compare_sides(side(run("a", 1, 1, 100)), side(run("b", 1, 1, 120))).counts}
    assert exact["peak_memory"].judgement.verdict == "higher"
    assert exact["peak_memory"].metric.meaning == "highest reading of counter peak"


def test_names_that_appeared_vanished_and_grew_for_each_call_of_the_phase():
    def run(name, calls, rows):
        operators = [{"phase": "decode", "name": n, "calls": c, "ns": ns} for n, c, ns in rows]
        return clean(name, rows={"operators": operators, "parts": [part("decode", calls, wall_ns=1)]})

    found = compare_sides(
        side(run("a", 2, [("mm", 4, 40), ("bmm", 2, 30)])), side(run("b", 4, [("mm", 8, 120), ("sdpa", 4, 8)]))
    ).operators
    assert [(c.name, c.state, c.calls_a, c.calls_b, c.delta_ns) for c in found] == [
        ("bmm", "vanished", 1, 0, -15),
        ("mm", "both", 2, 2, 10),
        ("sdpa", "appeared", 0, 1, 2),
    ]
    assert found[1].ratio == 1.5


def test_between_cuda_and_hip_runtime_calls_go_by_their_common_name():
    def run(name, prefix):
        return clean(
            name, rows={"operators": [{"phase": "decode", "name": f"{prefix}LaunchKernel", "calls": 1, "ns": 5}]}
        )

    across = compare_sides(side(run("a", "cuda")), side(run("b", "hip"))).operators
    assert [(c.name, c.state) for c in across] == [("LaunchKernel", "both")]
    alike = compare_sides(side(run("a", "cuda")), side(run("b", "cuda"))).operators
    assert alike[0].name == "cudaLaunchKernel"


def test_foreign_traces_are_the_same_workload_by_the_shapes_of_their_products():
    trace = {"model": None, "prompt_tokens": None, "new_tokens": None, "tokens": None}
    same = [{"name": "aten::mm", "shapes": "[[8,4],[4,4]]", "calls": 24}]
    other = [{"name": "aten::mm", "shapes": "[[9,4],[4,4]]", "calls": 24}]
    a, b, c, d = (side(facts(rows={"products": rows}, **trace)) for rows in (same, same, other, []))
    assert same_workload(a, b, ()).verdict == "same"
    assert same_workload(a, c, ()).verdict == "different"
    assert "24 calls against 0" in same_workload(a, c, ()).reason
    assert same_workload(a, d, ()).verdict == "not known"
    found = compare_sides(a, b)
    assert found.latencies == ()
    assert found.comparability.level == "low"


def test_claims_whose_verdict_changed():
    def run(name, *claims):
        return clean(name, rows={"claims": [{"claim": c, "verdict": v, "numbers": None} for c, v in claims]})

    found = compare_sides(
        side(run("a", ("x", "holds"), ("y", "holds"))),
        side(run("b", ("x", "holds"), ("y", "does not hold"), ("z", "holds"))),
    )
    assert [(c.claim, c.a, c.b) for c in found.claims] == [("y", "holds", "does not hold"), ("z", None, "holds")]
    assert found.claims_known
    assert not compare_sides(side(run("a")), side(run("b", ("x", "holds")))).claims_known


def test_parts_of_phases_that_both_traces_have():
    rows = {"parts": [part("decode", 2, wall_ns=5 * MS, operators_ns=3 * MS), part("mixed", 1, wall_ns=1)]}
    found = compare_sides(
        side(clean("a", rows=rows)), side(clean("b", rows={"parts": [part("decode", 4, wall_ns=MS)]}))
    )
    assert [(p.phase, p.part, p.calls_a, p.calls_b, p.a_ns, p.b_ns) for p in found.parts] == [
        ("decode", "whole call", 2, 4, 5 * MS, MS),
        ("decode", "operators", 2, 4, 3 * MS, None),
    ]


def test_runs_of_one_side_must_be_of_one_kind():
    from analyze.compare.sides import _side

    with pytest.raises(PhasescopeError, match=r"label: its 2 runs are not of one kind \(dtype: bfloat16 and float16\)"):
        _side("label", [clean("a"), clean("b", dtype="bfloat16")])
