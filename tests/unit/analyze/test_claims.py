"""Claims from rows of a store to rows of `claims`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyze import claims
from reports.queries import run as read
from tests.unit.analyze.answers import QWEN, Answers
from tests.unit.analyze.rows import RUN

H200: dict[str, Any] = {
    "device": "cuda",
    "device_name": "NVIDIA H200",
    "dtype": "float16",
    "new_tokens": 9,
    "architecture": QWEN,
}


def established(store: Answers) -> dict[str, dict[str, Any]]:
    store.derive()
    claims.establish(store.con, RUN)
    return {row["claim_id"]: row for row in store.dicts("FROM claims")}


def a_gpu_run(**run: Any) -> Answers:
    """One prefill and eight decode steps, clean (3 repeats) and profiled; device rows for half of a decode step."""
    store = Answers()
    store.run(**(H200 | run))
    for name in ("clean", "profiled"):
        store.add("passes", status="measured", **{"pass": name})
    t = 0
    for phase, step in [("prefill", 0), *(("decode", n) for n in range(1, 9))]:
        tokens, cached = (512, 512) if phase == "prefill" else (1, 512 + step)
        wall, busy = (20_000, 19_000) if phase == "prefill" else (8_000, 4_000)
        where: dict[str, Any] = {"phase": phase, "step": step, "repeat": 0}
        counts: dict[str, Any] = {"tokens": tokens, "cached_tokens": cached}
        for repeat in range(3):
            store.phase(
                phase, step, t, wall - 1500 + repeat, cpu_ns=wall // (4 if phase == "prefill" else 1), repeat=repeat,
                **{"pass": "clean", "source": "timer"}, **counts,
            )  # fmt: skip
        store.phase(phase, step, t, wall, thread_id=1, **{"pass": "profiled"}, **counts)
        launch = store.call("cudaLaunchKernel", t + 100, 50, step, role="launch", **{"pass": "profiled"}, **where)
        store.kernel(
            t + 200, busy, step, launch_op_id=launch, attributed_by="correlation", **{"pass": "profiled"}, **where
        )
        copy = store.call(
            "cudaMemcpyAsync", t + busy + 250, 10, 100 + step, role="copy", **{"pass": "profiled"}, **where
        )
        store.kernel(
            t + busy + 300, 20, 100 + step, launch_op_id=copy, attributed_by="correlation", kind="memcpy", bytes=8,
            name="Memcpy DtoH (Device -> Pageable)", **{"pass": "profiled"}, **where,
        )  # fmt: skip
        store.add(
            "samples", phase="after_prefill" if phase == "prefill" else "after_decode", step=step, t_ns=t + wall,
            kv_cache_bytes=28_672 * cached, tensor_bytes=4_000_000_000, driver_bytes=5_000_000_000,
        )  # fmt: skip
        store.add("kv_expected", cached_tokens=cached, computed_bytes=28_672 * cached, reason="made up")
        t += wall + 1_000
    return store


def test_claims_of_a_run_with_device_rows() -> None:
    rows = established(a_gpu_run())
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "prefill_denser": "holds", "decode_picket_fence": "holds", "decode_more_cpu": "holds", "calls": "holds",
        "profiler_overhead": "holds", "decode_slows": "does not hold", "steps_alike": "holds",
        "kv_equals_architecture": "holds", "kv_linear": "holds", "driver_flat": "holds", "copies": "holds",
        "neural_engine": "not established", "allocator_keeps": "holds", "memory_ladder": "holds",
        "limiter_prefill": "not established", "limiter_decode": "not established",
    }  # fmt: skip
    denser = json.loads(rows["prefill_denser"]["numbers"])
    assert denser["prefill_busy_share"] == pytest.approx(19_020 / 20_000)
    assert denser["decode_busy_share"] == pytest.approx(4_020 / 8_000)
    copied = json.loads(rows["copies"]["numbers"])
    assert (copied["prefill_copies"], copied["decode_copies"], copied["decode_copied_bytes"]) == (1, 8, 64)
    assert json.loads(rows["copies"]["provenance"])["decode_copied_bytes"] == "measured"
    fence = json.loads(rows["decode_picket_fence"]["numbers"])
    assert (fence["successions"], fence["sequential"], fence["with_gap"]) == (7, 7, 7)
    assert fence["median_gap_ns"] == 8_000 - 4_320 + 1_000 + 200
    assert rows["limiter_decode"]["evidence"] == "consistent with memory-bound by its shape; no counters"
    assert rows["limiter_prefill"]["evidence"] == "consistent with compute-bound by its shape; no counters"
    assert json.loads(rows["kv_linear"]["numbers"])["most_growth_bytes"] == 28_672


def test_numbers_have_a_provenance_and_come_from_the_sql_as_it_stands() -> None:
    store = a_gpu_run()
    for row in established(store).values():
        again = store.dicts(row["sql"])
        shown = json.loads(row["numbers"]) if row["numbers"] else {}
        assert "$run_id" not in row["sql"]
        for name, value in shown.items():
            assert value == again[0][name]
        graded = json.loads(row["provenance"]) if row["provenance"] else {}
        assert set(graded) == {name for name, value in shown.items() if not isinstance(value, str)}
        assert set(graded.values()) <= {"measured", "derived"}


def counters(store: Answers, track: str, value: float, pass_: str = "profiled") -> None:
    store.con.execute(
        "INSERT INTO counters SELECT run_id, ?, rank, ?, start_ns + dur_ns * n // 8, ?, 'percent' "
        "FROM phases, range(8) r (n) WHERE pass = 'profiled'",
        [pass_, track, value],
    )


def test_memory_bound_where_counters_and_shape_agree() -> None:
    store = a_gpu_run()
    counters(store, "GPU 0 Counters HBM BW (%)", 88.0)
    counters(store, "GPU 0 Counters SM Active (%)", 97.0)  # says nothing of arithmetic
    rows = established(store)
    assert (rows["limiter_decode"]["verdict"], rows["limiter_prefill"]["verdict"]) == ("holds", "does not hold")
    numbers = json.loads(rows["limiter_decode"]["numbers"])
    assert numbers["memory_counter_percent"] == 88
    assert numbers["counter_samples"] == 64
    assert numbers["memory_counter"] == "GPU 0 Counters HBM BW (%)"
    assert "compute_counter" not in numbers
    # 8 samples a call, of 1 prefill and 8 decode steps
    assert store.rows(
        "SELECT phase, bound, memory_counter_percent, compute_counter_percent, memory_counter, counter_samples "
        "FROM phase_limiters ORDER BY phase"
    ) == [
        ("decode", "memory", 88.0, None, "GPU 0 Counters HBM BW (%)", 64),
        ("prefill", "compute", 88.0, None, "GPU 0 Counters HBM BW (%)", 8),
    ]


def test_idle_bandwidth_contradicts_memory_bound() -> None:
    store = a_gpu_run()
    counters(store, "dram__throughput.avg.pct_of_peak_sustained_elapsed", 31.0)
    row = established(store)["limiter_decode"]
    assert row["verdict"] == "does not hold"
    assert "something else is the limit" in row["evidence"]


@pytest.mark.parametrize(
    ("track", "resource"),
    [
        ("GPU 0 Counters HBM BW (%)", "memory"),
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "memory"),
        ("Buffer Read Limiter", "memory"),
        ("GPU Last Level Cache Limiter", "memory"),
        ("ALU Limiter", "compute"),
        ("F16 Limiter", "compute"),
        ("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", "compute"),
        ("GPU 0 Counters SM Active (%)", None),
        ("GPU 0 Counters Power (W)", None),
        ("GPU 0 Counters PCIe (%)", None),
        ("GPU Read Bandwidth", None),
    ],
)
def test_what_a_counter_tells(track: str, resource: str | None) -> None:
    store = a_gpu_run()
    counters(store, track, 50.0)
    found = {row[0] for row in store.rows("SELECT DISTINCT resource FROM phase_counters")}
    assert found == ({resource} if resource else set())


def test_a_bandwidth_in_bytes_a_second_is_no_percentage() -> None:
    store = a_gpu_run()
    counters(store, "Buffer Read Limiter", 88.0)
    store.con.execute("UPDATE counters SET unit = 'GB/s'")
    assert store.rows("FROM phase_counters") == []


def test_too_few_samples_of_a_counter_are_no_evidence() -> None:
    store = a_gpu_run()
    counters(store, "HBM BW (%)", 88.0)
    store.con.execute("DELETE FROM counters WHERE t_ns > 5000")
    rows = established(store)
    assert rows["limiter_prefill"]["verdict"] == "not established"
    assert rows["limiter_decode"]["verdict"] == "not established"


def test_device_rows_that_are_not_attributed_establish_nothing() -> None:
    store = a_gpu_run()
    store.con.execute(
        "UPDATE kernels SET attributed_by = 'unattributed', phase = NULL, step = NULL, launch_op_id = NULL"
    )
    rows = established(store)
    assert (rows["prefill_denser"]["verdict"], rows["decode_picket_fence"]["verdict"]) == ("not established",) * 2


def test_encode_times_of_mps_are_no_density() -> None:
    store = a_gpu_run(device="mps", device_name="Apple M3")
    store.con.execute("DELETE FROM kernels")
    rows = established(store)
    assert (rows["prefill_denser"]["verdict"], rows["decode_picket_fence"]["verdict"]) == ("not established",) * 2
    assert (rows["copies"]["verdict"], rows["copies"]["claim"]) == (
        "not established",
        "No copies between host and device (unified memory)",
    )


def test_a_recording_that_failed_a_gate_establishes_nothing() -> None:
    store = a_gpu_run()
    counters(store, "HBM BW (%)", 88.0)
    before = established(store)
    assert [before[name]["verdict"] for name in ("prefill_denser", "decode_picket_fence", "limiter_decode")] == [
        "holds"
    ] * 3
    trust = "SELECT 'run' AS run_id, 'profiled' AS pass, 0 AS rank, 'not established' AS verdict"
    store.con.execute("DROP VIEW metal_trust")
    store.con.execute(f"CREATE VIEW metal_trust AS {trust}, 'probe dispatches' AS failed")
    after = established(store)
    for name in ("prefill_denser", "decode_picket_fence", "limiter_decode"):
        assert after[name]["verdict"] == "not established"


def test_steps_are_compared_where_operators_are_recorded_and_only_in_rows_to_trust() -> None:
    store = a_gpu_run(device="mps", device_name="Apple M3")
    for step in range(1, 9):  # GPU rows of Metal, whose labels count up and name no kernel
        store.phase("decode", step, step * 100, 90, **{"pass": "metal"}, source="timer")
        store.kernel(
            step * 100, 50, name=f"Compute Command {step}", kind="metal", attributed_by="containment",
            phase="decode", step=step, repeat=0, **{"pass": "metal"},
        )  # fmt: skip
    row = established(store)["steps_alike"]
    assert (row["verdict"], row["evidence"]) == (
        "holds",
        "operators and kernels of each step by name, pass profiled",
    )
    store.con.execute("DELETE FROM ops")
    store.con.execute("DELETE FROM kernels WHERE kind <> 'metal'")
    assert established(store)["steps_alike"]["verdict"] == "not established"


def test_signposts_of_another_process_are_not_ours() -> None:
    store = a_gpu_run(device="mps", device_name="Apple M3")
    store.add(
        "instruments_recordings", clock_method="time_info", pass_start_ns=0, target_pid=42, **{"pass": "profiled"}
    )
    for pid, name in ((42, "PyTorchOperationIntervals"), (7, "PyTorchCopyIntervals")):
        store.add(
            "signposts", source_table="os-signpost", status="event", name=name, start_ns=10, redacted=True, pid=pid,
            **{"pass": "profiled"},
        )  # fmt: skip
    assert established(store)["copies"]["verdict"] == "holds"
    store.con.execute("UPDATE signposts SET pid = 7 WHERE pid = 42")
    assert established(store)["copies"]["verdict"] == "not established"


def test_energy_of_the_neural_engine() -> None:
    store = Answers()
    store.run(device="mps")
    for work, ane in (("idle", 0), ("prefill", 0), ("generation", 1)):
        for counter, energy_mj in (("ane", ane), ("gpu", 9000)):
            store.add(
                "energy", work=work, counter=counter, runs=1, dur_ns=5_000_000_000, energy_mj=energy_mj, derived=False,
                **{"pass": "energy"},
            )  # fmt: skip
    row = established(store)["neural_engine"]
    assert row["verdict"] == "holds"
    assert json.loads(row["numbers"])["generation_ane_mw"] == pytest.approx(0.2)
    store.con.execute("UPDATE energy SET energy_mj = 500 WHERE counter = 'ane' AND work = 'generation'")
    assert established(store)["neural_engine"]["verdict"] == "does not hold"
    store.con.execute("UPDATE energy SET energy_mj = NULL WHERE counter = 'ane' AND work = 'generation'")
    assert established(store)["neural_engine"]["verdict"] == "not established"


def test_kv_bytes_that_differ() -> None:
    store = a_gpu_run()
    store.con.execute("UPDATE samples SET kv_cache_bytes = kv_cache_bytes + 1 WHERE step = 3")
    rows = established(store)
    assert (rows["kv_equals_architecture"]["verdict"], rows["kv_linear"]["verdict"]) == (
        "does not hold",
        "does not hold",
    )
    assert json.loads(rows["kv_equals_architecture"]["numbers"])["largest_difference_bytes"] == 1


def test_a_lost_call_is_seen() -> None:
    store = a_gpu_run()
    store.con.execute("DELETE FROM phases WHERE pass = 'clean' AND step = 5 AND repeat = 1")
    row = established(store)["calls"]
    assert row["verdict"] == "does not hold"
    assert json.loads(row["numbers"])["as_expected"] == 3
    store.con.execute("UPDATE passes SET status = 'failed' WHERE pass = 'clean'")  # cut off: says nothing of the engine
    assert established(store)["calls"]["verdict"] == "holds"


def test_claims_about_clean_times_are_open_where_other_work_had_the_machine() -> None:
    about_clean_times = ("decode_more_cpu", "profiler_overhead", "decode_slows")
    for device, evidence in (("cpu", "its process had only 70 % of one core"), ("mps", None)):
        store = a_gpu_run(device=device)
        store.con.execute("UPDATE phases SET cpu_ns = dur_ns * if(phase = 'decode', 0.9, 0.7) WHERE pass = 'clean'")
        rows = established(store)
        found = [rows[claim] for claim in about_clean_times]
        assert [evidence is not None and evidence in row["evidence"] for row in found] == [device == "cpu"] * 3
        assert [json.loads(row["numbers"]).get("busy_cpu_percent") for row in found] == pytest.approx(
            [70 if device == "cpu" else None] * 3, abs=0.01
        )
        assert {row["verdict"] == "not established" for row in found} == ({True} if device == "cpu" else {False})


def test_a_difference_inside_the_spread_of_the_repeats_is_not_established() -> None:
    store = a_gpu_run()
    store.con.execute("UPDATE phases SET cpu_ns = dur_ns * (0.4 + 0.1 * repeat) WHERE phase = 'decode'")
    store.con.execute("UPDATE phases SET cpu_ns = dur_ns * (0.5 - 0.1 * repeat) WHERE phase = 'prefill'")
    row = established(store)["decode_more_cpu"]
    assert row["verdict"] == "not established"
    assert json.loads(row["numbers"])["difference_percent"] == pytest.approx(10, abs=0.1)
    store.con.execute("UPDATE phases SET cpu_ns = dur_ns * if(phase = 'decode', 0.439, 0.438)")
    assert established(store)["decode_more_cpu"]["verdict"] == "does not hold"
    store.con.execute("UPDATE phases SET dur_ns = dur_ns * 9 WHERE pass = 'clean' AND repeat = 1")
    assert established(store)["profiler_overhead"]["verdict"] == "not established"


def test_the_profiler_costs_as_much_in_the_claim_as_at_a_glance() -> None:
    # steps of 100, 200, 300 clean and 110, 240, 300 profiled: the ratio of medians is 1.2, the median of ratios 1.1
    store = a_gpu_run()
    store.con.execute("DELETE FROM phases WHERE phase = 'decode' AND step > 3")
    for step, clean, profiled in ((1, 100, 110), (2, 200, 240), (3, 300, 300)):
        store.con.execute(f"UPDATE phases SET dur_ns = if(pass = 'clean', {clean}, {profiled}) WHERE step = {step}")
    numbers = json.loads(established(store)["profiler_overhead"]["numbers"])
    glance = read(store.con, "profiler_cost", run_id=RUN).rows
    assert {row["phase"]: row["ratio"] for row in glance}["decode"] == numbers["decode_ratio"] == pytest.approx(1.2)
    assert {row["phase"]: row["ratio"] for row in glance}["prefill"] == numbers["prefill_ratio"]


def test_gaps_too_small_to_matter_make_no_fence() -> None:
    store = a_gpu_run()
    store.con.execute("UPDATE kernels SET dur_ns = 8990 WHERE kind = 'kernel' AND phase = 'decode'")
    row = established(store)["decode_picket_fence"]
    assert (row["verdict"], json.loads(row["numbers"])["median_gap_ns"]) == ("does not hold", 10)


def test_one_copy_outside_every_phase_is_no_exchange() -> None:
    store = a_gpu_run()
    store.con.execute("DELETE FROM kernels WHERE kind = 'memcpy' AND step > 0")
    store.con.execute("UPDATE kernels SET phase = NULL, step = NULL, bytes = 1 WHERE kind = 'memcpy'")
    assert established(store)["copies"]["verdict"] == "does not hold"
    store.con.execute("UPDATE kernels SET phase = 'unknown'")
    row = established(store)["copies"]
    assert (row["verdict"], json.loads(row["numbers"])["copies"]) == ("not established", 1)


def test_copy_signposts_count_during_the_calls_only() -> None:
    store = a_gpu_run(device="mps", device_name="Apple M3")
    for start, name in ((10, "PyTorchOperation"), (-500, "PyTorchCopy")):
        store.add(
            "signposts", source_table="os-signpost", status="event", name=name, start_ns=start, redacted=True,
            **{"pass": "profiled"},
        )  # fmt: skip
    assert established(store)["copies"]["verdict"] == "not established"
    store.add("instruments_recordings", clock_method="signpost", pass_start_ns=0, **{"pass": "profiled"})
    assert established(store)["copies"]["verdict"] == "holds"
    store.con.execute("UPDATE signposts SET start_ns = 20 WHERE name = 'PyTorchCopy'")
    assert established(store)["copies"]["verdict"] == "does not hold"


def test_nothing_is_claimed_of_an_empty_run() -> None:
    store = Answers()
    store.run(device=None, dtype=None, batch_size=None)
    rows = established(store)
    assert {row["verdict"] for row in rows.values()} == {"not established"}
    assert {row["numbers"] for row in rows.values()} == {None}
    assert all(row["settled_by"] for row in rows.values())


def test_establishing_again_replaces_and_leaves_other_runs_alone() -> None:
    store = a_gpu_run()
    first = established(store)
    store.con.execute("INSERT INTO claims VALUES ('other', 'calls', 'x', 'holds', NULL, NULL, NULL, NULL, NULL)")
    claims.establish(store.con, RUN)
    assert store.rows("SELECT run_id, count(*) FROM claims GROUP BY run_id ORDER BY run_id") == [
        ("other", 1),
        (RUN, len(first)),
    ]


def test_a_quote_in_a_run_id() -> None:
    store = Answers()
    store.run(run_id="it's")
    claims.establish(store.con, "it's")
    assert store.rows("SELECT count(*) FROM claims WHERE run_id = 'it''s'") == [(len(claims.CLAIMS),)]


def test_two_decode_steps_have_no_trend_and_no_number_that_is_none() -> None:
    """A line through the one step after the first has no slope: NaN in SQL, absent in the claim."""
    store = Answers()
    store.run(device="cpu", new_tokens=3)
    store.add("passes", status="measured", **{"pass": "clean"})
    for phase, step, cached in [("prefill", 0, 64), ("decode", 1, 65), ("decode", 2, 66)]:
        clean: dict[str, Any] = {"pass": "clean", "source": "timer", "tokens": 1, "cached_tokens": cached}
        store.phase(phase, step, 1_000 * step, 900 + step, **clean)
    rows = established(store)
    assert rows["decode_slows"]["verdict"] == "not established"
    for row in rows.values():
        numbers = json.loads(row["numbers"] or "{}", parse_constant=lambda word: pytest.fail(f"{word} in the claims"))
        assert None not in numbers.values()
